use std::collections::BTreeSet;
use std::path::Path;

use skills::entry_id::ServerName;

use super::DEFAULT;
use crate::access_log::{DEFAULT_BYTES, LogOptions};
use crate::config::{Config, ServerConfig, Transport, reader};

fn read(source: &str) -> Config {
    reader::read(Path::new("/etc/shelf.toml"), source).unwrap()
}

fn messages(config: &Config) -> Vec<String> {
    config.problems.iter().map(ToString::to_string).collect()
}

/// The file with all its settings in force.
fn uncommented() -> String {
    let is_setting = |rest: &str| !rest.starts_with(' ') && !rest.is_empty();
    let lines = DEFAULT.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if is_setting(rest) => rest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The keys that a table may have, as the reader itself tells them.
fn keys_of(table: &str) -> Vec<String> {
    let config = read(&format!("{table}\nno-such-key = 1\n"));
    let hint = config
        .problems
        .iter()
        .filter(|problem| problem.message.contains("unknown key"))
        .find_map(|problem| problem.hint.clone());
    let hint = hint.unwrap_or_else(|| panic!("{table}: {:?}", config.problems));
    let keys = hint.strip_prefix("it may have: ").unwrap().split(", ");
    keys.map(str::to_owned).collect()
}

#[test]
fn as_it_stands_it_says_nothing() {
    let config = read(DEFAULT);
    assert_eq!(messages(&config), [""; 0]);
    let settings = |config: &Config| {
        let Config {
            servers,
            skills,
            limits,
            index,
            search,
            entries,
            daemon,
            log,
            ..
        } = config;
        format!(
            "{servers:?} {skills:?} {limits:?} {index:?} {search:?} {entries:?} {daemon:?} {log:?}"
        )
    };
    assert_eq!(settings(&config), settings(&Config::default()));
}

#[test]
fn what_is_commented_out_is_the_default() {
    let config = read(&uncommented());
    assert_eq!(messages(&config), [""; 0]);
    let default = Config::default();
    assert_eq!(
        format!("{:?}", config.limits),
        format!("{:?}", default.limits)
    );
    assert_eq!(
        format!("{:?}", config.index),
        format!("{:?}", default.index)
    );
    assert_eq!(config.search.lexical, default.search.lexical);
    assert_eq!(config.daemon, default.daemon);
    // There 0 stands for the default.
    assert_eq!(config.log.max_bytes, DEFAULT_BYTES);
    let log = LogOptions {
        max_bytes: 0,
        ..config.log
    };
    assert_eq!(log, default.log);
    assert_eq!(config.skills.len(), 2);
    assert_eq!(config.entries.len(), 1);
    for (name, server) in &config.servers {
        let plain = ServerConfig::new(server.transport.clone(), server.line);
        assert_eq!(server, &plain, "{name}");
    }
    let transport = |name| &config.servers[&ServerName::new(name)].transport;
    assert!(matches!(transport("github"), Transport::Stdio(_)));
    assert!(matches!(transport("tracker"), Transport::Http { .. }));
}

#[test]
fn every_key_stands_in_it() {
    let words: BTreeSet<String> = DEFAULT
        .split(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_'))
        .map(|word| word.replace('_', "-"))
        .collect();
    let sections = keys_of("");
    // Tables by names of the user's own, and lists.
    let named = ["[servers.x]\ncommand = \"x\"", "[entries.\"x/y\"]"];
    let mut tables: Vec<_> = named.iter().map(|&table| table.to_owned()).collect();
    let plain = sections.iter().filter(|section| {
        !["servers", "mcpServers", "roots", "skills", "entries", "pin"].contains(&&***section)
    });
    tables.extend(plain.map(|section| format!("[{section}]")));
    assert!(tables.len() > 6, "{tables:?}");
    for key in tables
        .iter()
        .flat_map(|table| keys_of(table))
        .chain(sections)
    {
        assert!(
            words.contains(&key.replace('_', "-")),
            "{key} is not explained"
        );
    }
}
