//! Reads `pin`, of the whole file and of a server. A value that can't be read is a fault, and counts as strict: nobody writes `pin` to
//! be shown what changed. It has nothing to do with the `pin` of `[entries]`, which is about the index.

use skills::entry_id::ServerName;

use super::node::{Fault, Node};
use crate::pins::Pinning;

/// Reads the `pin` of the file.
pub(super) fn general(node: Node<'_>, pinning: &mut Pinning) -> Result<(), Fault> {
    let (strict, fault) = strict(node, "`pin`");
    // Standing twice (in JSON), the stricter one counts.
    pinning.strict |= strict;
    fault.map_or(Ok(()), Err)
}

/// Reads the `pin` of a server, if it has one.
pub(super) fn of_server(
    server: &ServerName,
    node: Node<'_>,
    pinning: &mut Pinning,
    faults: &mut Vec<Fault>,
) {
    // An entry that is no table can't be used, and says so itself.
    let entries = node.entries("a server").unwrap_or_default();
    for (_, value) in entries.into_iter().filter(|(key, _)| key == "pin") {
        if value.is_null() {
            continue;
        }
        let (strict, fault) = strict(value, &format!("`pin` of server `{server}`"));
        faults.extend(fault);
        *pinning.servers.entry(server.clone()).or_default() |= strict;
    }
}

fn strict(node: Node<'_>, what: &str) -> (bool, Option<Fault>) {
    let fault = match node.text(what).as_deref() {
        Ok("strict") => return (true, None),
        Ok("off") => return (false, None),
        Ok(other) => Fault::new(
            node.line(),
            format!("{what} can't be {other:?}, and counts as \"strict\""),
        ),
        Err(_) => Fault::new(
            node.line(),
            format!("{what} is no text, and counts as \"strict\""),
        ),
    };
    (true, Some(fault.hint("write \"strict\" or \"off\"")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use skills::entry_id::ServerName;

    use crate::config::{Config, reader};

    fn read(name: &str, source: &str) -> Config {
        reader::read(Path::new(name), source).unwrap()
    }

    #[test]
    fn a_server_has_its_own_word_and_the_file_the_first() {
        let config = read(
            "/etc/shelf.toml",
            "pin = \"strict\"\n[servers.a]\ncommand = \"x\"\n[servers.b]\ncommand = \"x\"\npin = \"off\"\n",
        );
        assert_eq!(config.problems, []);
        let pinning = &config.pinning;
        assert!(pinning.strict && pinning.is_strict(&ServerName::new("a")));
        assert!(!pinning.is_strict(&ServerName::new("b")));
        let json = read(
            "/etc/mcp.json",
            r#"{"mcpServers": {"a": {"command": "x", "pin": "strict"}, "b": {"command": "x"}}}"#,
        );
        assert_eq!(json.problems, []);
        assert!(!json.pinning.strict && json.pinning.is_strict(&ServerName::new("a")));
        assert!(!json.pinning.is_strict(&ServerName::new("b")));
    }

    #[test]
    fn what_can_not_be_read_is_strict() {
        for value in ["true", "\"Strict\"", "\"\"", "[\"off\"]"] {
            let config = read("/etc/shelf.toml", &format!("pin = {value}\nskills = []\n"));
            assert!(config.pinning.strict, "{value}");
            assert_eq!(config.problems.len(), 1, "{value}");
            let of_server = format!("[servers.a]\ncommand = \"x\"\npin = {value}\n");
            let config = read("/etc/shelf.toml", &of_server);
            assert!(config.pinning.is_strict(&ServerName::new("a")), "{value}");
            assert_eq!(config.problems.len(), 1, "{value}");
        }
    }
}
