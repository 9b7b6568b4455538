//! What a session was handed out.

use super::{append, line};
use crate::access_log::reader::{Filter, Reader, loads};
use crate::access_log::record::EventName;

fn load(time: i64, session: &str, entry: &str) -> String {
    line(time, session, entry).replace("\"open\"", "\"load\"")
}

#[test]
fn each_entry_is_told_once_in_the_order_of_its_first_time_by_whatever_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, lines: &[String]| append(&directory.path().join(name), &lines.concat());
    write(
        "one.jsonl.1",
        &[load(0, "run", "s/a"), load(1_000, "other", "s/x")],
    );
    write(
        "one.jsonl",
        &[load(5_000, "run", "s/c"), load(6_000, "run", "s/b")],
    );
    write(
        "two.jsonl",
        &[
            line(500, "run", "s/opened"),
            load(2_000, "run", "s/b"),
            load(7_000, "run", "s/a"),
            load(8_000, "run", "s/d"),
            // A session's name is that name and no beginning of it.
            load(9_000, "run 2", "s/y"),
        ],
    );
    let told = |session: &str| {
        let ids = loads(directory.path(), session, None).unwrap();
        ids.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told("run"), ["s/a", "s/b", "s/c", "s/d"]);
    assert_eq!(told("other"), ["s/x"]);
    assert!(told("none").is_empty());
    assert!(
        loads(&directory.path().join("absent"), "run", None)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn what_another_catalog_handed_out_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let of = |catalog: &str, time, entry| {
        let event = format!("\"load\",\"catalog\":\"{catalog}\"");
        line(time, "run", entry).replace("\"open\"", &event)
    };
    let lines = [
        of("mine", 0, "s/a"),
        of("theirs", 1, "s/b"),
        load(2, "run", "s/old"),
        of("theirs", 3, "s/c"),
        of("mine", 4, "s/c"),
    ];
    append(&directory.path().join("one.jsonl"), &lines.concat());
    let told = |catalog| {
        let ids = loads(directory.path(), "run", catalog).unwrap();
        ids.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told(Some("mine")), ["s/a", "s/old", "s/c"]);
    assert_eq!(told(Some("theirs")), ["s/b", "s/old", "s/c"]);
    assert_eq!(told(None), ["s/a", "s/b", "s/old", "s/c"]);
}

#[test]
fn events_can_be_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let lines = [
        line(0, "run", "s/a"),
        load(1, "run", "s/b"),
        line(2, "run", "s/c"),
    ];
    append(&directory.path().join("one.jsonl"), &lines.concat());
    let count = |events: Vec<EventName>| {
        let reader = Reader::open(directory.path()).unwrap();
        let filter = Filter {
            events,
            ..Filter::default()
        };
        reader.lines(filter).count()
    };
    assert_eq!(count(Vec::new()), 3);
    assert_eq!(count(vec![EventName::Load]), 1);
    assert_eq!(count(vec![EventName::Load, EventName::Open]), 3);
    assert_eq!(count(vec![EventName::Call]), 0);
}

#[test]
fn loads_are_no_sweep() {
    let directory = tempfile::tempdir().unwrap();
    let lines: Vec<_> = (0..20).map(|n| load(n, "run", &format!("s/{n}"))).collect();
    append(&directory.path().join("one.jsonl"), &lines.concat());
    let lines = Reader::open(directory.path())
        .unwrap()
        .lines(Filter::default());
    assert!(lines.map(|line| line.scan).all(|scan| !scan));
}
