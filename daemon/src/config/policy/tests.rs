use std::path::Path;

use skills::entry_id::ServerName;

use crate::config::Config;
use crate::config::reader;

fn read(name: &str, source: &str) -> Config {
    reader::read(&Path::new("/c").join(name), source).unwrap()
}

fn faults(config: &Config) -> Vec<String> {
    config.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn both_sections_are_read_with_their_places() {
    let toml = "[policy]\ndeny = [\n  'github/delete_*',\n  'destructive',\n]\nask = ['open-world']\nhide = ['skills/draft-*']\n\
                approvers = [0, 1000]\n[servers.github]\ncommand = 'x'\n[servers.github.policy]\nallow = ['get_*']\n";
    let json = r#"{"mcpServers": {"github": {"command": "x", "policy": {"allow": ["get_*"]}}},
        "policy": {"deny": ["github/delete_*", "destructive"], "ask": ["open-world"], "hide": ["skills/draft-*"], "approvers": [0, 1000]}}"#;
    for (name, source, second) in [("shelf.toml", toml, 4), ("mcp.json", json, 2)] {
        let config = read(name, source);
        assert_eq!(faults(&config), [""; 0]);
        let policy = &config.policy;
        let written = policy.general.deny[1].to_string();
        assert_eq!(
            written,
            format!("deny \"destructive\" (/c/{name}:{second})")
        );
        assert_eq!(
            (policy.general.ask.len(), policy.general.hide.len()),
            (1, 1)
        );
        assert!(policy.general.allow.is_none() && policy.general.fault.is_none());
        assert_eq!(policy.approvers.as_deref(), Some(&[0, 1000][..]));
        let own = &policy.servers[&ServerName::new("github")];
        assert_eq!(own.allow.as_ref().unwrap().len(), 1);
        assert!(own.allow_written.is_some() && own.fault.is_none());
    }
}

#[test]
fn without_a_section_there_is_no_policy() {
    let config = read(
        "mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "policy": null}}, "policy": null}"#,
    );
    assert!(config.policy.is_empty());
    assert_eq!(faults(&config), [""; 0]);
}

#[test]
fn a_fault_is_said_with_its_place_and_closes_its_section() {
    let cases = [
        (
            "deny = ['destuctive']",
            "2: `destuctive` in `deny` of `policy` is neither a hint nor a glob over ids, which are SERVER/TOOL",
        ),
        (
            "deny = ['a/[']",
            "2: `a/[` in `deny` of `policy` is no glob: unclosed character class; missing ']'",
        ),
        (
            "deny = 'a/*'",
            "2: `deny` of `policy` must be a list, and is text",
        ),
        (
            "ask = [3]",
            "2: a rule in `ask` of `policy` must be text, and is a number",
        ),
        ("denied = []", "2: `policy` has the unknown key `denied`"),
        (
            "approvers = ['me']",
            "2: an element of `approvers` of `policy` must be the number of a user",
        ),
        (
            "approvers = [-1]",
            "2: an element of `approvers` of `policy` must be the number of a user",
        ),
    ];
    for (line, fault) in cases {
        let config = read("shelf.toml", &format!("[policy]\n{line}\n"));
        let expected = format!("/c/shelf.toml:{fault}");
        assert_eq!(faults(&config), [expected.as_str()]);
        let said = config.policy.general.fault.as_ref().unwrap();
        assert_eq!(said.to_string(), expected);
        assert!(!config.policy.is_empty());
    }
    let nobody = read("shelf.toml", "[policy]\napprovers = ['me']\n");
    assert_eq!(nobody.policy.approvers, Some(Vec::new()));
}

#[test]
fn what_is_no_section_closes_it_too() {
    for source in [
        r#"{"policy": "deny all"}"#,
        r#"{"policy": {"deny": ["a/*"]}, "policy": {}}"#,
        r#"{"policy": {"deny": ["a/*"], "deny": []}}"#,
    ] {
        let config = read("mcp.json", source);
        assert_eq!(config.problems.len(), 1, "{source}");
        assert!(config.policy.general.fault.is_some(), "{source}");
    }
}

#[test]
fn a_fault_in_the_section_of_a_server_closes_that_alone_and_leaves_its_entry() {
    let config = read(
        "shelf.toml",
        "[servers.a]\ncommand = 'x'\npolicy = { approvers = [1], deny = ['b'] }\n[servers.b]\ncommand = 'x'\n",
    );
    assert_eq!(
        faults(&config),
        ["/c/shelf.toml:3: `policy` of server `a` has the unknown key `approvers`"]
    );
    assert!(config.policy.general.fault.is_none());
    assert!(config.policy.servers[&ServerName::new("a")].fault.is_some());
    assert!(!config.policy.servers.contains_key(&ServerName::new("b")));
    let entry = &config.servers[&ServerName::new("a")];
    assert!(!matches!(
        entry.transport,
        crate::config::Transport::Invalid(_)
    ));
}
