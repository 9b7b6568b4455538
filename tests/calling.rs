//! Calls: what is sent, what is never sent, and what each end of a call looks like.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::support::needs::lacks_mount;
use crate::support::processes::signal;
use crate::support::shelf::Shelf;
use crate::support::{SHELF, wait_until};

/// A mounted shelf with a fake server that writes down what it is called with.
fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &["--calls", "calls", "--starts", "starts"]);
    shelf.mount();
    shelf
}

/// What the server was called with, a line a call.
fn calls(shelf: &Shelf) -> Vec<String> {
    let text = fs::read_to_string(shelf.path("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn arguments_arrive_by_the_types_of_the_schema() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    assert_eq!(shelf.call(&["fake/echo", "--text", "00123"]), "00123");
    assert_eq!(shelf.call(&["fake/echo", "--text=1e3"]), "1e3");
    assert_eq!(shelf.call(&["fake/add", "--a", "2", "--b", "0.5"]), "2.5");
    let sent = [
        r#"["echo", {"text": "00123"}]"#,
        r#"["echo", {"text": "1e3"}]"#,
        r#"["add", {"a": 2, "b": 0.5}]"#,
    ];
    assert_eq!(calls(&shelf), sent);
}

#[test]
fn arguments_are_taken_from_a_text_a_file_and_standard_input() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let file = shelf.write("arguments.json", r#"{ "text": "from a file" }"#);
    let file = format!("@{}", file.display());
    let text = r#"{"text": "from the line"}"#;
    assert_eq!(shelf.call(&["--args", text, "fake/echo"]), "from the line");
    assert_eq!(shelf.call(&["--args", &file, "fake/echo"]), "from a file");
    let input = br#"{"text": "from the input"}"#;
    let piped = shelf.run_with_input(&["call", "--args", "-", "fake/echo"], input);
    assert_eq!(piped.succeeds(), "from the input");
    let twice = shelf.run(&["call", "--args", text, "fake/echo", "--text", "x"]);
    assert!(twice.fails(2).contains("given twice"));
    assert_eq!(calls(&shelf).len(), 3);
}

#[test]
fn what_does_not_fit_the_schema_is_refused_with_the_right_names_and_not_sent() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let refused = |words: &[&str], code| shelf.run(&[&["call"], words].concat()).fails(code);

    let unknown = refused(&["fake/echo", "--txet", "x"], 2);
    assert!(
        unknown.contains("--txet") && unknown.contains("--text"),
        "{unknown}"
    );
    let missing = refused(&["fake/add", "--a", "1"], 2);
    assert!(
        missing.contains('b') && missing.contains("shelf call fake/add"),
        "{missing}"
    );
    let wrong = refused(&["fake/add", "--a", "1", "--b", "two"], 2);
    assert!(wrong.contains("two") && wrong.contains("number"), "{wrong}");
    let wrong = refused(&["--args", r#"{"a": 1, "b": "2"}"#, "fake/add"], 2);
    assert!(wrong.contains("number"), "{wrong}");
    refused(&["--args", "{", "fake/add"], 2);
    refused(&["--args", "[1]", "fake/add"], 2);

    let ours = refused(&["fake/echo", "--text", "x", "--timeout", "3s"], 2);
    assert!(ours.contains("before"), "{ours}");
    let name = refused(&["fake/ecko", "--text", "x"], 3);
    assert!(name.contains("fake/echo"), "{name}");
    let server = refused(&["fkae/echo", "--text", "x"], 3);
    assert!(server.contains("fake"), "{server}");
    assert_eq!(calls(&shelf), [""; 0]);
}

#[test]
fn what_cannot_be_checked_here_is_for_the_server_to_judge() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("-fake", &["--odd-schemas"]);
    shelf.mount();
    let problems = shelf.status()["problems"].to_string();
    for tool in ["remote", "bogus", "deep"] {
        let id = format!("%2Dfake/{tool}");
        let called = shelf.run(&["call", &id, "--text", "007"]);
        assert!(called.stderr.contains("not checked"), "{}", called.stderr);
        assert_eq!(called.succeeds(), r#"{"text": "007"}"#);
        shelf.run(&["call", &id, "--txet", "x"]).fails(2);
        assert!(problems.contains(tool), "{problems}");
    }
    let checked = shelf.run(&["call", "%2Dfake/echo", "--text", "x"]);
    assert_eq!((checked.code, &*checked.stderr), (0, ""));
}

#[test]
fn help_after_the_id_is_the_definition_and_no_call() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let help = shelf.call(&["fake/echo", "--help"]);
    assert_eq!(help, shelf.read("mcp/fake/echo.md"));
    assert_eq!(calls(&shelf), [""; 0]);
}

#[test]
fn the_error_of_a_tool_leaves_standard_output_empty() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let said = shelf.run(&["call", "fake/fail"]).fails(1);
    assert_eq!(said, "it did not work\n");
    let whole = shelf.run(&["call", "--json", "fake/fail"]);
    assert_eq!(whole.code, 1);
    assert!(
        whole.stdout.contains(r#""isError": true"#) || whole.stdout.contains(r#""isError":true"#)
    );
    let refused = shelf.run(&["call", "fake/refuse"]);
    assert!(refused.code != 0 && refused.stdout.is_empty());
    assert!(refused.stderr.contains("I will not"), "{}", refused.stderr);
}

#[test]
fn data_is_structured_or_it_is_another_kind() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    assert_eq!(
        shelf.call(&["--data", "fake/add", "--a", "1", "--b", "2"]),
        "{\"sum\":3}\n"
    );
    assert_eq!(
        shelf.call(&["--data", "fake/echo", "--text", "[1.0]"]),
        "[1.0]\n"
    );
    shelf
        .run(&["call", "--data", "fake/echo", "--text", "words"])
        .fails(65);
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_at_the_server() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    // Started before: the time that is given includes a start.
    shelf.call(&["fake/pid"]);
    let late = [
        "call",
        "--timeout",
        "300ms",
        "fake/sleep",
        "--seconds",
        "600",
    ];
    let said = shelf.run(&late).fails(124);
    assert!(said.contains("300"), "{said}");
    wait_until("the server knows", || {
        calls(&shelf).last().is_some_and(|line| line == "cancelled")
    });
    assert_eq!(shelf.call(&["fake/cancelled"]), "1");
    assert_eq!(
        shelf.starts("starts"),
        2,
        "listed once, then the same process"
    );
}

#[test]
fn an_interrupted_call_is_cancelled_at_the_server() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mut command = shelf.command(SHELF);
    command.args(["call", "fake/sleep", "--seconds", "600"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the server is called", || calls(&shelf).len() == 1);
    signal(child.id().cast_signed(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(130), &b""[..])
    );
    assert_eq!(shelf.call(&["fake/cancelled"]), "1");
}

#[test]
fn a_caller_that_is_killed_has_cancelled() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mut command = shelf.command(SHELF);
    let mut child = command
        .args(["call", "fake/sleep", "--seconds", "600"])
        .spawn()
        .unwrap();
    wait_until("the server is called", || calls(&shelf).len() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the server knows", || {
        calls(&shelf).last().is_some_and(|line| line == "cancelled")
    });
}

#[test]
fn a_server_that_breaks_off_is_said_with_its_last_words_and_never_asked_twice() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let said = shelf
        .run(&["call", "fake/crash", "--text", "out of coffee"])
        .fails(4);
    assert!(said.contains("out of coffee"), "{said}");
    assert_eq!(calls(&shelf), [r#"["crash", {"text": "out of coffee"}]"#]);
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.contains("out of coffee"));
    // The next one is a new process, and nothing of the index has changed meanwhile.
    assert_eq!(shelf.call(&["fake/echo", "--text", "again"]), "again");
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("ready"));
}

#[test]
fn a_server_that_cannot_be_started_is_said_with_its_last_words() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.servers(json!({ "fake": shelf.fake(&["--exit-at-once", "TOKEN is not set"]) }));
    shelf.wait_for_text("mcp/fake/STATUS", |status| {
        status.contains("TOKEN is not set")
    });
    let said = shelf.run(&["call", "fake/echo", "--text", "x"]).fails(4);
    assert!(said.contains("TOKEN is not set"), "{said}");
}

#[test]
fn a_large_result_arrives_whole() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let bytes = 9 * 1024 * 1024;
    let result = shelf.call(&["fake/big", "--bytes", &bytes.to_string()]);
    assert_eq!(result.len(), bytes);
    assert!(result.bytes().all(|byte| byte == b'x'));
    let files = shelf
        .shell("find runtime cache state -name '*payload*' -o -size +8M")
        .succeeds();
    assert_eq!(files, "", "the file that it came in is gone");
}

#[test]
fn a_reader_that_has_had_enough_ends_it_quietly() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let first = shelf.shell("set -o pipefail; shelf call fake/big --bytes 3000000 | head -c 5");
    assert_eq!((&*first.stdout, &*first.stderr), ("xxxxx", ""));
    let list = shelf.shell("shelf list | head -1");
    assert_eq!((list.stdout.lines().count(), &*list.stderr), (1, ""));
}

#[test]
fn concurrent_calls_share_one_process() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let started = shelf.starts("starts");
    let script = "for i in 1 2 3 4 5 6 7 8; do shelf call fake/pid & done; wait";
    let pids = shelf
        .shell(&script.replace("fake/pid &", "fake/pid >pid.$i &"))
        .succeeds();
    assert_eq!(pids, "");
    let pids = shelf
        .shell("for i in 1 2 3 4 5 6 7 8; do cat pid.$i; echo; done | sort -u")
        .succeeds();
    assert_eq!(pids.trim().lines().count(), 1, "{pids}");
    assert_eq!(shelf.starts("starts"), started + 1);
    assert_eq!(calls(&shelf).len(), 8);
}

#[test]
fn a_slow_call_does_not_hold_up_another() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mut command = shelf.command(SHELF);
    let mut slow = command
        .args(["call", "fake/sleep", "--seconds", "600"])
        .spawn()
        .unwrap();
    wait_until("the server is called", || calls(&shelf).len() == 1);
    assert_eq!(
        shelf.call(&["fake/echo", "--text", "meanwhile"]),
        "meanwhile"
    );
    signal(slow.id().cast_signed(), Signal::INT);
    assert_eq!(slow.wait().unwrap().code(), Some(130));
}

#[test]
fn a_server_that_is_idle_is_stopped_and_started_again_by_the_next_call() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    let mut fake = shelf.fake(&["--starts", "starts"]);
    fake["idle"] = json!("100ms");
    shelf.servers(json!({ "fake": fake }));
    shelf.mount();
    let first = shelf.call(&["fake/pid"]);
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("cold"));
    wait_until("only the daemon runs", || shelf.running().len() == 1);
    let second = shelf.call(&["fake/pid"]);
    assert_ne!(first, second);
    assert_eq!(shelf.starts("starts"), 3, "listed once, called twice");
}

#[test]
fn what_is_no_text_goes_where_it_is_told() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    // The fake server has none: nothing is made of nothing.
    let out = shelf.path("image.png");
    let refused = shelf.run(&[
        "call",
        "--out",
        out.to_str().unwrap(),
        "fake/echo",
        "--text",
        "x",
    ]);
    assert_eq!(refused.code, 65, "{}", refused.stderr);
    assert!(!out.exists());
}
