//! What servers ask while a tool runs: answered beforehand, on a terminal, or refused with what was asked; in both eras.

mod others;
mod terminal;

use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::needs::{lacks_program, workspace};
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_for};

/// The ways to the server: the era and the transport.
const WAYS: [&[&str]; 4] = [&[], &["--modern"], &["--http"], &["--http", "--modern"]];

/// A place with a server that asks.
struct Asking {
    shelf: Shelf,
    /// One that is reached over HTTP ends with its standard input.
    process: Option<Child>,
}

impl Asking {
    fn new(way: &[&str]) -> Self {
        Self::with(way, &json!({}))
    }

    /// The same, with more in its entry of the configuration.
    fn with(way: &[&str], more: &Value) -> Self {
        let shelf = Shelf::new();
        let program = workspace().join("tests/servers/asking.py");
        let record = shelf.path("record");
        let is_modern = way.contains(&"--modern");
        let era = is_modern.then_some("--modern");
        let mut process = None;
        let mut server = if way.contains(&"--http") {
            let port = shelf.path("port");
            let mut command = shelf.command("python3");
            command.arg(&program).arg("--http").arg(&port);
            command.arg("--record").arg(&record).args(era);
            process = Some(command.stdin(Stdio::piped()).spawn().unwrap());
            let port = wait_for("it listens", || fs::read_to_string(&port).ok());
            json!({ "type": "http", "url": format!("http://127.0.0.1:{port}/mcp") })
        } else {
            let mut args = vec![json!(program), json!("--record"), json!(record)];
            args.extend(era.map(Value::from));
            json!({ "command": "python3", "args": args })
        };
        for (key, value) in more.as_object().unwrap() {
            server[key] = value.clone();
        }
        shelf.servers(json!({ "asking": server }));
        Self { shelf, process }
    }

    /// The words of a call that has the server ask.
    fn words(options: &[&str], arguments: &Value) -> Vec<String> {
        let arguments = arguments.to_string();
        let words = ["call", "--config", "mcp.json", "--args", &arguments];
        let words = words.iter().chain(options).chain(&["asking/ask"]);
        words.map(|&word| word.to_owned()).collect()
    }

    /// Calls the tool that asks.
    fn ask(&self, options: &[&str], arguments: &Value) -> Finished {
        let words = Self::words(options, arguments);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.shelf.run(&words)
    }

    /// Calls it on a terminal, where each answer is typed at its prompt.
    fn on_terminal(&self, options: &[&str], typed: &[(&str, &str)], arguments: &Value) -> Finished {
        let program = workspace().join("tests/servers/terminal.py");
        let (prompts, answers): (Vec<_>, Vec<_>) = typed.iter().copied().unzip();
        let (prompts, answers) = (prompts.join("\n---\n"), answers.join("\n---\n"));
        let mut command = self.shelf.command("python3");
        command.arg(program).args(["", &prompts, &answers, SHELF]);
        Finished::of(command.args(Self::words(options, arguments)))
    }

    /// What the server was sent of this kind.
    fn recorded(&self, kind: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.shelf.path("record")).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| line.get(kind).cloned()).collect()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.shelf.run(&["unmount", "--config", "mcp.json"]);
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
    }
}

/// A request for a form.
fn form(message: &str, properties: &Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn person() -> Value {
    let properties = json!({
        "name": { "type": "string", "title": "Your name" },
        "age": { "type": "integer", "default": 30 },
        "color": { "type": "string", "enum": ["red", "blue"] },
    });
    form("Who are you?", &properties, &["name"])
}

/// The results that the server got, in order.
fn replies(stdout: &str) -> Vec<Value> {
    let said: Value = serde_json::from_str(stdout).unwrap_or_else(|_| panic!("{stdout}"));
    let replies = said.get("replies").unwrap_or(&said).as_array().unwrap();
    replies
        .iter()
        .map(|reply| reply["result"].clone())
        .collect()
}

#[test]
fn an_answer_given_beforehand_is_sent_in_every_era_and_over_every_transport() {
    if lacks_program("python3") {
        return;
    }
    for way in WAYS {
        let asking = Asking::new(way);
        let arguments = json!({ "ask": [person()], "state": "é\u{1}\"as it is\"" });
        let answers = ["--answer", "name=007", "--answer", "color=blue"];
        let said = asking.ask(&answers, &arguments).succeeds();
        let content = json!({ "name": "007", "age": 30, "color": "blue" });
        let expected = json!({ "action": "accept", "content": content });
        assert_eq!(replies(&said), [expected], "{way:?}");
        let declared = &asking.recorded("declared")[0];
        assert_eq!(
            declared,
            &json!({ "elicitation": { "form": {} } }),
            "{way:?}"
        );
        if way.contains(&"--modern") {
            let state: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(state["state"], arguments["state"]);
            let sent = asking.recorded("params");
            assert_eq!(sent.len(), 2, "{sent:?}");
            assert_eq!(sent[0]["arguments"], sent[1]["arguments"]);
            assert!(sent[0].get("requestState").is_none());
        }
    }
}

#[test]
fn without_an_answer_the_server_is_told_and_the_command_says_what_was_asked() {
    if lacks_program("python3") {
        return;
    }
    for way in WAYS {
        let asking = Asking::new(way);
        let finished = asking.ask(&[], &json!({ "ask": [person()] }));
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        assert_eq!(replies(&finished.stdout), [json!({ "action": "cancel" })]);
        let table = "  name  string, required — Your name\n  age  integer, default 30\n  color  \"red\"|\"blue\"";
        for part in [
            "Who are you?",
            table,
            "shelf call --answer 'name=STRING' asking/ask",
        ] {
            assert!(
                finished.stderr.contains(part),
                "{way:?}: {}",
                finished.stderr
            );
        }
    }
}

#[test]
fn an_answer_that_does_not_fit_is_not_sent() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    for (options, why) in [
        (
            &["--answer", "name=x", "--answer", "age=old"][..],
            "age must be integer",
        ),
        (
            &["--answer", "name=x", "--answer", "color=green"],
            "color must be \"red\"|\"blue\"",
        ),
        (&["--answer", "age=7"], "name: missing"),
        (&["--accept"], "name: missing"),
    ] {
        let finished = asking.ask(options, &json!({ "ask": [person()] }));
        assert_eq!(
            replies(&finished.stdout),
            [json!({ "action": "cancel" })],
            "{options:?}"
        );
        assert!(finished.stderr.contains(why), "{}", finished.stderr);
    }
    // One that no form had is no reason to fail.
    let finished = asking.ask(&["--answer", "nmae=x"], &json!({ "ask": [] }));
    assert_eq!(finished.code, 0);
    assert!(
        finished.stderr.contains("--answer nmae=… was not used"),
        "{}",
        finished.stderr
    );
    asking
        .ask(&["--answer", "name"], &json!({ "ask": [] }))
        .fails(2);
    // Nothing of an answer is in a log.
    let shown = asking.ask(&["--answer", "name=s3cret"], &json!({ "ask": [person()] }));
    assert!(shown.stdout.contains("s3cret"));
    asking
        .shelf
        .run(&["unmount", "--config", "mcp.json"])
        .succeeds();
    let search = asking
        .shelf
        .shell("grep -rl s3cret state cache runtime; true");
    assert_eq!(search.stdout, "");
}

#[test]
fn a_form_that_needs_nothing_is_accepted_only_on_request() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&["--modern"]);
    let sure = form("Sure?", &json!({}), &[]);
    let easy = form(
        "Go on?",
        &json!({ "go": { "type": "boolean", "default": true } }),
        &[],
    );
    let arguments = json!({ "ask": [sure, easy] });
    let finished = asking.ask(&[], &arguments);
    let cancelled = json!({ "action": "cancel" });
    assert_eq!(replies(&finished.stdout), [cancelled.clone(), cancelled]);
    assert!(
        finished.stderr.contains("shelf call --accept asking/ask"),
        "{}",
        finished.stderr
    );
    let said = asking.ask(&["--accept"], &arguments).succeeds();
    let accepted = |content: Value| json!({ "action": "accept", "content": content });
    assert_eq!(
        replies(&said),
        [accepted(json!({})), accepted(json!({ "go": true }))]
    );
}

#[test]
fn a_server_that_never_has_enough_is_given_up() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&["--modern"]);
    let said = asking
        .ask(
            &["--answer", "name=x"],
            &json!({ "ask": [person()], "endless": true }),
        )
        .fails(4);
    assert!(said.contains("asks for further input"), "{said}");
    assert_eq!(asking.recorded("params").len(), 11);
    // A state alone is sent back too.
    let said = asking
        .ask(&[], &json!({ "ask": [], "state": "s" }))
        .succeeds();
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["state"], "s");
}

#[test]
fn every_line_of_a_file_has_the_same_answers() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&["--modern"]);
    let line = json!({ "ask": [person()] });
    asking.shelf.write("lines", format!("{line}\n{line}\n"));
    let words = [
        "call",
        "--config",
        "mcp.json",
        "--each",
        "lines",
        "--parallel",
        "2",
        "--answer",
        "name=x",
        "asking/ask",
    ];
    let finished = asking.shelf.run(&words);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert_eq!(
        finished.stdout.matches("accept").count(),
        2,
        "{}",
        finished.stdout
    );
    assert_eq!(finished.stderr, "");
    let words = [
        "call",
        "--config",
        "mcp.json",
        "--each",
        "lines",
        "asking/ask",
    ];
    let finished = asking.shelf.run(&words);
    let first: Value = serde_json::from_str(finished.stdout.lines().next().unwrap()).unwrap();
    assert!(
        first["warnings"][0]
            .as_str()
            .unwrap()
            .contains("Who are you?"),
        "{first}"
    );
}

#[test]
fn a_client_of_serve_is_told_what_was_asked() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let mut command = asking.shelf.command(SHELF);
    command
        .args(["serve", "--config", "mcp.json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut serve = command.spawn().unwrap();
    let call = json!({ "id": "asking/ask", "arguments": { "ask": [person()] } });
    let requests = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "call_tool", "arguments": call } }),
    ];
    let mut input = serve.stdin.take().unwrap();
    for request in requests {
        writeln!(input, "{request}").unwrap();
    }
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(serve.stdout.take().unwrap()));
    let result = lines.find_map(|line| {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (message["id"] == 2).then(|| message["result"].clone())
    });
    drop(input);
    serve.wait().unwrap();
    let content = result.unwrap()["content"].clone();
    assert_eq!(content[0]["text"], r#"[{"result": {"action": "cancel"}}]"#);
    assert!(
        content[1]["text"]
            .as_str()
            .unwrap()
            .contains("Who are you?"),
        "{content}"
    );
}
