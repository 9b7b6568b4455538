//! What servers ask while a tool runs: answered beforehand, on a terminal, or refused with what was asked; in both eras.

use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::needs::{lacks_program, workspace};
use crate::support::processes::signal;
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_for, wait_until};

/// The ways to the server: the era and the transport.
const WAYS: [&[&str]; 4] = [&[], &["--modern"], &["--http"], &["--http", "--modern"]];

/// Nothing is typed.
const NEVER: (&str, &str) = ("never printed", "");

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
fn sampling_and_pages_are_refused() {
    if lacks_program("python3") {
        return;
    }
    let sampling =
        json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 1 } });
    let page = json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "Sign in", "url": "https://example.com" } });
    let legacy = Asking::new(&[]);
    let arguments = json!({ "ask": [sampling, page, { "method": "roots/list" }] });
    let finished = legacy.ask(&[], &arguments);
    let replies: Value = serde_json::from_str(&finished.stdout).unwrap();
    let codes: Vec<_> = replies
        .as_array()
        .unwrap()
        .iter()
        .map(|reply| reply["error"]["code"].clone())
        .collect();
    assert_eq!(codes, [-32601, -32602, -32601]);
    for part in ["(sampling)", "Sign in", "roots"] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
    let log = legacy
        .shelf
        .run(&["servers", "log", "asking", "--config", "mcp.json"])
        .succeeds();
    assert!(log.contains("(sampling)"), "{log}");
    // In the later era there is no way to say so: the call can't be completed.
    let modern = Asking::new(&["--modern"]);
    for (request, part) in [(sampling, "(sampling)"), (page, "Sign in")] {
        let said = modern.ask(&[], &json!({ "ask": [request] })).fails(4);
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn roots_are_what_the_configuration_says() {
    if lacks_program("python3") {
        return;
    }
    for way in WAYS {
        let asking = Asking::with(way, &json!({ "roots": ["a b", "/no/such"] }));
        fs::create_dir(asking.shelf.path("a b")).unwrap();
        let said = asking
            .ask(&[], &json!({ "ask": [{ "method": "roots/list" }] }))
            .succeeds();
        let here = asking.shelf.root().display().to_string();
        let roots = json!([
            { "uri": format!("file://{here}/a%20b"), "name": "a b" },
            { "uri": "file:///no/such", "name": "such" },
        ]);
        assert_eq!(replies(&said), [json!({ "roots": roots })], "{way:?}");
        assert!(asking.recorded("declared")[0].get("roots").is_some());
        let status = asking
            .shelf
            .run(&["status", "--config", "mcp.json"])
            .succeeds();
        assert!(
            status.contains("the root /no/such of server `asking` is no directory"),
            "{status}"
        );
    }
}

#[test]
fn an_edit_of_the_roots_restarts_the_server_and_shows_in_its_page() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::with(&[], &json!({ "roots": ["one"] }));
    asking.shelf.mirror();
    let page = |root: &str| {
        let root = format!("Root: {}\n", asking.shelf.path(root).display());
        asking
            .shelf
            .wait_for_text("mcp/asking/SERVER.md", |text| text.contains(&root));
    };
    page("one");
    let config = fs::read_to_string(asking.shelf.path("mcp.json")).unwrap();
    asking
        .shelf
        .write("mcp.json", config.replace(r#"["one"]"#, r#"["two"]"#));
    page("two");
    let ask = r#"{"ask": [{"method": "roots/list"}]}"#;
    wait_until("the server has the new root", || {
        let finished = asking.shelf.run(&["call", "--args", ask, "asking/ask"]);
        finished.stdout.contains("/two")
    });
    asking.shelf.unmount();
}

#[test]
fn somebody_at_a_terminal_is_asked_field_by_field() {
    if lacks_program("python3") {
        return;
    }
    for way in [&[][..], &["--modern"]] {
        let asking = Asking::new(way);
        // What is required is asked again, then what does not fit; progress comes meanwhile.
        let typed = [
            ("name: ", "\n"),
            ("it is required\r\nname: ", "Ada\n"),
            ("age: ", "\n"),
            ("color: ", "green\n"),
            ("color: ", "blue\n"),
        ];
        let arguments = json!({ "ask": [person()], "tell": true });
        let finished = asking.on_terminal(&[], &typed, &arguments);
        assert_eq!(finished.code, 0, "{}", finished.stdout);
        for part in [
            "server asking asks: Who are you?",
            "name  string, required — Your name",
            "age  integer, default 30",
            "color must be \"red\"|\"blue\", not \"green\"",
            r#"{"action": "accept", "content": {"name": "Ada", "age": 30, "color": "blue"}}"#,
        ] {
            assert!(
                finished.stdout.contains(part),
                "{part}: {}",
                finished.stdout
            );
        }
        // What was said beforehand is not asked.
        let typed = [("age: ", "7\n"), ("color: ", "\n")];
        let finished = asking.on_terminal(&["--answer", "name=Eve"], &typed, &arguments);
        let content = r#""content": {"name": "Eve", "age": 7}"#;
        assert!(finished.stdout.contains(content), "{}", finished.stdout);
    }
}

#[test]
fn a_person_may_decline_or_cancel_the_call() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let who = json!({ "ask": [form("Who?\u{1b}[2J", &json!({ "name": { "type": "string" } }), &["name"])] });
    let declined = asking.on_terminal(&[], &[("name: ", "\u{4}")], &who);
    assert_eq!(declined.code, 0, "{}", declined.stdout);
    assert!(
        declined.stdout.contains(r#"{"action": "decline"}"#),
        "{}",
        declined.stdout
    );
    assert!(
        declined.stdout.contains("Who?\\u{1b}[2J"),
        "{}",
        declined.stdout
    );
    let interrupted = asking.on_terminal(&[], &[("name: ", "\u{3}")], &who);
    assert_eq!(interrupted.code, 130, "{}", interrupted.stdout);
    let sure = json!({ "ask": [form("Sure?", &json!({}), &[])] });
    let no = asking.on_terminal(&[], &[("[N]o: ", "\n")], &sure);
    assert!(
        no.stdout.contains(r#"{"action": "decline"}"#),
        "{}",
        no.stdout
    );
    let yes = asking.on_terminal(&[], &[("[N]o: ", "y\n")], &sure);
    assert!(
        yes.stdout
            .contains(r#"{"action": "accept", "content": {}}"#),
        "{}",
        yes.stdout
    );
}

#[test]
fn a_question_that_is_withdrawn_keeps_nobody() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let arguments = json!({ "ask": [person()], "withdraw": true });
    let finished = asking.on_terminal(&[], &[NEVER], &arguments);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    assert!(finished.stdout.contains("withdrawn"), "{}", finished.stdout);
}

#[test]
fn a_time_limit_holds_while_somebody_is_asked() {
    if lacks_program("python3") {
        return;
    }
    for way in [&[][..], &["--modern"]] {
        let asking = Asking::new(way);
        let arguments = json!({ "ask": [person()] });
        let late = asking.on_terminal(&["--timeout", "2s"], &[NEVER], &arguments);
        assert_eq!(late.code, 124, "{}", late.stdout);
        assert!(late.stdout.contains("Who are you?"), "{}", late.stdout);
    }
}

#[test]
fn whoever_is_asked_and_goes_cancels_the_call() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let arguments = json!({ "ask": [person()] });
    let hung_up = asking.on_terminal(&[], &[("name: ", "hang-up")], &arguments);
    assert_ne!(hung_up.code, 0, "{}", hung_up.stdout);
    wait_until("the server is told", || {
        asking.recorded("reply").iter().any(|reply| {
            reply["result"]["action"] == "cancel" || reply["result"]["action"] == "decline"
        })
    });
}

#[test]
fn several_calls_under_way_are_told_apart_by_their_streams_or_not_at_all() {
    if lacks_program("python3") {
        return;
    }
    for (way, action) in [
        (&[][..], "cancel"),
        (&["--http"], "accept"),
        (&["--modern"], "accept"),
    ] {
        let asking = Asking::new(way);
        let slow = [
            "call",
            "--config",
            "mcp.json",
            "asking/slow",
            "--seconds",
            "60",
        ];
        let mut command = asking.shelf.command(SHELF);
        let mut other = command
            .args(slow)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("it is under way", || {
            asking.recorded("call").contains(&json!("slow"))
        });
        let finished = asking.ask(&["--answer", "name=x"], &json!({ "ask": [person()] }));
        assert_eq!(
            replies(&finished.stdout)[0]["action"],
            action,
            "{way:?}: {}",
            finished.stderr
        );
        if action == "cancel" {
            let said = "several calls were under way";
            assert!(finished.stderr.contains(said), "{}", finished.stderr);
        }
        signal(i32::try_from(other.id()).unwrap(), Signal::INT);
        other.wait().unwrap();
    }
}

#[test]
fn a_question_outside_of_every_call_is_cancelled_and_logged() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let ask = json!({ "ask": [person()] }).to_string();
    asking
        .shelf
        .call(&["--config", "mcp.json", "--args", &ask, "asking/later"]);
    let late = wait_for("it has its answer", || asking.recorded("late").pop());
    assert_eq!(late[0]["result"]["action"], "cancel");
    let log = asking
        .shelf
        .run(&["servers", "log", "asking", "--config", "mcp.json"])
        .succeeds();
    assert!(log.contains("outside of every call: Who are you?"), "{log}");
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
fn a_tool_that_runs_only_as_a_task_is_refused_with_what_to_do() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&["--modern"]);
    let said = asking
        .shelf
        .run(&["call", "--config", "mcp.json", "asking/long"])
        .fails(2);
    assert!(
        said.contains("runs only as a task") && said.contains("hint: nothing was sent"),
        "{said}"
    );
    let said = asking.ask(&[], &json!({ "task": true })).fails(4);
    assert!(said.contains("started a task"), "{said}");
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
