use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::thread;

use skills::problem::ProblemKind;

use super::*;
use crate::config::definition::Way;
use crate::config::{StdioConfig, Transport};

const PATH: &str = "shelf.toml";

fn server(name: &str, command: &str) -> (ServerName, Definition) {
    let stdio = StdioConfig {
        command: command.to_owned(),
        ..StdioConfig::default()
    };
    (ServerName::new(name), Definition::new(Way::Process(stdio)))
}

fn added(source: &str) -> Result<String, Problem> {
    add(Path::new(PATH), source, &[server("new", "x")])
}

fn removed(source: &str, name: &str) -> Result<String, Problem> {
    remove(Path::new(PATH), source, &ServerName::new(name))
}

#[test]
fn a_server_is_added_behind_what_is_there() {
    let new = "[servers.new]\ncommand = \"x\"\n";
    assert_eq!(added("").unwrap(), new);
    for source in [
        "# Mine.\nskills = [ \"a\" ] # these\n\n# one\n[servers.one]\ncommand='y'   # so\n# end\n",
        "[servers]\n[index]\nmax_tokens = 1\n",
        "servers.a.command = \"x\"\n",
        "[mcpServers.a]\ncommand = \"x\"\n",
        "# nothing\n",
        crate::config::DEFAULT,
    ] {
        assert_eq!(added(source).unwrap(), format!("{source}\n{new}"));
    }
    assert_eq!(added("[servers]").unwrap(), format!("[servers]\n\n{new}"));
    let windows = added("[servers]\r\n").unwrap();
    assert_eq!(
        windows,
        "[servers]\r\n\r\n[servers.new]\r\ncommand = \"x\"\r\n"
    );
    let inline = added("# Mine.\nservers = { a = { command = \"y\" } } # these\n").unwrap();
    assert_eq!(
        inline,
        "# Mine.\nservers = { a = { command = \"y\" }, new = { command = \"x\" } } # these\n"
    );
}

#[test]
fn names_and_values_are_quoted_as_they_need() {
    let stdio = StdioConfig {
        command: "x".to_owned(),
        args: vec!["a\"b\\\n\u{1b}".to_owned(), String::new()],
        ..StdioConfig::default()
    };
    let definition = Definition::new(Way::Process(stdio.clone()));
    let name = ServerName::new("a b.\"c\"/ü");
    let text = add(Path::new(PATH), "", &[(name.clone(), definition)]).unwrap();
    let config = read(Path::new(PATH), &text).unwrap();
    let transport = &config.servers[&name].transport;
    assert_eq!(transport, &Transport::Stdio(stdio));
    let text = removed(&text, name.as_str()).unwrap();
    assert_eq!(text, "[servers]\n");
}

#[test]
fn what_is_there_already_or_can_not_be_used_is_refused() {
    let problem = added("\n[servers.new]\ncommand = \"y\"\n").unwrap_err();
    assert_eq!(
        problem.to_string(),
        "shelf.toml:2: there is a server `new` already"
    );
    let problem = added("mcpServers = { new = {} }\n").unwrap_err();
    assert!(problem.to_string().contains("already"), "{problem}");
    let empty = add(Path::new(PATH), "", &[server("new", " ")]).unwrap_err();
    assert_eq!(
        empty.to_string(),
        "shelf.toml: server `new` has an empty `command`"
    );
    let twice = add(Path::new(PATH), "", &[server("a", "x"), server("a", "y")]).unwrap_err();
    assert_eq!(twice.kind, ProblemKind::Configuration);
    let problem = added("[servers\n").unwrap_err();
    assert!(
        problem.to_string().starts_with("shelf.toml:1: "),
        "{problem}"
    );
    // What was wrong before hinders nobody.
    assert!(added("[servers.old]\ncommand = \"\"\n").is_ok());
}

#[test]
fn what_would_be_added_without_being_a_server_is_refused() {
    let problem = added("[[servers]]\ncommand = \"y\"\n").unwrap_err();
    assert_eq!(
        problem.to_string(),
        "shelf.toml: a server `new` that is added here would not be read"
    );
    for url in [
        "ftp://x",
        "http://u:p@h/",
        "nonsense",
        "http://h:99999/",
        "https://h/${X",
    ] {
        let way = Way::Http {
            url: url.to_owned(),
            headers: BTreeMap::new(),
        };
        let servers = [(ServerName::new("new"), Definition::new(way))];
        let problem = add(Path::new(PATH), "", &servers).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Configuration, "{url}");
    }
}

#[test]
fn a_server_is_removed_with_what_is_about_it() {
    let source = "# All of it.\n\n# About a.\n[servers.a]\ncommand = \"x\" # so\n\n[servers.a.env]\nK = \"v\"\n\n# About b.\n\
                  [servers.b]\ncommand = \"y\"\n\n[index] # budget\nmax_tokens = 9\n# end\n";
    assert_eq!(
        removed(source, "a").unwrap(),
        "# All of it.\n\n# About b.\n[servers.b]\ncommand = \"y\"\n\n[index] # budget\nmax_tokens = 9\n# end\n"
    );
    assert_eq!(
        removed(source, "b").unwrap(),
        "# All of it.\n\n# About a.\n[servers.a]\ncommand = \"x\" # so\n\n[servers.a.env]\nK = \"v\"\n\n[index] # budget\nmax_tokens = 9\n# end\n"
    );
    let source = "# Head.\n\n[servers.a]\ncommand = \"x\"\n\n# end\n";
    assert_eq!(
        removed(source, "a").unwrap(),
        "# Head.\n\n[servers]\n\n# end\n"
    );
    for (source, left) in [
        ("servers = { a = { command = \"x\" } }\n", "servers = {}\n"),
        (
            "mcpServers.a.command = \"x\" # y\n[log]\n",
            "[mcpServers]\n[log]\n",
        ),
        (
            "[servers.a]\ncommand = \"x\"\n[mcpServers.a]\ncommand = \"x\"\n",
            "[servers]\n\n[mcpServers]\n",
        ),
    ] {
        assert_eq!(removed(source, "a").unwrap(), left, "{source}");
    }
}

#[test]
fn what_is_added_to_the_default_can_be_removed_again() {
    let source = crate::config::DEFAULT;
    let text = added(source).unwrap();
    assert_eq!(removed(&text, "new").unwrap().trim_end(), source.trim_end());
}

#[test]
fn a_server_that_is_not_there_is_said_with_those_that_are() {
    let problem = removed(
        "[servers.b]\ncommand = \"x\"\n[servers.a]\ncommand = \"x\"\n",
        "c",
    )
    .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
    assert_eq!(problem.hint.as_deref(), Some("it has: a, b"));
}

#[test]
fn a_new_file_is_readable_for_its_owner_alone_and_an_old_one_keeps_its_mode() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("new/directory/shelf.toml");
    let written = edit(&path, added).unwrap();
    assert_eq!((written.created, written.readable_by_others), (true, false));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = place.path().join("link.toml");
    symlink("new/directory/shelf.toml", &link).unwrap();
    let written = edit(&link, |source| removed(source, "new")).unwrap();
    assert_eq!((written.created, written.readable_by_others), (false, true));
    assert_eq!(mode(&path), 0o640);
    assert_eq!(fs::read_to_string(&path).unwrap(), "[servers]\n");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing is left beside it");
}

#[test]
fn what_is_refused_leaves_the_file_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("shelf.toml");
    fs::write(&path, "[servers\n").unwrap();
    edit(&path, added).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "[servers\n");
    let json = place.path().join("mcp.json");
    let problem = edit(&json, added).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Usage);
    assert!(!json.exists());
    let directory = place.path().join("directory.toml");
    fs::create_dir(&directory).unwrap();
    let problem = edit(&directory, added).unwrap_err();
    assert!(problem.message.contains("no regular file"), "{problem}");
}

#[test]
fn no_change_is_lost_when_several_are_made_at_once() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("shelf.toml");
    thread::scope(|scope| {
        for number in 0..16 {
            let path = &path;
            scope.spawn(move || {
                let servers = [server(&format!("s{number}"), "x")];
                edit(path, |source| add(path, source, &servers)).unwrap();
            });
        }
    });
    let config = Config::load(&path).unwrap();
    assert_eq!(config.servers.len(), 16);
}
