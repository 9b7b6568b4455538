//! Roots: where they are written, and what they are once they are expanded.

use std::path::{Path, PathBuf};

use skills::entry_id::ServerName;

use super::{json, problems, server, toml};
use crate::config::{Config, Transport};
use crate::surroundings::Environment;

const FILE: &str = "/etc/shelf/shelf.toml";

fn roots(config: &Config, name: &str) -> Result<Vec<PathBuf>, String> {
    let environment: Environment = [("HOME", "/home/me"), ("DATA", "/data")]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    let roots = server(config, name).roots(&ServerName::new(name), Path::new(FILE), &environment);
    roots.map_err(|problem| problem.to_string())
}

#[test]
fn a_server_has_its_own_or_those_of_the_file() {
    let config = toml(
        "[servers.own]\ncommand = \"x\"\nroots = [\"~/src\", \"${DATA}/a\", \".\", \"../b/./c\"]\n\
         [servers.none]\ncommand = \"x\"\nroots = []\n[servers.all]\nurl = \"http://x\"\n",
    );
    let own = ["/home/me/src", "/data/a", "/etc/shelf", "/etc/b/c"].map(PathBuf::from);
    assert_eq!(roots(&config, "own").unwrap(), own);
    assert!(roots(&config, "all").unwrap().is_empty());
    // Wherever they stand.
    let config = json(
        r#"{"mcpServers": {"none": {"command": "x", "roots": []}, "all": {"command": "x"}}, "roots": ["/srv"]}"#,
    );
    assert!(roots(&config, "none").unwrap().is_empty());
    assert_eq!(roots(&config, "all").unwrap(), [PathBuf::from("/srv")]);
}

#[test]
fn what_can_not_be_resolved_is_said_with_its_line() {
    let config = toml("[servers.a]\ncommand = \"x\"\nroots = [\"${NOWHERE}/x\"]\n");
    let problem = roots(&config, "a").unwrap_err();
    assert!(
        problem.starts_with("/etc/shelf/shelf.toml:1: server `a`: variable `NOWHERE` in `roots`"),
        "{problem}"
    );
    assert_eq!(config.warnings(&Environment::new()).len(), 1);
}

#[test]
fn what_is_no_list_of_directories_is_a_fault() {
    let config = toml("roots = \"/srv\"\n[servers.a]\ncommand = \"x\"\nroots = [7]\n");
    let expected = [
        "1: `roots` must be a list, and is text",
        "4: `roots` of server `a` must be text, and is a number",
    ];
    assert_eq!(problems(&config), expected);
    assert!(matches!(
        server(&config, "a").transport,
        Transport::Invalid(_)
    ));
    // Another client may mean something else by it.
    let config = json(r#"{"roots": 7, "mcpServers": {"a": {"command": "x", "roots": {}}}}"#);
    assert!(matches!(
        server(&config, "a").transport,
        Transport::Stdio(_)
    ));
    assert_eq!(config.problems.len(), 1);
}

#[test]
fn a_root_that_is_not_there_is_told_and_said() {
    let config = toml(
        "roots = [\"/no/such/place\"]\n[servers.a]\ncommand = \"x\"\n[servers.b]\ncommand = \"x\"\ndisabled = true\n",
    );
    let absent = config.absent_roots(&Environment::new());
    assert_eq!(absent.len(), 1);
    assert!(
        absent[0].message.contains("/no/such/place"),
        "{}",
        absent[0]
    );
    assert_eq!(
        roots(&config, "a").unwrap(),
        [PathBuf::from("/no/such/place")]
    );
}
