//! The policy: what is refused, what waits for an approval, and what is not on the shelf.

use std::fs;

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, lacks_program, workspace};
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

/// A place with a fake server, mounted with a policy.
fn shelf(policy: Value) -> Shelf {
    let shelf = Shelf::new();
    shelf.write(
        "fields.json",
        json!({ "echo": { "annotations": { "readOnlyHint": true } } }).to_string(),
    );
    configure(&shelf, policy);
    shelf.mount();
    shelf
}

/// Writes the configuration, in place of what was there.
#[allow(clippy::needless_pass_by_value, reason = "it is written in place")]
fn configure(shelf: &Shelf, policy: Value) {
    let fake = shelf.fake(&["--calls", "calls", "--merge", "fields.json"]);
    let config = json!({ "mcpServers": { "fake": fake }, "policy": policy });
    let written = shelf.write("mcp.json.new", config.to_string());
    fs::rename(written, shelf.path("mcp.json")).unwrap();
}

/// The names of the tools that the server was called with.
fn calls(shelf: &Shelf) -> Vec<String> {
    let text = fs::read_to_string(shelf.path("calls")).unwrap_or_default();
    let calls = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    calls
        .map(|call| call[0].as_str().unwrap().to_owned())
        .collect()
}

/// The id under which a refused call waits.
#[track_caller]
fn waiting(finished: Finished) -> String {
    let said = finished.fails(5);
    let (_, after) = said.split_once("waits for approval ").expect(&said);
    let id = after.split_once(',').unwrap().0.to_owned();
    assert!(said.contains(&format!("shelf approve {id}")), "{said}");
    id
}

/// Runs `shelf call` on a terminal: types `before` at once, and `answer` when it is asked.
fn on_terminal(shelf: &Shelf, before: &str, answer: &str, words: &[&str]) -> Finished {
    let program = workspace().join("tests/servers/terminal.py");
    let mut command = shelf.command("python3");
    command
        .arg(program)
        .args([before, "[N]o: ", answer, SHELF, "call"]);
    Finished::of(command.args(words))
}

#[test]
fn what_is_denied_never_gets_to_its_server() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf(json!({ "deny": ["fake/ad?", "destructive"] }));
    let said = shelf
        .run(&["call", "fake/add", "--a", "1", "--b", "2"])
        .fails(5);
    let place = shelf.path("mcp.json");
    let rule = format!(
        "fake/add: refused by deny \"fake/ad?\" ({}:1)",
        place.display()
    );
    assert!(said.contains(&rule), "{said}");
    shelf.run(&["call", "fake/pid"]).fails(5);
    assert_eq!(shelf.call(&["fake/echo", "--text", "x"]), "x");
    assert_eq!(calls(&shelf), ["echo"]);
    let refused = shelf.wait_for_line("the refusal is logged", |line| line["entry"] == "fake/add");
    assert_eq!(
        (&refused["ok"], &refused["kind"]),
        (&json!(false), &json!("refused"))
    );
    let status = shelf.run(&["status"]).succeeds();
    assert!(status.contains("policy: advisory"), "{status}");

    // A change is in force without remounting.
    configure(&shelf, json!({ "allow": ["fake/pid"] }));
    wait_until("the new policy is in force", || {
        shelf.run(&["call", "fake/pid"]).code == 0
    });
    let said = shelf.run(&["call", "fake/echo", "--text", "x"]).fails(5);
    assert!(said.contains("there is a list allow"), "{said}");
    configure(&shelf, Value::Null);
    wait_until("there is none", || {
        shelf.run(&["status"]).succeeds().contains("policy: none")
    });
    shelf.call(&["fake/echo", "--text", "x"]);
}

#[test]
fn without_a_terminal_a_call_waits_for_an_approval_that_is_for_it_alone_and_once() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf(json!({ "ask": ["fake/echo"] }));
    let call = ["call", "fake/echo", "--text", "one\u{202e}"];
    let id = waiting(shelf.run(&call));
    assert_eq!(waiting(shelf.run(&call)), id);
    let other = waiting(shelf.run(&["call", "fake/echo", "--text", "two"]));
    let listed = shelf.run(&["approvals"]).succeeds();
    assert!(listed.contains(&id) && listed.contains(&other), "{listed}");
    assert!(listed.contains(r#"text: "one\u{202e}""#), "{listed}");
    let json: Value =
        serde_json::from_str(&shelf.run(&["approvals", "--json"]).succeeds()).unwrap();
    assert_eq!(json["waiting"].as_array().unwrap().len(), 2);

    shelf.run(&["approve", &id]).succeeds();
    waiting(shelf.run(&["call", "fake/echo", "--text", "two"]));
    assert_eq!(shelf.run(&call).succeeds(), "one\u{202e}");
    assert_ne!(waiting(shelf.run(&call)), id);
    shelf.run(&["approve", &id]).fails(3);
    shelf.run(&["deny", &other]).succeeds();
    let said = shelf.run(&["call", "fake/echo", "--text", "two"]).fails(5);
    assert!(said.contains("was denied"), "{said}");
    assert_eq!(calls(&shelf), ["echo"]);
    let approved = shelf.wait_for_line("it is logged", |line| line["event"] == "approve");
    assert_eq!(
        (&approved["entry"], &approved["kind"]),
        (&json!("fake/echo"), &json!("once"))
    );
    shelf.wait_for_line("the denial, too", |line| line["event"] == "deny");
}

#[test]
fn what_is_approved_for_good_outlives_the_daemon_until_the_definition_changes() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf(json!({ "ask": ["fake/echo"] }));
    let call = |text: &str| shelf.run(&["call", "fake/echo", "--text", text]);
    let id = waiting(call("one"));
    shelf.run(&["approve", "--always", &id]).succeeds();
    call("one").succeeds();
    call("two").succeeds();
    shelf.unmount();
    shelf.mount();
    call("three").succeeds();

    shelf.write(
        "fields.json",
        r#"{"echo": {"description": "Says it, and more."}}"#,
    );
    shelf.call(&["fake/change"]);
    shelf.wait_for_text("mcp/fake/echo.md", |text| text.contains("and more"));
    let id = waiting(call("four"));
    shelf.run(&["approve", "--always", &id]).succeeds();
    call("four").succeeds();
    shelf.run(&["deny", &id]).succeeds();
    waiting(call("four"));
}

#[test]
fn what_is_hidden_is_nowhere_and_comes_back_with_the_configuration() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("draft-one", "Says nothing yet.");
    shelf.write("fields.json", "{}");
    configure(&shelf, json!({ "hide": ["fake/echo", "skills/draft-*"] }));
    shelf.mount();
    let everything =
        || shelf.shell("find mount; cat mount/*.md mount/mcp/fake/* mount/skills/INDEX.md");
    let hidden = |text: &str| {
        !text.contains("fake/echo") && !text.contains("echo.md") && !text.contains("draft-one")
    };
    let shown = everything().succeeds();
    assert!(hidden(&shown), "{shown}");
    for command in [
        &["list"][..],
        &["search", "--limit", "50", "says again nothing"],
    ] {
        let listed = shelf.run(command).stdout;
        assert!(hidden(&listed), "{listed}");
    }
    shelf.run(&["show", "fake/echo"]).fails(3);
    shelf.run(&["call", "fake/echo", "--text", "x"]).fails(3);
    let status = shelf.status();
    assert_eq!(
        (&status["tools"], &status["servers"][0]["tools"]),
        (&json!(15), &json!(15))
    );
    assert_eq!(status["skill_entries"], 0);
    shelf.unmount();
    let offline = shelf.run(&["list", "--config", "mcp.json"]).succeeds();
    assert!(
        hidden(&offline) && offline.contains("fake/add"),
        "{offline}"
    );

    shelf.mount();
    configure(&shelf, json!({}));
    shelf.wait_for_text("ALL.md", |text| text.contains("fake/echo"));
    assert_eq!(shelf.call(&["fake/echo", "--text", "x"]), "x");
    configure(&shelf, json!({ "hide": ["*/ech*"] }));
    wait_until("it is gone", || !shelf.mounted("mcp/fake/echo.md").exists());
    assert!(!shelf.read("ALL.md").contains("fake/echo"));
}

#[test]
fn a_policy_that_cannot_be_read_refuses_every_call() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf(json!({ "deny": ["fake/["] }));
    let said = shelf.run(&["call", "fake/pid"]).fails(5);
    assert!(
        said.contains("can't be read") && said.contains("mcp.json:1"),
        "{said}"
    );
    let problems = shelf.status()["problems"].to_string();
    assert!(problems.contains("is no glob"), "{problems}");
    // What names nothing that there is would let pass what it was meant for.
    configure(
        &shelf,
        json!({ "deny": ["fkae/*", "fake/pit", "*/nobody"], "ask": ["fake/echo"] }),
    );
    let said = |what: &str| shelf.status()["problems"].to_string().contains(what);
    wait_until("it is said", || said(r#"deny \"fkae/*\" names no server"#));
    assert!(said(r#"deny \"fake/pit\" names no tool"#));
    assert!(!said("nobody") && !said("fake/echo"));
    configure(&shelf, json!({ "deny": [] }));
    wait_until("it was mended", || {
        shelf.run(&["call", "fake/pid"]).code == 0
    });
    assert_eq!(calls(&shelf), ["pid"]);
}

#[test]
fn on_a_terminal_it_is_asked_and_all_but_a_yes_is_a_no() {
    if lacks_mount() || lacks_program("python3") {
        return;
    }
    let shelf = shelf(json!({ "ask": ["destructive"] }));
    let words = ["fake/add", "--a", "1", "--b", "2"];
    let asked = |before: &str, answer: &str| on_terminal(&shelf, before, answer, &words);
    for (before, no, code) in [
        ("", "n\n", 5),
        ("", "\n", 5),
        ("", "\u{4}", 5),
        ("", "\u{3}", 130),
        // Typed before the question stood there.
        ("y\n", "n\n", 5),
    ] {
        let finished = asked(before, no);
        assert_eq!(finished.code, code, "{no:?} {}", finished.stdout);
        assert!(
            finished.stdout.contains("tool add of server fake"),
            "{}",
            finished.stdout
        );
        assert!(finished.stdout.contains("a: 1"), "{}", finished.stdout);
    }
    assert_ne!(asked("", "hang-up").code, 0);
    assert_eq!(calls(&shelf), [""; 0]);

    let finished = asked("", "y\n");
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    assert!(finished.stdout.ends_with('3'), "{}", finished.stdout);
    assert_eq!(calls(&shelf), ["add"]);
    // That was once; without a terminal nobody is asked.
    waiting(shelf.run(&[&["call"], &words[..]].concat()));
    assert_eq!(asked("", "always\n").code, 0);
    shelf.call(&words);
    assert_eq!(calls(&shelf).len(), 3);
}

#[test]
fn the_end_of_the_daemon_is_no_approval() {
    if lacks_mount() || lacks_program("python3") {
        return;
    }
    let shelf = shelf(json!({ "ask": ["*"] }));
    let program = workspace().join("tests/servers/terminal.py");
    let mut command = shelf.command("python3");
    // Nothing is typed: the prompt that is waited for never comes.
    command
        .arg(program)
        .args(["", "no such prompt", "", SHELF, "call", "fake/pid"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let is_asked = || {
        shelf
            .running()
            .iter()
            .any(|(_, line)| line.contains("call fake/pid") && !line.contains("python3"))
    };
    wait_until("the call runs", is_asked);
    shelf.run(&["unmount", "mount"]).succeeds();
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_ne!(finished.code, 0, "{}", finished.stdout);
    assert_eq!(calls(&shelf), [""; 0]);
}
