//! Without a shelf that was started before: what `list` and `show` read from the cache, and the daemon that a call starts.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::needs::lacks_program;
use crate::support::processes::signal;
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

const CONFIG: [&str; 2] = ["--config", "mcp.json"];

fn shelf(options: &[&str]) -> Shelf {
    let shelf = Shelf::with_fake("fake", &[&["--starts", "starts"], options].concat());
    shelf.write(
        "skills.json",
        r#"{ "mcpServers": {}, "skills": ["skills"] }"#,
    );
    shelf
}

/// Runs a command with the configuration of the place.
fn run(shelf: &Shelf, command: &str, words: &[&str]) -> Finished {
    shelf.run(&[&[command], CONFIG.as_slice(), words].concat())
}

/// Writes the configuration with a daemon that is idle so soon.
fn idle_after(shelf: &Shelf, idle: &str) {
    let config = json!({
        "mcpServers": { "fake": shelf.fake(&["--starts", "starts"]) },
        "daemon": { "idle": idle },
    });
    shelf.write("mcp.json", config.to_string());
}

fn end(shelf: &Shelf) {
    run(shelf, "unmount", &[]).succeeds();
    shelf.wait_until_nothing_is_left();
}

fn daemons(shelf: &Shelf) -> Vec<i32> {
    let running = shelf.running().into_iter();
    running
        .filter(|(_, line)| line.contains("__daemon"))
        .map(|(pid, _)| pid)
        .collect()
}

#[test]
fn what_can_not_be_read_is_not_passed_over_in_silence() {
    let shelf = Shelf::new();
    shelf.write(
        "skills.json",
        r#"{ "mcpServers": {}, "skills": ["skills", "loop"] }"#,
    );
    shelf.write(
        "skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads PDF files.\n---\n",
    );
    // Root may read what no one may, but a link that leads to itself leads nowhere for anybody.
    std::os::unix::fs::symlink("loop", shelf.path("loop")).unwrap();
    for words in [&["list"][..], &["search", "--lexical", "files"]] {
        let told = shelf.run(&[words, &["--config", "skills.json"]].concat());
        assert!(told.stdout.contains("skills/pdf"), "{}", told.stdout);
        assert!(told.stderr.contains("warning: "), "{}", told.stderr);
        assert!(told.stderr.contains("loop"), "{}", told.stderr);
    }
}

#[test]
fn what_was_known_is_listed_and_shown_without_starting_anything() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&["--tools", "3"]);
    run(&shelf, "call", &["fake/pid"]).succeeds();
    let ask = |command, words: &[&str]| {
        let finished = run(&shelf, command, words);
        assert_eq!(finished.stderr, "");
        finished.succeeds()
    };
    let both = || {
        [
            ask("list", &[]),
            ask("list", &["--json"]),
            ask("list", &["--server", "fake"]),
            ask("show", &["fake/echo", "mcp/fake/add.md"]),
            ask("show", &["--json", "fake/echo"]),
            ask("show", &["--schema", "fake/echo"]),
        ]
    };
    let running = both();
    assert!(running[0].contains("fake/extra_2"), "{}", running[0]);
    end(&shelf);
    let started = shelf.starts("starts");
    assert_eq!(both(), running);
    assert_eq!(shelf.running(), []);
    assert_eq!(shelf.starts("starts"), started);

    // What is wrong is refused with the same words.
    let said = run(&shelf, "show", &["fake/ecko"]).fails(3);
    assert!(said.contains("fake/echo"), "{said}");
    run(&shelf, "list", &["--server", "fkae"]).fails(3);
}

#[test]
fn skills_are_read_as_they_are() {
    let shelf = shelf(&[]);
    let list = || shelf.run(&["list", "--config", "skills.json"]).succeeds();
    assert_eq!(list(), "");
    shelf.skill("one", "A skill.");
    assert_eq!(list(), "skills/one — A skill.\n");
    let text = shelf.run(&["show", "--config", "skills.json", "skills/one"]);
    assert!(text.succeeds().contains("# one"));
}

#[test]
fn without_a_configuration_the_skills_that_clients_share_are_listed() {
    let shelf = shelf(&[]);
    shelf.write(
        "home/.agents/skills/mine/SKILL.md",
        "---\nname: mine\ndescription: My own.\n---\n",
    );
    assert_eq!(shelf.run(&["list"]).succeeds(), "skills/mine — My own.\n");
    // There is nothing to call, so nothing is started.
    let said = shelf.run(&["call", "fake/echo", "--text", "x"]).fails(6);
    assert!(said.contains("shelf mount"), "{said}");
    assert_eq!(shelf.running(), []);
}

#[test]
fn what_is_not_known_is_said_and_not_asked() {
    let shelf = shelf(&[]);
    let list = run(&shelf, "list", &[]);
    assert_eq!((list.code, &*list.stdout), (0, ""));
    assert!(
        list.stderr.contains("fake — not known yet"),
        "{}",
        list.stderr
    );
    let json: Value = serde_json::from_str(&run(&shelf, "list", &["--json"]).succeeds()).unwrap();
    assert_eq!(json["unknown"], json!(["fake"]));
    let said = run(&shelf, "show", &["fake/echo"]).fails(3);
    assert!(
        said.contains("not known yet") && said.contains("shelf call"),
        "{said}"
    );
    assert_eq!(shelf.starts("starts"), 0);
    // It leaves no trace either.
    assert!(!shelf.path("cache").exists() && !shelf.path("state").exists());
}

#[test]
fn a_call_starts_a_daemon_that_others_use() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&[]);
    let first = run(&shelf, "call", &["fake/pid"]);
    assert_eq!(first.stderr, "");
    let [daemon] = daemons(&shelf)[..] else {
        panic!("not one daemon: {:?}", shelf.running());
    };
    let again = run(&shelf, "call", &["fake/pid"]);
    assert_eq!(again.succeeds(), first.succeeds(), "the same process");
    let status: Value =
        serde_json::from_str(&run(&shelf, "status", &["--json"]).succeeds()).unwrap();
    assert_eq!(
        (&status["output"], &status["pid"]),
        (&json!("none"), &json!(daemon))
    );
    assert_eq!(status["mount_point"], Value::Null);
    // It is meant only where its configuration is in use.
    let said = shelf.run(&["status"]).fails(6);
    assert!(said.contains("no shelf is mounted"), "{said}");
    let said = shelf.run(&["list"]).fails(3);
    assert!(said.contains("no shelf runs"), "{said}");
    end(&shelf);
    let said = run(&shelf, "unmount", &[]).fails(6);
    assert!(said.contains("no running shelf serves"), "{said}");
}

#[test]
fn the_configuration_of_the_user_is_in_use_where_none_is_named() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&[]);
    let config = json!({ "mcpServers": { "mine": shelf.fake(&[]) } });
    let path = shelf.write("home/config/toolshelf/mcp.json", config.to_string());
    assert_eq!(shelf.call(&["mine/echo", "--text", "x"]), "x");
    assert!(shelf.run(&["list"]).succeeds().contains("mine/echo"));
    assert_eq!(shelf.status()["config"], json!(path));
    shelf
        .run(&["unmount", "--config", path.to_str().unwrap()])
        .succeeds();
}

#[test]
fn it_ends_when_it_is_idle_and_the_next_call_starts_another() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&[]);
    idle_after(&shelf, "200ms");
    for _ in 0..3 {
        // However near to its end it is asked, there is an answer.
        let said = run(&shelf, "call", &["fake/echo", "--text", "x"]);
        assert_eq!(said.succeeds(), "x");
    }
    shelf.wait_until_nothing_is_left();
    let said = run(&shelf, "call", &["fake/echo", "--text", "again"]);
    assert_eq!(said.succeeds(), "again");
    shelf.wait_until_nothing_is_left();
}

#[test]
fn a_call_that_runs_is_not_idle() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&[]);
    idle_after(&shelf, "50ms");
    run(&shelf, "call", &["fake/sleep", "--seconds", "1"]).succeeds();
    shelf.wait_until_nothing_is_left();
}

#[test]
fn of_calls_at_the_same_time_one_starts_the_daemon_and_all_work() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&["--slow-start", "0.3"]);
    let script = "for i in 1 2 3 4 5 6 7 8; do shelf call --config mcp.json fake/pid >pid.$i || echo failed & done; wait";
    let said = shelf.shell(script);
    assert_eq!((&*said.stdout, &*said.stderr), ("", ""));
    let pids = shelf
        .shell("for i in 1 2 3 4 5 6 7 8; do cat pid.$i; echo; done | sort -u")
        .succeeds();
    assert_eq!(pids.trim().lines().count(), 1, "{pids}");
    assert_eq!(daemons(&shelf).len(), 1);
    end(&shelf);
}

#[test]
fn a_call_waits_for_its_own_server_alone() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::new();
    shelf.servers(json!({
        "fake": shelf.fake(&[]),
        "slow": shelf.fake(&["--slow-start", "600", "--starts", "slow"]),
    }));
    assert_eq!(
        run(&shelf, "call", &["fake/echo", "--text", "x"]).succeeds(),
        "x"
    );
    wait_until("the slow one is asked", || shelf.starts("slow") == 1);
    // With and without flags, which ask the daemon in another way.
    for words in [&["slow/echo", "--text", "x"][..], &["slow/pid"]] {
        let said = run(&shelf, "call", &[&["--timeout", "300ms"], words].concat()).fails(124);
        assert!(said.contains("slow") && said.contains("300ms"), "{said}");
    }
    let mut command = shelf.command(SHELF);
    command.args(["call", "--config", "mcp.json", "slow/echo", "--text", "x"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    let caught = format!("/proc/{}/status", child.id());
    wait_until("signals are caught", || {
        let status = std::fs::read_to_string(&caught).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & 2 != 0
    });
    signal(child.id().cast_signed(), Signal::INT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    end(&shelf);
}

#[test]
fn the_wait_for_a_server_and_the_call_have_one_limit() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&["--slow-start", "2"]);
    let started = Instant::now();
    let arguments = r#"{"seconds": 600}"#;
    let words = ["--timeout", "4s", "--args", arguments, "fake/sleep"];
    let said = run(&shelf, "call", &words).fails(124);
    assert!(started.elapsed() < Duration::from_millis(5_500), "{said}");
    end(&shelf);
}

#[test]
fn a_server_that_cannot_say_its_tools_is_said_with_its_last_words() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&["--exit-at-once", "TOKEN is not set"]);
    let said = run(&shelf, "call", &["fake/echo", "--text", "x"]).fails(4);
    assert!(said.contains("TOKEN is not set"), "{said}");
    end(&shelf);
}

#[test]
fn a_shelf_that_is_shown_is_preferred_to_the_one_of_a_call() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&[]);
    run(&shelf, "call", &["fake/pid"]).succeeds();
    shelf.mirror();
    assert_eq!(daemons(&shelf).len(), 2);
    let status: Value =
        serde_json::from_str(&run(&shelf, "status", &["--json"]).succeeds()).unwrap();
    assert_eq!(status["output"], "mirror");
    shelf.run(&["unmount", "mount"]).succeeds();
    end(&shelf);
}
