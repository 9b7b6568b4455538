//! The access log: who opened, showed and called what.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::needs::lacks_mount;
use crate::support::processes::signal;
use crate::support::shelf::Shelf;
use crate::support::{SHELF, wait_until};

fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &["--tools", "20"]);
    shelf.skill("one", "A skill.");
    shelf.mount();
    shelf
}

fn opens(shelf: &Shelf, path: &str) -> Vec<Value> {
    let lines = shelf.log(&[]).into_iter();
    lines
        .filter(|line| line["event"] == "open" && line["path"] == path)
        .collect()
}

#[test]
fn an_open_is_one_line_with_the_process_and_its_session() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let path = "mcp/fake/echo.md";
    // Opened by a thread that is not the first one of its process.
    let script = "import os, threading\n\
        thread = threading.Thread(target=lambda: open('mount/mcp/fake/echo.md').read())\n\
        thread.start(); thread.join(); print(os.getpid())";
    let mut python = shelf.command("python3");
    python
        .args(["-c", script])
        .env("SHELF_SESSION", "my session");
    let pid = String::from_utf8(python.output().unwrap().stdout).unwrap();
    wait_until("the line is written", || opens(&shelf, path).len() == 1);
    let line = opens(&shelf, path).remove(0);
    assert_eq!(line["pid"], json!(pid.trim().parse::<u32>().unwrap()));
    assert_eq!(line["uid"], json!(rustix::process::geteuid().as_raw()));
    assert!(
        line["command"].as_str().unwrap().starts_with("python"),
        "{line}"
    );
    assert_eq!(line["session"], "my session");
    assert_eq!(line["entry"], "fake/echo");
    assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");

    // Without a name of its own a session is that of the terminal, and each open is a line.
    shelf
        .shell("cat mount/mcp/fake/echo.md mount/mcp/fake/echo.md >/dev/null")
        .succeeds();
    wait_until("two more lines", || opens(&shelf, path).len() == 3);
    let other = &opens(&shelf, path)[1];
    assert_eq!(other["command"], "cat");
    assert!(!other["session"].as_str().unwrap().is_empty() && other["session"] != "my session");
    assert_eq!(shelf.log(&["--session", "my session"]).len(), 1);
    assert_eq!(shelf.log(&["--entry", "fake/echo"]).len(), 3);
    assert_eq!(shelf.log(&["--entry", "./mount/mcp/fake/echo.md"]).len(), 3);
    assert_eq!(shelf.log(&["--since", "2099-01-01"]).len(), 0);
}

#[test]
fn a_call_is_logged_without_its_values() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mut command = shelf.command(SHELF);
    command
        .args(["call", "fake/echo", "--text", "a secret word"])
        .env("SHELF_SESSION", "s1");
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"a secret word");
    let line = shelf.wait_for_line("the call", |line| line["event"] == "call");
    assert_eq!(line["entry"], "fake/echo");
    assert_eq!(line["arguments"], json!(["text"]));
    assert_eq!(line["ok"], true);
    assert_eq!(line["session"], "s1");
    assert_eq!(line["pid"], pid);
    assert!(line["duration_ms"].is_u64() && line["result_bytes"].as_u64().unwrap() > 10);
    shelf.run(&["call", "fake/fail"]).fails(1);
    let failed = shelf.wait_for_line("the failure", |line| line["entry"] == "fake/fail");
    assert_eq!(failed["ok"], false);
    shelf.run(&["show", "skills/one"]).succeeds();
    shelf.wait_for_line("what was shown", |line| {
        line["event"] == "show" && line["entry"] == "skills/one"
    });
    let everything = shelf.shell("cat state/toolshelf/log/*").succeeds();
    assert!(
        everything.contains("fake/echo") && !everything.contains("secret"),
        "{everything}"
    );
}

#[test]
fn what_has_just_happened_is_in_the_log() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    for number in 1..=10 {
        shelf.call(&["fake/echo", "--text", "x"]);
        assert_eq!(shelf.log(&["--event", "call"]).len(), number);
    }
}

#[test]
fn a_sweep_is_marked_and_can_be_left_out() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf
        .shell("exec setsid -w cat mount/mcp/fake/add.md")
        .succeeds();
    shelf.shell("exec setsid -w grep -r nothing mount/mcp");
    wait_until("the sweep is logged", || shelf.log(&[]).len() > 20);
    let all = shelf.shell("shelf log").succeeds();
    assert!(all.contains("(scan)"), "{all}");
    wait_until("the sweep is known as one", || {
        let lines = shelf.log(&["--no-scans"]);
        lines.len() == 1 && lines[0]["path"] == "mcp/fake/add.md"
    });
}

#[test]
fn it_can_be_followed() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mut command = shelf.command(SHELF);
    let mut follower = command
        .args(["log", "-f"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for word in ["first", "second"] {
        shelf.run(&["call", "fake/echo", "--text", word]).succeeds();
        let line = lines.next().unwrap().unwrap();
        assert!(
            line.contains("call") && line.contains("fake/echo"),
            "{line}"
        );
    }
    signal(follower.id().cast_signed(), Signal::INT);
    follower.wait().unwrap();
}

#[test]
fn nothing_is_lost_when_the_daemon_is_told_to_end() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let daemon = shelf.daemon();
    shelf
        .shell("for i in {1..300}; do read -r line < mount/INDEX.md; done")
        .succeeds();
    signal(daemon, Signal::TERM);
    shelf.wait_until_nothing_is_left();
    assert_eq!(opens(&shelf, "INDEX.md").len(), 300);
}

#[test]
fn a_killed_daemon_loses_at_most_its_last_second() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let daemon = shelf.daemon();
    shelf
        .shell("for i in {1..100}; do read -r line < mount/INDEX.md; done")
        .succeeds();
    // The second that is promised is what is tested, so this one wait is for a time.
    std::thread::sleep(Duration::from_millis(1_100));
    signal(daemon, Signal::KILL);
    wait_until("it is dead", || shelf.running().is_empty());
    assert_eq!(opens(&shelf, "INDEX.md").len(), 100);
    // The next daemon goes on, and reading merges both.
    shelf.mount();
    fs::read(shelf.mounted("ALL.md")).unwrap();
    wait_until("both are read", || opens(&shelf, "ALL.md").len() == 1);
    assert_eq!(opens(&shelf, "INDEX.md").len(), 100);
}

#[test]
fn a_file_that_is_kept_open_is_one_open() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mut file = fs::File::open(shelf.mounted("README.md")).unwrap();
    let mut bytes = [0; 10];
    while file.read(&mut bytes).unwrap() > 0 {}
    drop(file);
    fs::metadata(shelf.mounted("README.md")).unwrap();
    fs::read(shelf.mounted("ALL.md")).unwrap();
    wait_until("a later open is logged", || {
        opens(&shelf, "ALL.md").len() == 1
    });
    assert_eq!(opens(&shelf, "README.md").len(), 1);
}

#[test]
fn what_is_refused_leaves_one_line_too() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    let broken = shelf.fake(&["--exit-at-once", "no key"]);
    shelf.servers(json!({ "fake": shelf.fake(&[]), "broken": broken }));
    shelf.mount();
    let long = format!("fake/{}", "n".repeat(5000));
    let wrong = "fake/a\u{1b}b";
    let commands: &[(&[&str], i32, [&str; 3])] = &[
        (&["call", "broken/any"], 4, ["call", "broken/any", "server"]),
        (
            &["call", "broken/any", "--x", "1"],
            4,
            ["call", "broken/any", "server"],
        ),
        (
            &["call", "fake/echo", "--zzz=secret", "--text", "secret"],
            2,
            ["call", "fake/echo", "arguments"],
        ),
        (
            &["call", "--args", "{", "fake/echo"],
            2,
            ["call", "fake/echo", ""],
        ),
        (
            &["call", "fake/none"],
            3,
            ["call", "fake/none", "not-found"],
        ),
        (
            &["call", "fake/none", "--x", "1"],
            3,
            ["call", "fake/none", "not-found"],
        ),
        (
            &["call", "--format", "xml", "fake/none"],
            3,
            ["call", "fake/none", "not-found"],
        ),
        (
            &["call", "mount/mcp/fake/none.md"],
            3,
            ["call", "fake/none", "not-found"],
        ),
        (&["call", &long], 3, ["call", &long[..1024], "not-found"]),
        (&["call", wrong], 3, ["call", wrong, "not-found"]),
        (
            &["show", "fake/none"],
            3,
            ["show", "fake/none", "not-found"],
        ),
        (&["show", "broken/any"], 4, ["show", "broken/any", "server"]),
        (
            &["search", "--server", "none", "words"],
            3,
            ["search", "", "not-found"],
        ),
    ];
    for (arguments, code, _) in commands {
        shelf.run(arguments).fails(*code);
    }
    shelf.unmount();
    let is_meant = |line: &&Value| line["event"] != "open";
    let lines = shelf.log(&[]);
    let lines: Vec<&Value> = lines.iter().filter(is_meant).collect();
    assert_eq!(lines.len(), commands.len(), "{lines:#?}");
    for (line, (arguments, _, [event, entry, kind])) in lines.iter().zip(commands) {
        assert_eq!(line["event"], *event, "{arguments:?}: {line}");
        assert_eq!(line["entry"].as_str().unwrap_or_default(), *entry, "{line}");
        assert_eq!(line["ok"], false, "{line}");
        let said = line["kind"].as_str().unwrap();
        assert!(
            if kind.is_empty() {
                !said.is_empty()
            } else {
                said == *kind
            },
            "{line}"
        );
        assert!(!line.to_string().contains("secret"), "{line}");
    }
    assert_eq!(lines[2]["arguments"], json!(["zzz", "text"]));
    let directory = shelf.path("state/toolshelf/log");
    for file in fs::read_dir(directory).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
