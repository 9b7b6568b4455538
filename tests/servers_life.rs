//! The life of single servers, as `shelf servers` shows and changes it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::needs::lacks_program;
use crate::support::processes::{freeze, signal};
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

/// A shelf with one fake server that writes down its starts and its calls.
fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &["--calls", "calls", "--starts", "starts"]);
    shelf.mirror();
    shelf
}

fn end(shelf: &Shelf) {
    shelf.run(&["unmount", "mount"]).succeeds();
    shelf.wait_until_nothing_is_left();
}

/// What is told of the servers.
fn servers(shelf: &Shelf) -> Vec<Value> {
    let text = shelf.run(&["servers", "--json"]).succeeds();
    let reports: Value = serde_json::from_str(&text).unwrap();
    reports["servers"].as_array().unwrap().clone()
}

/// A call in a session.
fn call_in(shelf: &Shelf, session: &str, words: &[&str]) -> Finished {
    let mut command = shelf.command(SHELF);
    Finished::of(
        command
            .env("SHELF_SESSION", session)
            .arg("call")
            .args(words),
    )
}

fn pid(shelf: &Shelf) -> i32 {
    shelf.call(&["fake/pid"]).trim().parse().unwrap()
}

/// A call that takes long, once it has reached the server.
fn long_call(shelf: &Shelf) -> Child {
    let mut command = shelf.command(SHELF);
    command.args(["call", "fake/sleep", "--seconds", "600"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    wait_until("the call is under way", || {
        fs::read_to_string(shelf.path("calls")).is_ok_and(|calls| calls.contains("sleep"))
    });
    child
}

fn failed(child: Child, code: i32) -> String {
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    assert!(output.stdout.is_empty());
    complaint
}

#[test]
fn servers_are_listed_with_what_they_are_and_did() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    // It was started to be listed, and is stopped when that is done.
    wait_until("the server has been stopped", || {
        servers(&shelf)[0]["state"] == "cold"
    });
    let cold = &servers(&shelf)[0];
    assert_eq!(cold["name"], "fake");
    assert_eq!((&cold["pid"], &cold["calls"]), (&Value::Null, &json!(0)));
    let running = pid(&shelf);
    shelf.run(&["call", "fake/fail"]).fails(1);
    let ready = &servers(&shelf)[0];
    assert_eq!(ready["state"], "ready");
    assert_eq!(ready["pid"], running, "the server and not its guard");
    assert_eq!(ready["calls"], 2);
    let memory = ready["memory"].as_u64().unwrap();
    assert!((1 << 20..1 << 30).contains(&memory), "{memory}");
    assert_eq!(
        ready["last_error"],
        Value::Null,
        "a tool's error is none of the server"
    );
    let table = shelf.run(&["servers"]).succeeds();
    assert!(
        table.contains("SERVER") && table.contains(&running.to_string()),
        "{table}"
    );
    end(&shelf);
    let ended = shelf.run(&["servers"]).fails(6);
    assert!(ended.contains("error:"), "{ended}");
}

#[test]
fn a_killed_server_fails_its_calls_and_the_next_says_what_is_gone() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    let first = call_in(&shelf, "mine", &["fake/pid"]);
    assert_eq!(first.stderr, "");
    let first: i32 = first.succeeds().trim().parse().unwrap();
    let starts = servers(&shelf)[0]["starts"].as_u64().unwrap();
    let waiting = long_call(&shelf);
    signal(first, Signal::KILL);
    let complaint = failed(waiting, 4);
    assert!(
        complaint.contains("the server broke off: ended by itself"),
        "{complaint}"
    );

    let error = &servers(&shelf)[0]["last_error"]["message"];
    assert!(
        error.as_str().unwrap().contains("ended by itself"),
        "{error}"
    );
    let again = call_in(&shelf, "mine", &["fake/pid"]);
    let (said, second) = (again.stderr.clone(), again.succeeds());
    assert_ne!(second.trim(), first.to_string());
    assert!(said.contains("warning: the server was restarted"), "{said}");
    assert!(said.contains("earlier state is gone"), "{said}");
    // Once, and only to who had been there.
    assert_eq!(call_in(&shelf, "mine", &["fake/pid"]).stderr, "");
    assert_eq!(call_in(&shelf, "new", &["fake/pid"]).stderr, "");
    assert_eq!(servers(&shelf)[0]["starts"], starts + 1);
    end(&shelf);
}

#[test]
fn a_server_that_hangs_times_out_and_can_be_restarted() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    let hanging = pid(&shelf);
    freeze(hanging);
    let late = shelf.run(&["call", "--timeout", "1", "fake/echo", "--text", "x"]);
    let late = late.fails(124);
    assert!(late.contains("timed out"), "{late}");
    let restarted = shelf.run(&["servers", "restart", "fake"]);
    assert_eq!(
        (restarted.code, &*restarted.stdout),
        (0, ""),
        "{}",
        restarted.stderr
    );
    assert!(!fs::exists(format!("/proc/{hanging}")).unwrap());
    assert_eq!(shelf.call(&["fake/echo", "--text", "x"]), "x");
    end(&shelf);
}

#[test]
fn stop_and_restart_are_for_one_server_and_fail_its_calls() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    let running = pid(&shelf);
    let waiting = long_call(&shelf);
    shelf.run(&["servers", "stop", "fake"]).succeeds();
    let complaint = failed(waiting, 4);
    assert!(complaint.contains("was stopped"), "{complaint}");
    assert!(!fs::exists(format!("/proc/{running}")).unwrap());
    assert_eq!(servers(&shelf)[0]["state"], "cold");
    shelf.run(&["servers", "restart", "fake"]).succeeds();
    assert_eq!(servers(&shelf)[0]["state"], "ready");
    let unknown = shelf.run(&["servers", "restart", "fade"]).fails(3);
    assert!(unknown.contains("the servers are fake"), "{unknown}");
    shelf.run(&["servers", "restart"]).fails(2);
    end(&shelf);
}

#[test]
fn a_server_that_does_not_start_is_left_alone_for_a_while() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::new();
    let at_once = ["--exit-at-once", "no licence", "--starts", "starts"];
    let mut good = shelf.fake(&[]);
    good["cwd"] = json!(shelf.path("nowhere"));
    shelf.servers(json!({ "bad": shelf.fake(&at_once), "lost": good }));
    shelf.mirror();
    let restart = || shelf.run(&["servers", "restart", "bad"]).fails(4);
    assert!(restart().contains("no licence"));
    wait_until("it is told how long", || {
        // The first pause is over soon, and then it is tried again.
        let _ = shelf.run(&["call", "bad/echo", "--text", "x"]);
        let state = &servers(&shelf)[0]["reason"];
        state
            .as_str()
            .unwrap()
            .contains("failed 2 times, next try not before")
    });
    let status = fs::read_to_string(shelf.mounted("mcp/bad/STATUS")).unwrap();
    assert!(status.contains("no licence"), "{status}");
    let starts = shelf.starts("starts");
    assert!(restart().contains("no licence"));
    assert!(shelf.starts("starts") > starts, "a restart does not wait");

    let lost = shelf.run(&["servers", "restart", "lost"]).fails(4);
    let place = shelf.path("nowhere");
    assert!(lost.contains(place.to_str().unwrap()), "{lost}");
    end(&shelf);
}

#[test]
fn sessions_that_are_apart_have_servers_of_their_own() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::new();
    let mut fake = shelf.fake(&[]);
    fake["share"] = json!("session");
    shelf.servers(json!({ "fake": fake }));
    shelf.mirror();
    let pid = |session| {
        let called = call_in(&shelf, session, &["fake/pid"]);
        assert_eq!(called.stderr, "");
        called.succeeds()
    };
    let (mine, other) = (pid("mine"), pid("other"));
    assert_ne!(mine, other);
    assert_eq!(pid("mine"), mine);
    let reports = servers(&shelf);
    let told: Vec<_> = reports
        .iter()
        .map(|one| (&one["session"], &one["state"], one["pid"].to_string()))
        .collect();
    let (cold, ready) = (json!("cold"), json!("ready"));
    assert_eq!(
        told,
        [
            (&Value::Null, &cold, "null".to_owned()),
            (&json!("mine"), &ready, mine),
            (&json!("other"), &ready, other),
        ]
    );
    end(&shelf);
}

#[test]
fn what_a_server_writes_is_read_with_a_daemon_and_without() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    let crash = |text: &str| {
        shelf.run(&["call", "fake/crash", "--text", text]).fails(4);
    };
    crash("one\ntwo\nthree");
    let log = |more: &[&str]| shelf.run(&[&["servers", "log", "fake"], more].concat());
    assert_eq!(log(&[]).succeeds(), "one\ntwo\nthree\n");
    assert_eq!(log(&["-n", "2"]).succeeds(), "two\nthree\n");
    let unknown = shelf.run(&["servers", "log", "fade"]).fails(3);
    assert!(unknown.contains("the servers are fake"), "{unknown}");

    let mut follower = shelf.command(SHELF);
    follower.args(["servers", "log", "fake", "-f", "-n", "1"]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "three");
    crash("four");
    assert_eq!(lines.next().unwrap().unwrap(), "four");
    follower.kill().unwrap();
    follower.wait().unwrap();

    end(&shelf);
    assert_eq!(log(&[]).succeeds(), "four\n");
    let nothing = shelf.run(&["servers", "log", "fade"]).fails(3);
    assert!(nothing.contains("has written nothing yet"), "{nothing}");
}

#[test]
fn servers_have_as_many_descriptors_as_without_a_shelf() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    let limits = |pid: i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let line = text.lines().find(|line| line.starts_with("Max open files"));
        let mut words = line.unwrap()["Max open files".len()..].split_whitespace();
        (
            words.next().unwrap().to_owned(),
            words.next().unwrap().to_owned(),
        )
    };
    let mirror = "ulimit -Sn 200; exec shelf mirror mount --config mcp.json --skills skills";
    shelf.shell(mirror).succeeds();
    let (soft, hard) = limits(shelf.daemon());
    assert_eq!(soft, hard, "the daemon has all that it can have");
    assert_eq!(limits(pid(&shelf)), ("200".to_owned(), hard));
    end(&shelf);
}
