use skills::problem::Location;

use super::*;
use crate::access_log::Queries;

mod endpoint;
mod faults;
mod launch;
mod life;
mod roots;
mod words;

fn load(file_name: &str, source: &str) -> Result<Config, Problem> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(file_name);
    std::fs::write(&path, source).unwrap();
    Config::load(&path)
}

fn json(source: &str) -> Config {
    load("mcp.json", source).unwrap()
}

fn toml(source: &str) -> Config {
    load("shelf.toml", source).unwrap()
}

fn server<'a>(config: &'a Config, name: &str) -> &'a ServerConfig {
    &config.servers[&ServerName::new(name)]
}

fn stdio<'a>(config: &'a Config, name: &str) -> &'a StdioConfig {
    match &server(config, name).transport {
        Transport::Stdio(stdio) => stdio,
        other => panic!("{other:?}"),
    }
}

fn line(problem: &Problem) -> Option<u32> {
    match &problem.location {
        Some(Location::File { line, .. }) => *line,
        _ => None,
    }
}

/// `line: message` of every problem.
fn problems(config: &Config) -> Vec<String> {
    let text = |problem: &Problem| format!("{}: {}", line(problem).unwrap(), problem.message);
    config.problems.iter().map(text).collect()
}

#[test]
fn unknown_keys_of_a_server_are_said_where_the_file_is_our_own() {
    let config = toml("[servers.a]\ncommand = \"x\"\nstart_timeout = \"9s\"\ntime-out = \"3s\"\n");
    let server = &config.servers[&ServerName::new("a")];
    assert_eq!(server.start_timeout, Duration::from_secs(9));
    let [problem] = &config.problems[..] else {
        panic!("{:?}", config.problems);
    };
    assert!(
        problem.message.contains("unknown key `time-out`"),
        "{problem}"
    );
    assert!(problem.hint.as_ref().unwrap().contains("timeout"));
    assert!(problem.to_string().contains(":4: "), "{problem}");
    let config = json(r#"{"mcpServers": {"a": {"command": "x", "alwaysAllow": []}}}"#);
    assert!(config.problems.is_empty());
}

#[test]
fn both_formats_give_the_same_model() {
    let from_json = json(
        r#"{ "mcpServers": { "a": {
            "command": "npx", "args": ["-y", 8080, true, 0.10], "cwd": "src", "enabled": false,
            "env": { "N": 1.10, "T": "${TOKEN}" }, "start-timeout": "90s", "timeout": "1h", "idle": "never",
            "share": "session", "restart": "never" } },
          "skills": ["one", { "path": "/two", "name": "team" }, "~/three"],
          "discovery": { "depth": 3, "directories": 50 },
          "index": { "max_tokens": 100 },
          "search": { "lexical": true, "keywords": { "ticket": ["issue", "bug"] } },
          "entries": { "a/b": { "summary": "Does b", "keywords": ["c"], "group": "D", "pin": true } },
          "daemon": { "idle": "1m" },
          "log": { "queries": "hash", "values": true, "max_bytes": 1000 } }"#,
    );
    let from_toml = toml(
        r#"
        skills = ["one", { path = "/two", name = "team" }, "~/three"]
        [servers.a]
        command = "npx"
        args = ["-y", 8_080, true, 0.10]
        cwd = "src"
        enabled = false
        start-timeout = "90s"
        timeout = "1h"
        idle = "never"
        share = "session"
        restart = "never"
        [servers.a.env]
        N = 1.10
        T = "${TOKEN}"
        [discovery]
        depth = 3
        directories = 50
        [daemon]
        idle = "1m"
        [index]
        max-tokens = 100
        [search]
        lexical = true
        [search.keywords]
        ticket = ["issue", "bug"]
        [entries."a/b"]
        summary = "Does b"
        keywords = ["c"]
        group = "D"
        pin = true
        [log]
        queries = "hash"
        values = true
        max_bytes = 1_000
        "#,
    );
    for config in [&from_json, &from_toml] {
        assert_eq!(problems(config), [""; 0]);
        let server = server(config, "a");
        assert!(server.disabled);
        assert_eq!(server.start_timeout, Duration::from_secs(90));
        assert_eq!(server.timeout, Duration::from_secs(3_600));
        assert_eq!(server.idle, None);
        assert_eq!(
            (server.share, server.restart),
            (Share::Session, Restart::Never)
        );
        let stdio = stdio(config, "a");
        assert_eq!(stdio.command, "npx");
        // As written: 0.10 is a version as often as a number.
        assert_eq!(stdio.args, ["-y", "8080", "true", "0.10"]);
        assert_eq!(stdio.env["N"], "1.10");
        assert_eq!(stdio.cwd.as_deref(), Some("src"));
        let directory = config.path.as_ref().unwrap().parent().unwrap();
        let paths: Vec<_> = config.skills.iter().map(|root| root.path.clone()).collect();
        assert_eq!(
            paths,
            [directory.join("one"), "/two".into(), "~/three".into()]
        );
        assert_eq!(config.skills[1].source.as_deref(), Some("team"));
        assert_eq!((config.limits.depth, config.limits.directories), (3, 50));
        assert_eq!(config.index.max_tokens, 100);
        let words = vec!["issue".to_owned(), "bug".to_owned()];
        let search = SearchOptions {
            keywords: BTreeMap::from([("ticket".to_owned(), words)]),
            lexical: true,
        };
        assert_eq!(config.search, search);
        let entry = &config.entries["a/b"];
        let said = EntryOptions {
            summary: Some("Does b".to_owned()),
            keywords: vec!["c".to_owned()],
            group: Some("D".to_owned()),
            pin: true,
            written: entry.written.clone(),
        };
        assert_eq!(*entry, said);
        assert_eq!(config.daemon.idle, Some(Duration::from_secs(60)));
        let log = LogOptions {
            queries: Queries::Hash,
            values: true,
            max_bytes: 1_000,
        };
        assert_eq!(config.log, log);
    }
}

#[test]
fn what_is_left_out_has_a_default() {
    let config = json(r#"{"servers": {"a": {"command": "x", "cwd": null, "env": null}}}"#);
    let server = server(&config, "a");
    assert!(!server.disabled);
    assert_eq!(server.start_timeout, START_TIMEOUT);
    assert_eq!(server.timeout, TIMEOUT);
    assert_eq!(server.idle, Some(IDLE));
    assert_eq!(server.line, 1);
    assert_eq!(config.index.max_tokens, 4_000);
    assert_eq!(problems(&config), [""; 0]);
}

#[test]
fn a_faulty_entry_hides_no_other_and_names_its_line() {
    let config = json(
        r#"{"mcpServers": {
  "good": {"command": "x"},
  "text": "npx",
  "empty": {"command": " "},
  "nothing": {},
  "args": {"command": "x",
           "args": ["a",
                    ["b"]]},
  "both": {"command": "x", "url": "https://x"},
  "no-url": {"type": "http", "command": "x"},
  "line": {"command": "npx -y server"},
  "name": {"command": "x", "env": {"A=B": "c"}},
  "nul": {"command": "x", "args": ["\u0000"]},
  "lone": {"command": "\ud800"},
  "idle": {"command": "x", "idle": "10"},
  "zero": {"command": "x", "timeout": "0s"},
  "key": {"command": "x", "command": "y"},
  "off": {"command": 1, "disabled": true},
  "old": {"type": "sse", "url": "https://x/sse"},
  "reserved": {"url": "https://x", "headers": {"Mcp-Session-Id": "1"}},
  "header": {"url": "https://x", "headers": {"a b": "secret"}}
}}"#,
    );
    assert_eq!(config.servers.len(), 18);
    assert_eq!(stdio(&config, "good").command, "x");
    assert_eq!(
        problems(&config),
        [
            "3: server `text` must be a table, and is text",
            "4: server `empty` has an empty `command`",
            "5: server `nothing` has neither `command` nor `url`",
            "8: `args` of server `args` must be text, and is a list",
            "9: server `both` has both `command` and `url`",
            "10: server `no-url` is of a `type` that needs a `url`",
            "11: server `line` has a whole command line in `command`",
            "12: `env` of server `name` has a variable that can't be named `A=B`",
            "13: `args` of server `nul` holds a NUL character",
            "14: unexpected end of hex escape",
            "15: `idle` of server `idle` is no duration: `10`",
            "16: `timeout` of server `zero` is 0",
            "17: `command` stands twice in server `key`",
            "19: server `old` is of `type` \"sse\", the old HTTP with SSE",
            "20: `headers` of server `reserved` may not have `Mcp-Session-Id`",
            "21: `headers` of server `header` has a header that can't be named `a b`",
        ]
    );
    for name in config.servers.keys().filter(|name| name.as_str() != "good") {
        let transport = &config.servers[name].transport;
        assert!(matches!(transport, Transport::Invalid(_)), "{name}");
    }
    let hint = |index: usize| config.problems[index].hint.as_deref();
    assert_eq!(
        hint(6),
        Some("write \"npx\" in `command`, and each argument as a string of its own in `args`")
    );
    // Switched off, so nobody is told, but still not to be started.
    assert!(server(&config, "off").disabled);
}

#[test]
fn a_server_that_is_configured_twice_is_neither() {
    let config = json(
        "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}},\n\"servers\": {\"a\": {}}}",
    );
    assert!(matches!(
        server(&config, "a").transport,
        Transport::Invalid(_)
    ));
    assert_eq!(
        config.problems[0].message,
        "server `a` is configured twice, first in line 2"
    );
    assert_eq!(
        config.problems.iter().map(line).collect::<Vec<_>>(),
        [Some(3), Some(4)]
    );

    let config = toml("[servers.a]\ncommand = 'x'\n[mcpServers.a]\ncommand = 'y'\n");
    assert!(matches!(
        server(&config, "a").transport,
        Transport::Invalid(_)
    ));
    assert_eq!(config.problems.len(), 1);
}

#[test]
fn toml_faults_name_their_lines() {
    let config = toml(
        "skills = [\n  'one',\n  3,\n  { name = 'x' },\n  '${HOME}/x',\n]\n[servers.a]\ncommand = 7\n[servers.b]\ncommand = 'x'\n[server.c]\n[log]\nqueries = 'none'\nvalue = true\n[index]\nmax_tokens = 0\n",
    );
    assert_eq!(
        problems(&config),
        [
            "3: an element of `skills` must be text, and is a number",
            "4: an element of `skills` has no path",
            "5: variables are not expanded in `skills`: ${HOME}/x",
            "8: `command` of server `a` must be text, and is a number",
            "11: the file has the unknown key `server`",
            "13: `queries` is `none`",
            "14: `log` has the unknown key `value`",
            "16: `max_tokens` must be a whole number above 0, and is a number",
        ]
    );
    assert_eq!(stdio(&config, "b").command, "x");
    assert_eq!(
        (server(&config, "a").line, server(&config, "b").line),
        (7, 9)
    );
    assert_eq!(config.skills.len(), 1);
}

#[test]
fn a_number_without_a_unit_is_not_guessed_at() {
    let config = json(r#"{"mcpServers": {"a": {"command": "x", "timeout": 60}}}"#);
    assert_eq!(server(&config, "a").timeout, TIMEOUT);
    assert_eq!(
        problems(&config),
        ["1: `timeout` of server `a` has no unit and is passed over"]
    );
    assert_eq!(
        config.problems[0].hint.as_deref(),
        Some("write \"60s\" or \"60ms\"")
    );
}

#[test]
fn a_file_that_is_no_json_or_toml_names_the_line() {
    let problem = load("mcp.json", "{\n\"mcpServers\": {\n\"a\": }\n}").unwrap_err();
    assert_eq!(
        (line(&problem), &*problem.message),
        (Some(3), "expected value")
    );
    let problem = load("shelf.toml", "a = 1\n[servers.a]\ncommand = x y\n").unwrap_err();
    assert_eq!(line(&problem), Some(3));
    let problem = load("mcp.json", "[]").unwrap_err();
    assert_eq!(problem.message, "the file must be a table, and is a list");
    let problem = Config::load(Path::new("/no/such/file.json")).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Configuration);
    assert!(problem.message.starts_with("cannot be read: No such file"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mcp.json");
    std::fs::write(&path, b"{\n\"a\xff\": 1}").unwrap();
    let problem = Config::load(&path).unwrap_err();
    assert_eq!(
        (line(&problem), &*problem.message),
        (Some(2), "is not UTF-8")
    );
}

#[test]
fn files_of_other_clients_are_read_as_they_are() {
    let config = json(
        "\u{feff}{\r\n  // ours\r\n  \"numStartups\": 3, \"numStartups\": 4, \"skills\": null, \"projects\": {\"/x\": []},\r\n  \"mcpServers\": {\r\n    \"a\": {\"type\": \"stdio\", \"command\": \"x\", \"alwaysAllow\": [\"*\"],},\r\n    \"h\": {\"type\": \"http\", \"url\": \"https://x/${Y}\", \"headers\": {}},\r\n  },\r\n}\r\n",
    );
    assert_eq!(problems(&config), [""; 0]);
    assert_eq!(server(&config, "a").line, 5);
    assert_eq!(
        server(&config, "h").transport,
        Transport::Http(HttpConfig {
            url: "https://x/${Y}".into(),
            headers: BTreeMap::new()
        })
    );
}

#[test]
fn a_file_that_names_nothing_is_said() {
    let config = json(r#"{"everything": {"command": "npx"}}"#);
    assert_eq!(problems(&config), ["1: names neither servers nor skills"]);
}

#[test]
fn skill_roots_below_home_need_one() {
    let environment = |home: &str| Environment::from([("HOME".into(), home.into())]);
    let mut config = toml("skills = ['~/a', '~b']");
    config.expand_home(&environment("/home/me"));
    assert_eq!(config.skills[0].path, Path::new("/home/me/a"));
    assert!(config.skills[1].path.ends_with("~b"));
    let mut config = toml("skills = ['~/a', '/b']");
    config.expand_home(&environment(""));
    assert_eq!(config.skills.len(), 1);
    assert!(config.problems[0].message.contains("HOME is not set"));
}
