//! Arguments as users give them: by dots, from files, many at once; and the words that a shell completes.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::needs::lacks_mount;
use crate::support::processes::signal;
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

/// A mounted shelf with a server that answers with its arguments, beside the fake one.
fn shelf() -> Shelf {
    let shelf = Shelf::new();
    shelf.write("tools.json", tools().to_string());
    let program = crate::support::needs::workspace().join("tests/servers/echo.py");
    let echo = json!({ "command": "python3", "args": [program, shelf.path("tools.json")] });
    shelf.servers(json!({ "echo": echo, "fake": shelf.fake(&["--calls", "calls"]) }));
    shelf.mount();
    shelf
}

fn tools() -> Value {
    json!([{
        "name": "list_issues",
        "description": "Lists issues.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "state": {"enum": ["open", "closed", "on hold"]},
                "page": {"type": "integer", "default": 1},
                "body": {"type": "string"},
                "filter": {"type": "object", "properties": {"label": {"type": "string"}, "since": {"type": "integer"}}},
            },
            "required": ["state", "page"],
        },
    }])
}

/// What the server got.
fn got(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A call that works, with more words.
fn issues<'w>(more: &[&'w str]) -> Vec<&'w str> {
    [&["echo/list_issues", "--state", "open"], more].concat()
}

#[test]
fn dots_files_and_defaults_reach_the_server() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.write("body.md", "# Title\n\n007\n");

    let sent = shelf.call(&issues(&["--filter.label", "7", "--body", "@body.md"]));
    let expected =
        json!({"state": "open", "filter": {"label": "7"}, "body": "# Title\n\n007\n", "page": 1});
    assert_eq!(got(&sent), expected);
    let both = [
        &["--args", r#"{"filter": {"since": 2}, "page": 4}"#],
        &issues(&["--filter.label", "x"])[..],
    ]
    .concat();
    assert_eq!(
        got(&shelf.call(&both)),
        json!({"filter": {"since": 2, "label": "x"}, "page": 4, "state": "open"})
    );
    let piped = [&["call"], &issues(&["--body", "-"])[..]].concat();
    let piped = shelf.run_with_input(&piped, b"from the input").succeeds();
    assert_eq!(got(&piped)["body"], "from the input");

    // Silent by default, since the result says it; told on demand.
    let quiet = shelf.run(&[&["call"], &issues(&[])[..]].concat());
    assert_eq!((quiet.code, &*quiet.stderr), (0, ""));
    let told = shelf.run(&[&["call", "--verbose"], &issues(&[])[..]].concat());
    assert_eq!(
        told.stderr,
        "--page was left out: 1, its default, was sent\n"
    );
    let log = shelf.wait_for_line("the call is logged", |line| line["event"] == "call");
    assert!(log["arguments"].to_string().contains("page"), "{log}");

    let handle = shelf.run(&[&["call"], &issues(&["--body", "@alice"])[..]].concat());
    assert!(handle.fails(2).contains("written with @@"));
    let near = shelf.run(&[&["call"], &issues(&["--filter.lable", "x"])[..]].concat());
    assert!(near.fails(2).contains("did you mean --filter.label?"));
}

/// The lines of a result, each as JSON.
fn outcomes(text: &str) -> Vec<Value> {
    text.lines().map(got).collect()
}

#[test]
fn each_line_is_a_call_and_gives_a_line() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let lines = "{\"text\": \"a\"}\n\n{\"txet\": \"b\"}\nnonsense\n{\"text\": \"e\"}\n{}";
    shelf.write("lines.jsonl", lines);
    for parallel in ["1", "3"] {
        let each = ["call", "--each", "lines.jsonl", "--parallel", parallel];
        let ran = shelf.run(&[&each, &["fake/echo"][..]].concat());
        assert_eq!((ran.code, &*ran.stderr), (2, ""), "{}", ran.stdout);
        let outcomes = outcomes(&ran.stdout);
        let shown: Vec<_> = outcomes
            .iter()
            .map(|line| {
                (
                    line["line"].as_u64().unwrap(),
                    line["ok"].as_bool().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [(1, true), (3, false), (4, false), (5, true), (6, false)]
        );
        assert_eq!(outcomes[3]["result"]["content"][0]["text"], "e");
        assert_eq!(outcomes[1]["error"]["kind"], "arguments");
        assert!(
            outcomes[2]["error"]["message"]
                .as_str()
                .unwrap()
                .contains("JSON")
        );
    }
    // What a line says goes before the flags, which go for all lines.
    let words = [
        "call", "--each", "-", "--data", "fake/add", "--b", "10", "--a", "0",
    ];
    let ran = shelf.run_with_input(&words, b"{\"a\": 1}\n{\"a\": 2, \"b\": 20}\n");
    let sums = "{\"line\":1,\"ok\":true,\"result\":{\"sum\":11}}\n{\"line\":2,\"ok\":true,\"result\":{\"sum\":22}}\n";
    assert_eq!(ran.succeeds(), sums);
    let failed = shelf.run_with_input(&["call", "--each", "-", "fake/fail"], b"{}\n");
    assert_eq!(failed.code, 1);
    let outcome = &outcomes(&failed.stdout)[0];
    assert_eq!(outcome["error"]["message"], "it did not work");
    assert_eq!(outcome["result"]["isError"], true);
    shelf
        .run(&["call", "--each", "absent.jsonl", "fake/echo"])
        .fails(2);
    shelf
        .run(&["call", "--parallel", "2", "fake/echo"])
        .fails(2);
    shelf
        .run(&["call", "--each", "-", "--args", "-", "fake/echo"])
        .fails(2);
}

#[test]
fn lines_that_can_not_be_read_end_with_one_error() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    fs::create_dir(shelf.path("directory")).unwrap();
    let ran = shelf.run(&["call", "--each", "directory", "fake/echo"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let outcomes = outcomes(&ran.stdout);
    assert_eq!(outcomes.len(), 1, "{}", ran.stdout);
    assert_eq!(outcomes[0]["ok"], false);
}

#[test]
fn the_order_is_that_of_the_lines_however_many_run_beside_each_other() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let lines: String = (0..300)
        .map(|n| format!("{{\"text\": \"{n}\"}}\n"))
        .collect();
    let words = ["call", "--each", "-", "--parallel", "8", "fake/echo"];
    let ran = shelf.run_with_input(&words, lines.as_bytes()).succeeds();
    let texts: Vec<String> = outcomes(&ran)
        .iter()
        .map(|line| {
            line["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let expected: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    assert_eq!(texts, expected);
}

#[test]
fn an_interrupt_cancels_every_call_under_way_and_begins_no_other() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let lines = "{\"seconds\": 600}\n".repeat(5);
    shelf.write("lines.jsonl", lines);
    let mut command = shelf.command(SHELF);
    command.args([
        "call",
        "--each",
        "lines.jsonl",
        "--parallel",
        "2",
        "fake/sleep",
    ]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let calls = || fs::read_to_string(shelf.path("calls")).unwrap_or_default();
    wait_until("two calls are under way", || calls().lines().count() == 2);
    signal(child.id().cast_signed(), Signal::INT);
    let ended = Finished::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let kinds: Vec<Value> = outcomes(&ended.stdout)
        .into_iter()
        .map(|line| line["error"]["kind"].clone())
        .collect();
    assert_eq!(kinds, ["interrupted", "interrupted"]);
    assert_eq!(shelf.call(&["fake/cancelled"]), "2");
}

/// What bash offers for a line, one word a line. The last word is under the cursor.
fn completed(shelf: &Shelf, words: &[&str]) -> Vec<String> {
    let script = r#"
        source <(shelf completions bash)
        compopt() { :; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _shelf
        ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}" || true
    "#;
    let mut command = shelf.command("bash");
    command.args(["-c", script, "bash", "shelf"]).args(words);
    let text = Finished::of(&mut command).succeeds();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_ids_flags_and_values() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let check = |shelf: &Shelf, config: &[&str]| {
        let call = |more: &[&str]| completed(shelf, &[&["call"], config, more].concat());
        assert_eq!(call(&["echo/"]), ["echo/list_issues"]);
        assert_eq!(call(&["fake/ec"]), ["fake/echo"]);
        assert_eq!(call(&["nothing/"]), [""; 0]);
        let id = "echo/list_issues";
        assert_eq!(call(&[id, ""]), ["--state", "--page", "--body", "--filter"]);
        assert_eq!(
            call(&[id, "--filter."]),
            ["--filter.label", "--filter.since"]
        );
        assert_eq!(call(&[id, "--state", ""]), ["open", "closed", "'on hold'"]);
        // As bash cuts it: the flag, the mark and what is typed of the value are words of their own.
        assert_eq!(call(&[id, "--state", "=", "c"]), ["closed"]);
        assert_eq!(call(&[id, "--state", "=", ""]).len(), 3);
        assert_eq!(call(&[id, "--state", "="]).len(), 3);
    };
    check(&shelf, &[]);
    assert_eq!(completed(&shelf, &["unm"]), ["unmount"]);
    assert_eq!(
        completed(&shelf, &["list", "--kind", ""]),
        ["tool", "skill"]
    );
    assert_eq!(
        completed(&shelf, &["list", "--server", ""]),
        ["echo", "fake"]
    );
    shelf.skill("pdf", "Reads papers.");
    wait_until("the skill is known", || {
        completed(&shelf, &["show", "skills/"]) == ["skills/pdf"]
    });
    let log = shelf.log(&[]);
    assert!(log.iter().all(|line| line["event"] != "show"), "{log:?}");
    // The same without a daemon, from the cache, and none is started for it.
    shelf.unmount();
    check(&shelf, &["--config", "mcp.json"]);
    assert_eq!(shelf.running(), []);
}

#[test]
fn the_scripts_are_right_in_the_eyes_of_their_shells() {
    let shelf = Shelf::new();
    for (name, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = shelf.run(&["completions", name]).succeeds();
        let file = shelf.write(&format!("script.{name}"), script);
        let has_shell = shelf.shell(&format!("command -v {name}")).code == 0;
        if has_shell {
            Finished::of(shelf.command(name).arg(check).arg(file)).succeeds();
        }
    }
}
