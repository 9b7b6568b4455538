//! The writing end, and both ends together.

mod format;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use skills::entry_id::EntryId;
use skills::problem::ProblemKind;

use super::reader::{Filter, Reader};
use super::record::Record;
use super::writer::Writer;
use super::{AccessLog, Event, LogOptions, Message, Shared};
use crate::caller::Caller;

fn caller() -> Caller {
    Caller {
        pid: 77,
        uid: 1000,
        command: "cat".to_owned(),
        session: "run".to_owned(),
    }
}

fn opened(path: &str) -> Event {
    Event::Open {
        path: path.to_owned(),
        entry: Some(EntryId::tool("everything", "echo")),
    }
}

fn called(outcome: Result<(), ProblemKind>) -> Event {
    Event::Call {
        entry: EntryId::tool("everything", "echo"),
        arguments: json!({"message": "secret", "loud": true})
            .as_object()
            .unwrap()
            .clone(),
        outcome,
        duration_ms: 12,
        result_bytes: 345,
    }
}

fn read(directory: &Path) -> Vec<super::reader::Line> {
    let mut lines = Reader::open(directory).unwrap().lines(Filter::default());
    let all = lines.by_ref().collect();
    assert_eq!(lines.damaged(), 0);
    all
}

/// Polls until the condition holds.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(10), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_log_is_for_its_owner_alone() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("state/log");
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let log = AccessLog::open(&directory, "one", LogOptions::default()).unwrap();
    log.try_record(caller(), opened("x"));
    log.close();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join("one.jsonl")), 0o600);

    let link = parent.path().join("link");
    symlink(&directory, &link).unwrap();
    let problem = AccessLog::open(&link, "one", LogOptions::default()).unwrap_err();
    assert!(problem.to_string().contains("it is a link"), "{problem}");
}

#[test]
fn nothing_remains_where_nothing_was_logged() {
    let directory = tempfile::tempdir().unwrap();
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    assert!(directory.path().join("one.jsonl").exists());
    log.close();
    assert!(!directory.path().join("one.jsonl").exists());
}

#[test]
fn a_full_file_is_rotated_and_four_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let options = LogOptions {
        max_bytes: 1000,
        ..LogOptions::default()
    };
    let log = AccessLog::open(directory.path(), "one", options).unwrap();
    let total = 100;
    for number in 0..total {
        log.try_record(caller(), opened(&format!("{number}")));
    }
    log.close();

    let mut names: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "one.jsonl",
            "one.jsonl.1",
            "one.jsonl.2",
            "one.jsonl.3",
            "one.jsonl.4"
        ]
    );
    for name in &names {
        let size = fs::metadata(directory.path().join(name)).unwrap().len();
        assert!(size <= 1000, "{name} has {size} bytes");
    }
    let numbers: Vec<usize> = read(directory.path())
        .iter()
        .map(|line| line.record.path.as_ref().unwrap().parse().unwrap())
        .collect();
    assert!(numbers.len() > 20);
    assert_eq!(numbers, (total - numbers.len()..total).collect::<Vec<_>>());
}

#[test]
fn a_line_is_in_the_file_within_a_second_without_a_close() {
    let directory = tempfile::tempdir().unwrap();
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    let file = directory.path().join("one.jsonl");
    let count = || fs::read_to_string(&file).unwrap().lines().count();

    let started = Instant::now();
    log.try_record(caller(), opened("alone"));
    eventually("the line is written", || count() == 1);
    assert!(started.elapsed() < Duration::from_secs(1));

    // A queue that never rests must not keep the first line waiting.
    let started = Instant::now();
    while count() == 1 {
        assert!(
            started.elapsed() < Duration::from_secs(1),
            "nothing was written"
        );
        log.try_record(caller(), opened("one of many"));
        thread::sleep(Duration::from_millis(5));
    }
    log.close();
}

#[test]
fn opens_that_do_not_fit_are_counted_and_calls_wait() {
    let directory = tempfile::tempdir().unwrap();
    // A queue of three whose writer does not run yet.
    let shared = Arc::new(Shared::new(3));
    let (queue, records) = std::sync::mpsc::channel();
    let writer = Writer::open(directory.path(), "one", 0, Arc::clone(&shared)).unwrap();
    let log = AccessLog {
        inner: Arc::new(super::Inner {
            options: LogOptions::default(),
            queue,
            shared: Arc::clone(&shared),
            writer: std::sync::Mutex::new(None),
        }),
    };
    for number in 0..10 {
        log.try_record(caller(), opened(&number.to_string()));
    }
    assert_eq!(shared.dropped.load(Ordering::Relaxed), 7);

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let waiting = log.clone();
    let mut call = Box::pin(async move { waiting.record(caller(), called(Ok(()))).await });
    let early = runtime
        .block_on(async { tokio::time::timeout(Duration::from_millis(20), call.as_mut()).await });
    assert!(early.is_err(), "a call did not wait for room");

    let running = thread::spawn(move || writer.run(&records));
    runtime.block_on(call);
    log.inner.queue.send(Message::Close).unwrap();
    running.join().unwrap();

    let lines = read(directory.path());
    let mut events: Vec<&str> = lines
        .iter()
        .map(|line| line.record.event.as_str())
        .collect();
    events.sort_unstable();
    assert_eq!(events, ["call", "dropped", "open", "open", "open"]);
    assert_eq!(lines.iter().find_map(|line| line.record.n), Some(7));
}

#[test]
fn nothing_is_lost_on_close_with_many_writers() {
    let directory = tempfile::tempdir().unwrap();
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let log = log.clone();
            scope.spawn(move || {
                for number in 0..5000 {
                    log.try_record(caller(), opened(&format!("{writer}/{number}")));
                }
            });
        }
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let log = log.clone();
                runtime.spawn(async move {
                    for _ in 0..500 {
                        log.record(caller(), called(Ok(()))).await;
                    }
                })
            })
            .collect();
        for call in calls {
            runtime.block_on(call).unwrap();
        }
    });
    log.close();
    log.try_record(caller(), opened("after the close"));
    log.close();

    let lines = read(directory.path());
    let count = |event: &str| {
        lines
            .iter()
            .filter(|line| line.record.event.as_str() == event)
            .count() as u64
    };
    let dropped: u64 = lines.iter().filter_map(|line| line.record.n).sum();
    assert_eq!(count("call"), 2000);
    assert_eq!(count("open") + dropped, 20_000);
    assert!(
        lines
            .iter()
            .all(|line| line.record.path.as_deref() != Some("after the close"))
    );
}

#[test]
fn a_log_that_is_let_go_without_a_close_is_written_too() {
    let directory = tempfile::tempdir().unwrap();
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    for _ in 0..100 {
        log.try_record(caller(), opened("x"));
    }
    drop(log);
    eventually("all lines are written", || {
        read(directory.path()).len() == 100
    });
}

#[test]
fn a_half_line_of_a_killed_daemon_does_not_spoil_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.jsonl");
    fs::write(&file, "{\"time\":\"2026-11-30T06:1").unwrap();
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    log.try_record(caller(), opened("x"));
    log.close();
    let mut lines = Reader::open(directory.path())
        .unwrap()
        .lines(Filter::default());
    assert_eq!(lines.by_ref().count(), 1);
    assert_eq!(lines.damaged(), 1);
}

#[test]
fn a_log_that_somebody_removed_is_begun_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.jsonl");
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    fs::remove_file(&file).unwrap();
    log.try_record(caller(), opened("x"));
    log.close();
    assert_eq!(read(directory.path()).len(), 1);
}

#[test]
fn what_a_full_disk_took_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let shared = Arc::new(Shared::new(0));
    // As many were lost before.
    shared.dropped.store(7, Ordering::Relaxed);
    let (queue, records) = std::sync::mpsc::channel();
    let mut writer = Writer::open(directory.path(), "one", 0, Arc::clone(&shared)).unwrap();
    // Every write to this device fails for want of space.
    writer.write_to(
        fs::OpenOptions::new()
            .append(true)
            .open("/dev/full")
            .unwrap(),
    );
    for _ in 0..5 {
        let record = Record::new(caller(), opened("x"), LogOptions::default());
        queue.send(Message::Record(Box::new(record))).unwrap();
    }
    drop(queue);
    writer.run(&records);
    assert_eq!(shared.dropped.load(Ordering::Relaxed), 12);
    let problem = shared.problem.lock().unwrap().clone().unwrap();
    assert!(problem.to_string().contains("No space left"), "{problem}");
}

#[tokio::test]
async fn what_is_waited_for_is_in_the_file_however_much_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    log.try_record(caller(), opened("first"));
    let count = super::QUEUE + 100;
    let load = |number| Event::Load {
        entry: EntryId::tool("s", &format!("{number}")),
        hash: None,
        catalog: "tools".to_owned(),
    };
    log.write(&caller(), (0..count).map(load).collect()).await;
    let lines = read(directory.path());
    assert_eq!(lines.len(), count + 1);
    assert_eq!(lines[0].record.path.as_deref(), Some("first"));
    log.close();
    // Nobody waits for a log that is closed.
    log.write(&caller(), vec![load(0)]).await;
    assert_eq!(read(directory.path()).len(), count + 1);
}
