//! What is no form of the call that was made: roots, sampling, web pages, tasks, and questions of which it is not known whose they are.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Asking, WAYS, person, replies};
use crate::support::needs::lacks_program;
use crate::support::processes::signal;
use crate::support::{SHELF, wait_for, wait_until};

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
fn a_call_that_was_given_up_may_be_the_one_that_asks_until_it_is_answered() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let slow = ["--timeout", "1s", "asking/slow", "--seconds", "6"];
    let words: Vec<&str> = ["call", "--config", "mcp.json"]
        .into_iter()
        .chain(slow)
        .collect();
    asking.shelf.run(&words).fails(124);
    let form = json!({ "ask": [person()] });
    let answered = || {
        let finished = asking.ask(&["--answer", "name=x"], &form);
        let action = replies(&finished.stdout)[0]["action"].clone();
        (action, finished.stderr)
    };
    let (action, stderr) = answered();
    assert_eq!(action, "cancel", "{stderr}");
    assert!(stderr.contains("one that was given up"), "{stderr}");
    assert!(!stderr.contains("Who are you?"), "{stderr}");
    // Its server replies at last.
    wait_until("nobody else can ask", || answered().0 == "accept");
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
