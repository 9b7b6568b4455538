//! Many calls at once, while the servers that answer them are being killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use daemon::client::{Client, Identity};
use daemon::protocol::Call;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::{Value, json};
use skills::problem::ProblemKind;

use crate::support::needs::lacks_program;
use crate::support::processes::signal;
use crate::support::shelf::Shelf;
use crate::support::{DEADLINE, INTERVAL, SHELF, wait_for, wait_until};

const SERVERS: usize = 5;
/// How many callers there are; each has a connection of its own.
const CALLERS: usize = 1_000;
/// How many calls each makes, one after the other.
const ROUNDS: usize = 3;
/// How often each server is killed.
const KILLS: usize = 2;

/// A shelf with five servers that write down what they are called with, and each start of theirs.
fn shelf() -> Shelf {
    let shelf = Shelf::new();
    let servers = (0..SERVERS).map(|number| {
        let (calls, starts) = (format!("s{number}.calls"), format!("s{number}.starts"));
        let fake = shelf.fake(&["--calls", &calls, "--starts", &starts]);
        (format!("s{number}"), fake)
    });
    let servers: serde_json::Map<_, _> = servers.collect();
    shelf.servers(Value::Object(servers));
    shelf.mirror();
    for number in 0..SERVERS {
        shelf.call(&[&format!("s{number}/echo"), "--text", "first"]);
    }
    shelf
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn open_files(process: i32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

fn resident_kibibytes(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().split_whitespace().next().unwrap();
    number.parse().unwrap()
}

/// Lets this process have a connection for each caller.
fn allow_connections() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// Kills each server so often, each time when it was started anew and calls have reached it.
fn kill_them(root: &Path, done: &AtomicBool) -> usize {
    let mut killed = BTreeSet::new();
    let mut left = [KILLS; SERVERS];
    let mut seen = [0; SERVERS];
    while left.iter().any(|&kills| kills > 0) && !done.load(Ordering::SeqCst) {
        for number in 0..SERVERS {
            let starts = lines(&root.join(format!("s{number}.starts")));
            let calls = lines(&root.join(format!("s{number}.calls"))).len();
            let running: i32 = starts.last().unwrap().parse().unwrap();
            let is_new = !killed.contains(&running);
            if left[number] > 0 && is_new && calls > seen[number] + 20 {
                signal(running, Signal::KILL);
                killed.insert(running);
                left[number] -= 1;
                seen[number] = calls;
            }
        }
        thread::sleep(INTERVAL);
    }
    killed.len()
}

#[test]
fn a_thousand_calls_at_once_each_have_one_end_while_servers_are_killed() {
    if lacks_program("python3") {
        return;
    }
    allow_connections();
    let shelf = shelf();
    let daemon = shelf.daemon();
    let socket: PathBuf = shelf.status()["socket"].as_str().unwrap().into();
    let (files, memory) = (open_files(daemon), resident_kibibytes(daemon));
    let processes = shelf.running().len();

    let done = Arc::new(AtomicBool::new(false));
    let killer = {
        let (root, done) = (shelf.root().to_owned(), Arc::clone(&done));
        thread::spawn(move || kill_them(&root, &done))
    };
    let at_once = Arc::new(Barrier::new(CALLERS));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (socket, at_once) = (socket.clone(), Arc::clone(&at_once));
            let work = move || {
                let identity = Identity {
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    session: Some(format!("caller-{caller}")),
                };
                let mut client = Client::connect_within(&socket, &identity, 4 * DEADLINE).unwrap();
                at_once.wait();
                let call = |round| call(&mut client, caller, round);
                (0..ROUNDS).map(call).collect::<Vec<_>>()
            };
            // They wait, and need no room for it.
            let small = thread::Builder::new().stack_size(256 * 1024);
            small.spawn(work).unwrap()
        })
        .collect();
    let ends: Vec<Result<(), ProblemKind>> = callers
        .into_iter()
        .flat_map(|caller| caller.join().unwrap())
        .collect();
    done.store(true, Ordering::SeqCst);
    assert!(killer.join().unwrap() >= SERVERS, "hardly any was killed");

    let worked = ends.iter().filter(|end| end.is_ok()).count();
    assert_eq!(ends.len(), CALLERS * ROUNDS);
    assert!(worked > 0 && worked < ends.len(), "{worked} worked");
    for end in &ends {
        assert!(matches!(end, Ok(()) | Err(ProblemKind::Server)), "{end:?}");
    }

    // Sent once at most, whatever happened then.
    for number in 0..SERVERS {
        let mut sent = lines(&shelf.path(&format!("s{number}.calls")));
        // One that was killed while it wrote leaves half a line.
        sent.retain(|line| serde_json::from_str::<Value>(line).is_ok());
        let count = sent.len();
        assert_eq!(sent.into_iter().collect::<BTreeSet<_>>().len(), count);
    }
    // The log has each once, and as it ended.
    wait_until("every call is in the log", || {
        shelf.log(&["--event", "call"]).len() >= ends.len() + SERVERS
    });
    let mut logged: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for line in shelf.log(&["--event", "call"]) {
        let session = line["session"].as_str().unwrap().to_owned();
        logged.entry(session).or_default().push(line["ok"] == true);
    }
    let of_callers: Vec<_> = logged
        .iter()
        .filter(|(session, _)| session.starts_with("caller-"))
        .collect();
    assert_eq!(of_callers.len(), CALLERS);
    assert!(of_callers.iter().all(|(_, calls)| calls.len() == ROUNDS));
    let logged_as_worked = of_callers.iter().flat_map(|(_, calls)| *calls);
    assert_eq!(logged_as_worked.filter(|ok| **ok).count(), worked);

    // Nothing is left of it but the servers, each running as before.
    for number in 0..SERVERS {
        shelf.call(&[&format!("s{number}/echo"), "--text", "last"]);
    }
    wait_until("no descriptor is left open", || open_files(daemon) <= files);
    wait_until("no process is left over", || {
        shelf.running().len() <= processes
    });
    let grown = resident_kibibytes(daemon).saturating_sub(memory);
    assert!(grown < 100 * 1024, "it has grown by {grown} KiB");
    assert_eq!(shelf.status()["servers"].as_array().unwrap().len(), SERVERS);
    shelf.run(&["unmount", "mount"]).succeeds();
}

/// One call, of which no other has the same arguments: every other one takes a while, so that calls are under way at every moment.
fn call(client: &mut Client, caller: usize, round: usize) -> Result<(), ProblemKind> {
    let words = format!("{caller} {round}");
    let (tool, arguments, answer) = if caller.is_multiple_of(2) {
        let arguments = json!({ "text": words });
        ("echo", arguments, words.as_str())
    } else {
        // The fraction tells it from the others.
        let number = u32::try_from(caller * ROUNDS + round).unwrap();
        let seconds = 0.3 + f64::from(number) / 1e7;
        ("sleep", json!({ "seconds": seconds }), "slept")
    };
    let Value::Object(arguments) = arguments else {
        unreachable!("it is one");
    };
    let call = Call {
        entry: format!("s{}/{tool}", (caller / 2) % SERVERS),
        arguments,
        timeout_ms: Some(120_000),
    };
    match client.call(&call, None, &mut |_| {}) {
        Ok(reply) => {
            let result: Value = serde_json::from_str(reply.result.get()).unwrap();
            assert_eq!(result["content"][0]["text"], answer, "of another call");
            Ok(())
        }
        Err(problem) => Err(problem.kind),
    }
}

#[test]
fn the_commands_of_many_end_as_they_should_when_their_server_is_killed() {
    const COMMANDS: usize = 20;
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    let started = (0..COMMANDS).map(|_| {
        let mut command = shelf.command(SHELF);
        command.args(["call", "s0/sleep", "--seconds", "600"]);
        let command = command.stdout(std::process::Stdio::piped());
        command
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    });
    let started: Vec<_> = started.collect();
    let calls = shelf.path("s0.calls");
    wait_until("all are under way", || lines(&calls).len() > COMMANDS);
    let pid = wait_for("it runs", || lines(&shelf.path("s0.starts")).pop());
    signal(pid.parse().unwrap(), Signal::KILL);
    for command in started {
        let output = command.wait_with_output().unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{complaint}");
        assert!(complaint.contains("the server broke off"), "{complaint}");
        assert!(output.stdout.is_empty());
    }
    // None was tried again by itself, and the others never noticed.
    assert_eq!(lines(&calls).len(), COMMANDS + 1);
    assert_eq!(shelf.call(&["s1/echo", "--text", "x"]), "x");
    assert_eq!(shelf.call(&["s0/echo", "--text", "x"]), "x");
    let logged = || shelf.log(&["--event", "call"]).len();
    wait_until("every call is in the log", || {
        logged() >= SERVERS + COMMANDS + 2
    });
    assert_eq!(logged(), SERVERS + COMMANDS + 2);
    shelf.run(&["unmount", "mount"]).succeeds();
}
