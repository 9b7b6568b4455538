//! `shelf serve`, as a client of MCP meets it: the real binary, both eras, its daemon, its end.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::needs::{lacks_program, real_servers};
use crate::support::processes::signal;
use crate::support::shelf::Shelf;
use crate::support::{DEADLINE, SHELF, wait_for, wait_until};

/// A client of a `shelf serve` of its own.
struct TestClient {
    process: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
}

impl TestClient {
    fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self {
            input: process.stdin.take(),
            process,
            lines,
            asked: 0,
        }
    }

    /// One of the place's own configuration.
    fn new(shelf: &Shelf) -> Self {
        let mut command = shelf.command(SHELF);
        command.args(["serve", "--config", "mcp.json"]);
        Self::of(command)
    }

    /// The same, with the conversation opened as it was up to 2025-11-25.
    fn initialized(shelf: &Shelf) -> Self {
        let mut client = Self::new(shelf);
        let info = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        let opened = client.request("initialize", params);
        assert_eq!(opened["protocolVersion"], "2025-11-25");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    #[track_caller]
    fn receive(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(DEADLINE).unwrap()).unwrap()
    }

    /// Sends a request, whose number it gives.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.receive();
        assert_eq!(
            (&answer["id"], answer.get("error")),
            (&json!(id), None),
            "{answer}"
        );
        answer["result"].clone()
    }

    #[track_caller]
    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.request(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
    }

    /// The text of the only block of a result.
    #[track_caller]
    fn text(&mut self, name: &str, arguments: Value, is_error: bool) -> String {
        let result = self.tool(name, arguments);
        assert_eq!(
            result["isError"].as_bool().unwrap_or_default(),
            is_error,
            "{result}"
        );
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input. What is said until the output ends is given, then the exit code.
    #[track_caller]
    fn close(mut self) -> (Vec<String>, Option<i32>) {
        self.input = None;
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it did not end"),
            }
        }
        (rest, self.process.wait().unwrap().code())
    }
}

/// A place with a fake server and a skill, both in the configuration.
fn shelf(options: &[&str]) -> Shelf {
    let shelf = Shelf::new();
    shelf.skill("pages", "Reads pages.");
    let servers = json!({ "fake": shelf.fake(options) });
    let config = json!({ "mcpServers": servers, "skills": ["skills"] });
    shelf.write("mcp.json", config.to_string());
    shelf
}

fn unmount(shelf: &Shelf) {
    shelf.run(&["unmount", "--config", "mcp.json"]).succeeds();
    shelf.wait_until_nothing_is_left();
}

#[test]
fn a_client_finds_calls_and_reads_what_is_on_the_shelf() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&["--calls", "calls"]);
    let mut client = TestClient::initialized(&shelf);
    let found = client.text("search_tools", json!({ "query": "fake/add" }), false);
    let schema = r#"inputSchema: {"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#;
    assert!(
        found.starts_with(&format!("## fake/add\nAdds.\n{schema}\n")),
        "{found}"
    );

    let arguments = json!({ "a": 1.5, "b": 2 });
    let sum = client.tool(
        "call_tool",
        json!({ "id": "fake/add", "arguments": arguments }),
    );
    assert_eq!(sum["structuredContent"], json!({ "sum": 3.5 }));
    let odd = json!({ "name": "call_tool", "arguments": { "id": "fake/odd" } });
    client.begin("tools/call", odd);
    let line = client.lines.recv_timeout(DEADLINE).unwrap();
    for kept in [
        r#""depth":1e3"#,
        r#"{"n":123456789012345678901234567890,"b":1,"a":0.10}"#,
    ] {
        assert!(line.contains(kept), "{line}");
    }

    let text = client.text("call_tool", json!({ "id": "skills/pages" }), false);
    assert_eq!(
        text,
        std::fs::read_to_string(shelf.path("skills/pages/SKILL.md")).unwrap()
    );
    let failed = client.text("call_tool", json!({ "id": "fake/fail" }), true);
    assert_eq!(failed, "it did not work");
    let near = client.text("call_tool", json!({ "id": "fake/ecko" }), true);
    assert!(near.contains("fake/echo"), "{near}");
    let arguments = json!({ "id": "fake/add", "arguments": { "a": "one" } });
    let refused = client.text("call_tool", arguments, true);
    assert!(
        refused.contains("/b: missing") && refused.ends_with(schema),
        "{refused}"
    );
    assert!(
        !refused.contains("--"),
        "no flags of a command line: {refused}"
    );
    // Nothing of what was wrong was sent.
    let calls = std::fs::read_to_string(shelf.path("calls")).unwrap();
    assert_eq!(calls.lines().count(), 3, "{calls}");
    assert_eq!(client.close(), (vec![], Some(0)));
    unmount(&shelf);
}

#[test]
fn a_client_of_the_newer_era_needs_no_handshake() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&[]);
    let mut client = TestClient::new(&shelf);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({ "_meta": meta }));
    let instructions = found["instructions"].as_str().unwrap();
    assert!(
        instructions.contains("- fake: 16 tools. Speak softly."),
        "{instructions}"
    );
    assert!(
        instructions.contains("- skills: 1 skill\n"),
        "{instructions}"
    );
    let listed = client.request("tools/list", json!({ "_meta": meta }));
    assert_eq!(listed["tools"].as_array().unwrap().len(), 2);
    let arguments = json!({ "id": "fake/echo", "arguments": { "text": "007" } });
    let params = json!({ "name": "call_tool", "arguments": arguments, "_meta": meta });
    let echoed = client.request("tools/call", params);
    assert_eq!(
        (&echoed["content"][0]["text"], &echoed["resultType"]),
        (&json!("007"), &json!("complete"))
    );
    client.close();
    unmount(&shelf);
}

#[test]
fn progress_and_cancellation_reach_the_other_end() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&["--calls", "calls"]);
    let mut client = TestClient::initialized(&shelf);
    let slow = |token: Option<&str>| {
        let arguments = json!({ "id": "fake/sleep", "arguments": { "seconds": 600 } });
        json!({ "name": "call_tool", "arguments": arguments, "_meta": { "progressToken": token } })
    };
    let cancelled = client.begin("tools/call", slow(Some("first")));
    for step in 0..3 {
        let progress = client.receive();
        assert_eq!(progress["method"], "notifications/progress", "{progress}");
        let params = json!({ "progressToken": "first", "progress": f64::from(step), "total": 3.0, "message": format!("step {step}") });
        assert_eq!(progress["params"], params);
    }
    // Another one is answered while it runs.
    assert_eq!(
        client.text("call_tool", json!({ "id": "fake/cancelled" }), false),
        "0"
    );
    let params = json!({ "requestId": cancelled, "reason": "enough" });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    wait_until("the server was told", || {
        client.text("call_tool", json!({ "id": "fake/cancelled" }), false) == "1"
    });

    // The end of the input cancels, too, and ends at once although ten minutes are left.
    client.begin("tools/call", slow(None));
    wait_until("the second call runs", || {
        let calls = std::fs::read_to_string(shelf.path("calls")).unwrap();
        calls.matches("sleep").count() == 2
    });
    assert_eq!(client.close(), (vec![], Some(0)));
    let mut other = TestClient::initialized(&shelf);
    wait_until("the server was told again", || {
        other.text("call_tool", json!({ "id": "fake/cancelled" }), false) == "2"
    });
    other.close();
    unmount(&shelf);
}

#[test]
fn a_daemon_that_ended_is_started_again() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&["--starts", "starts"]);
    let mut client = TestClient::initialized(&shelf);
    let echo = json!({ "id": "fake/echo", "arguments": { "text": "x" } });
    assert_eq!(client.text("call_tool", echo.clone(), false), "x");
    let daemon = || {
        let running = shelf.running().into_iter();
        running
            .filter(|(_, line)| line.contains("__daemon"))
            .map(|(pid, _)| pid)
            .collect::<Vec<_>>()
    };
    let first = daemon();
    assert_eq!(first.len(), 1);
    signal(first[0], Signal::KILL);
    wait_until("it has ended", || daemon().is_empty());
    assert_eq!(client.text("call_tool", echo, false), "x");
    assert_ne!(daemon(), first);
    client.close();
    unmount(&shelf);
}

#[test]
fn each_conversation_is_a_session_unless_it_is_named() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&[]);
    let pid = || json!({ "id": "fake/pid" });
    let mut pids = Vec::new();
    for _ in 0..2 {
        let mut client = TestClient::initialized(&shelf);
        client.text("call_tool", pid(), false);
        pids.push(client.process.id());
        client.close();
    }
    let mut command = shelf.command(SHELF);
    command
        .args(["serve", "--config", "mcp.json"])
        .env("SHELF_SESSION", "mine");
    let mut named = TestClient::of(command);
    named.request("initialize", json!({ "protocolVersion": "2025-06-18" }));
    named.text("call_tool", pid(), false);
    named.close();
    let sessions = wait_for("three calls in the log", || {
        let log = shelf.log(&[]).into_iter();
        let calls = log.filter(|line| line["event"] == "call");
        let sessions: Vec<_> = calls
            .map(|line| line["session"].as_str().unwrap().to_owned())
            .collect();
        (sessions.len() == 3).then_some(sessions)
    });
    assert_eq!(sessions[2], "mine");
    for (session, pid) in sessions.iter().zip(pids) {
        assert!(session.starts_with(&format!("serve-{pid}@")), "{session}");
    }
    unmount(&shelf);
}

#[test]
fn skills_are_served_without_a_configuration() {
    let shelf = Shelf::new();
    let text = "---\nname: mine\ndescription: My own.\n---\n";
    shelf.write("home/.agents/skills/mine/SKILL.md", text);
    let mut command = shelf.command(SHELF);
    command.arg("serve");
    let mut client = TestClient::of(command);
    let opened = client.request("initialize", json!({ "protocolVersion": "2025-11-25" }));
    assert!(
        opened["instructions"]
            .as_str()
            .unwrap()
            .ends_with("- skills: 1 skill\n")
    );
    assert_eq!(
        client.text("call_tool", json!({ "id": "skills/mine" }), false),
        text
    );
    client.close();
    for (daemon, _) in shelf.running() {
        signal(daemon, Signal::TERM);
    }
    shelf.wait_until_nothing_is_left();
}

#[test]
fn what_cannot_start_says_why_and_speaks_no_protocol() {
    let shelf = Shelf::new();
    shelf.write("broken.json", "{");
    let said = shelf.run(&["serve", "--config", "broken.json"]).fails(2);
    assert!(said.contains("broken.json"), "{said}");
}

#[test]
fn a_published_server_is_reached_through_it() {
    let Some(programs) = real_servers() else {
        return;
    };
    let shelf = Shelf::new();
    let program = programs.join("mcp-server-everything");
    shelf.servers(json!({ "real": { "command": program, "args": ["stdio"] } }));
    let mut client = TestClient::initialized(&shelf);
    let found = client.text("search_tools", json!({ "query": "real/echo" }), false);
    assert!(
        found.contains("inputSchema: {") && found.contains("message"),
        "{found}"
    );
    let image = client.tool("call_tool", json!({ "id": "real/get-tiny-image" }));
    let blocks = image["content"].as_array().unwrap();
    let picture = blocks
        .iter()
        .find(|block| block["type"] == "image")
        .unwrap();
    assert_eq!(picture["mimeType"], "image/png");
    assert!(picture["data"].as_str().unwrap().starts_with("iVBOR"));
    let arguments =
        json!({ "id": "real/get-structured-content", "arguments": { "location": "Chicago" } });
    let structured = client.tool("call_tool", arguments);
    assert!(
        structured["structuredContent"]["temperature"].is_number(),
        "{structured}"
    );
    client.close();
    unmount(&shelf);
}
