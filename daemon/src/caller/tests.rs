//! Callers that are real processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::proc::{self, Stat};
use super::{Callers, Generations, own_session};

/// A child that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a shell that says when it runs and then waits.
fn waiting(command: &mut Command) -> Ended {
    let mut child = Ended(
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(child.0.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn shell() -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo ready; read line"]);
    command.env_remove("SHELF_SESSION");
    command
}

#[test]
fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
    let text = b"77 (a) S 1 (b) S 1 77 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3\n";
    assert_eq!(
        proc::parse_stat(text),
        Some(Stat {
            command: "a) S 1 (b".into(),
            session: 42,
            start: 98765
        })
    );
    assert_eq!(proc::parse_stat(b"77 (cut) S 1"), None);
    assert_eq!(proc::parse_stat(b""), None);
}

#[test]
fn the_session_is_found_in_an_environment() {
    let found = |text: &str| proc::session_in(text.as_bytes());
    assert_eq!(
        found("A=1\0SHELF_SESSION=run 7\0B=2\0"),
        Some("run 7".to_owned())
    );
    assert_eq!(found("NOT_SHELF_SESSION=x\0SHELF_SESSIONS=y\0"), None);
    assert_eq!(found("SHELF_SESSION=\0"), None);
    assert_eq!(
        found(&format!("SHELF_SESSION={}", "é".repeat(300))),
        Some("é".repeat(256))
    );
}

#[test]
fn a_process_is_known_by_its_name_and_session() {
    let directory = tempfile::tempdir().unwrap();
    let odd = directory.path().join("a) S 1 (b");
    symlink("/bin/sh", &odd).unwrap();
    let child = waiting(
        Command::new(&odd)
            .args(["-c", "echo ready; read line"])
            .env("SHELF_SESSION", "run\n7"),
    );

    let caller = Callers::default().identify(child.0.id(), 1000);
    assert_eq!(caller.pid, child.0.id());
    assert_eq!(caller.uid, 1000);
    assert_eq!(caller.command, "a) S 1 (b");
    assert_eq!(caller.session, "run\n7");
}

#[test]
fn without_a_name_the_session_is_that_of_posix() {
    let callers = Callers::default();
    let first = waiting(&mut shell());
    let second = waiting(&mut shell());
    let apart = waiting(
        Command::new("setsid")
            .arg("/bin/sh")
            .args(["-c", "echo ready; read line"])
            .env_remove("SHELF_SESSION"),
    );

    let session = callers.identify(first.0.id(), 0).session;
    assert_eq!(session, callers.identify(second.0.id(), 0).session);
    // Not `getsid`: 0, which that can't give, is the session of a runner whose own lies outside its PID namespace.
    let leader = proc::thread_stat(std::process::id()).unwrap().session;
    assert!(session.starts_with(&format!("{leader}@")), "{session}");

    let start = proc::thread_stat(apart.0.id()).unwrap().start;
    assert_eq!(
        callers.identify(apart.0.id(), 0).session,
        format!("{}@{start}", apart.0.id())
    );
}

#[test]
fn a_session_whose_leader_has_ended_is_still_one_session() {
    // The leader starts two children, says their ids, and ends.
    let mut leader = Command::new("setsid")
        .args([
            "/bin/sh",
            "-c",
            "sleep 60 >/dev/null & echo $!; sleep 60 >/dev/null & echo $!",
        ])
        .env_remove("SHELF_SESSION")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let children: Vec<u32> = BufReader::new(leader.stdout.take().unwrap())
        .lines()
        .map(|line| line.unwrap().parse().unwrap())
        .collect();
    let sid = leader.id();
    leader.wait().unwrap();

    let callers = Callers::default();
    let sessions: Vec<String> = children
        .iter()
        .map(|child| callers.identify(*child, 0).session)
        .collect();
    for child in &children {
        let pid = rustix::process::Pid::from_raw((*child).cast_signed()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    assert_eq!(sessions, [format!("{sid}@gone"), format!("{sid}@gone")]);
}

#[test]
fn a_thread_goes_by_its_process() {
    let callers = Callers::default();
    let ours = callers.identify(std::process::id(), 0);
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        send.send(
            rustix::thread::gettid()
                .as_raw_nonzero()
                .get()
                .cast_unsigned(),
        )
        .unwrap();
        thread::park();
    });
    let id: u32 = receive.recv().unwrap();
    assert_ne!(id, std::process::id());
    assert_eq!(callers.identify(id, 0), ours);
    assert_eq!(ours.pid, std::process::id());
    assert_ne!(ours.command, "");
}

#[test]
fn an_exec_is_seen_although_the_process_is_known() {
    let callers = Callers::default();
    let mut child = waiting(
        Command::new("/bin/sh")
            .args([
                "-c",
                "echo ready; read line; SHELF_SESSION=after exec sleep 60",
            ])
            .env("SHELF_SESSION", "before"),
    );
    assert_eq!(callers.identify(child.0.id(), 0).session, "before");
    drop(child.0.stdin.take());
    let started = Instant::now();
    while callers.identify(child.0.id(), 0).command != "sleep" {
        assert!(started.elapsed().as_secs() < 10, "the exec was never seen");
        thread::yield_now();
    }
    assert_eq!(callers.identify(child.0.id(), 0).session, "after");
}

#[test]
fn what_cannot_be_seen_is_empty() {
    let callers = Callers::default();
    for thread in [0, u32::MAX] {
        let caller = callers.identify(thread, 5);
        assert_eq!((caller.pid, caller.uid), (thread, 5));
        assert_eq!((caller.command.as_str(), caller.session.as_str()), ("", ""));
    }
}

#[test]
fn the_cache_is_bounded_and_keeps_what_is_used() {
    let mut cache = Generations::default();
    for number in 0..10 * Generations::<usize, usize>::SIZE {
        cache.insert(number, number);
        assert_eq!(cache.get(&0), Some(0));
    }
    assert!(cache.young.len() + cache.old.len() <= 2 * Generations::<usize, usize>::SIZE);
    assert_eq!(cache.get(&1), None);
}

/// `cargo test -p daemon caller::tests::cost -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn cost() {
    let child = waiting(&mut shell());
    let id = child.0.id();
    let each = |name: &str, action: &mut dyn FnMut()| {
        let rounds = 5000;
        let started = Instant::now();
        for _ in 0..rounds {
            action();
        }
        println!("{name}: {:?}", started.elapsed() / rounds);
    };
    let known = Callers::default();
    each("comm alone", &mut || {
        fs::read(format!("/proc/{id}/comm")).unwrap();
    });
    each("a known process", &mut || {
        known.identify(id, 0);
    });
    each("an unknown process", &mut || {
        Callers::default().identify(id, 0);
    });
}

#[test]
fn this_process_knows_the_session_that_a_daemon_sees_it_in() {
    let long = "é".repeat(300);
    assert_eq!(own_session(Some("run 7")).as_deref(), Some("run 7"));
    assert_eq!(own_session(Some(&long)), Some("é".repeat(256)));
    let seen = Callers::default().identify(std::process::id(), 0).session;
    assert!(!seen.is_empty());
    assert_eq!(own_session(None).as_ref(), Some(&seen));
    assert_eq!(own_session(Some("")), Some(seen));
}
