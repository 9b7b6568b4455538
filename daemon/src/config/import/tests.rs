use std::fs;
use std::path::PathBuf;

use super::*;

mod clients;
mod places;

/// A home directory with a project in it.
struct Machine {
    _directory: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
    environment: Environment,
}

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap().join("home");
        let project = home.join("src/project");
        fs::create_dir_all(project.join(".git")).unwrap();
        let environment = [("HOME".into(), home.clone().into())].into();
        Self {
            _directory: directory,
            home,
            project,
            environment,
        }
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn look(&self, clients: &[Client]) -> Import {
        look(clients, &self.environment, &self.project)
    }

    /// What was found, as it would be written, or `! why not`; then the notes. Paths begin at the home directory.
    fn found(&self, clients: &[Client]) -> Vec<String> {
        let import = self.look(clients);
        assert_eq!(import.problems, []);
        let home = self.home.to_str().unwrap();
        let text = |found: &Found| text(found).replace(home, "HOME");
        import.found.iter().map(text).collect()
    }
}

fn text(found: &Found) -> String {
    let mut text = match &found.outcome {
        Ok(definition) => {
            let servers = [(found.name.clone(), definition.clone())];
            edit::add(Path::new("shelf.toml"), "", &servers).unwrap()
        }
        Err(reason) => format!("! {}: {reason}\n", found.name),
    };
    for note in &found.notes {
        text.push_str(&format!("# {note}\n"));
    }
    text
}

fn origins(found: &Found) -> Vec<(Client, u32)> {
    let origins = found.origins.iter();
    origins.map(|origin| (origin.client, origin.line)).collect()
}

#[test]
fn the_same_server_of_several_clients_is_one() {
    let machine = Machine::new();
    let server =
        "{\n\"mcpServers\": {\n  \"a\": { \"command\": \"npx\", \"args\": [\"-y\", \"a\"] } } }";
    machine
        .write(".cursor/mcp.json", server)
        .write(".codeium/windsurf/mcp_config.json", server)
        .write(
            ".config/zed/settings.json",
            r#"{"context_servers": {"a": {"command": "npx", "args": ["-y", "b"]}}}"#,
        )
        // That it is started in the project makes it no other.
        .write("src/project/.gemini/settings.json", server);
    let import = machine.look(&Client::ALL);
    let [same, other] = &import.found[..] else {
        panic!("{:?}", import.found);
    };
    let expected = [
        (Client::Gemini, 3),
        (Client::Cursor, 3),
        (Client::Windsurf, 3),
    ];
    assert_eq!(origins(same), expected);
    assert!(text(same).contains("cwd = "), "the nearest is taken");
    assert_eq!(origins(other), [(Client::Zed, 1)]);
    let reason = other.outcome.as_ref().unwrap_err();
    assert!(
        reason.starts_with("another server of this name"),
        "{reason}"
    );
    assert!(
        reason.ends_with("src/project/.gemini/settings.json:3"),
        "{reason}"
    );
    assert_eq!(import.files.len(), 4);
}

#[test]
fn what_can_not_be_taken_over_gives_way_to_what_can() {
    let machine = Machine::new();
    machine
        .write(
            ".cursor/mcp.json",
            r#"{"mcpServers": {"a": {"command": "${workspaceFolder}/a"}}}"#,
        )
        .write(".codex/config.toml", "[mcp_servers.a]\ncommand = \"a\"\n");
    let found = machine.found(&Client::ALL);
    assert!(
        found[0].starts_with("! a: `command`: `${workspaceFolder}`"),
        "{found:?}"
    );
    assert_eq!(found[1], "[servers.a]\ncommand = \"a\"\n");
}

#[test]
fn a_file_that_can_not_be_read_hides_no_other() {
    let machine = Machine::new();
    machine
        .write(".cursor/mcp.json", "{\n \"mcpServers\": {\n")
        .write(".gemini/settings.json", r#"{"mcpServers": []}"#)
        .write(".config/zed/settings.json", "")
        .write(
            ".codeium/mcp_config.json",
            r#"{"mcpServers": {"a": {"command": "a"}}}"#,
        );
    let import = machine.look(&Client::ALL);
    assert_eq!(import.found.len(), 1);
    let problems: Vec<_> = import.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains(".cursor/mcp.json:3: "), "{problems:?}");
    assert!(
        problems[1].contains("`mcpServers` must be a table"),
        "{problems:?}"
    );
}

#[test]
fn what_our_own_reader_would_refuse_is_refused() {
    let machine = Machine::new();
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "empty": {"command": ""},
            "line": {"command": "npx -y s3cret"},
            "variable": {"command": "a", "env": {"A=B": "s3cret"}},
            "number": {"command": 1.5, "args": {}},
            "nothing": {},
            "text": "s3cret"
        }}"#,
    );
    let found = machine.found(&[Client::Cursor]);
    assert_eq!(found.len(), 6);
    for text in found {
        assert!(text.starts_with("! "), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn what_is_found_shows_no_values() {
    let machine = Machine::new();
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a", "env": {"A": "s3cret"}},
            "b": {"url": "https://b.example/?key=s3cret", "headers": {"A": "s3cret"}}}}"#,
    );
    let import = machine.look(&[Client::Cursor]);
    assert_eq!(import.found.len(), 2);
    let shown = format!("{import:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}
