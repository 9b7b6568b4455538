//! What stands in a line.

use std::fs;

use serde_json::{Value, json};
use skills::entry_id::EntryId;
use skills::problem::ProblemKind;

use super::{called, caller, opened, read};
use crate::access_log::record::is_unsafe;
use crate::access_log::{AccessLog, Event, LogOptions, Queries};

/// Records events through a log of its own and returns the lines.
fn logged(options: LogOptions, events: Vec<Event>) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let log = AccessLog::open(directory.path(), "one", options).unwrap();
    for event in events {
        log.try_record(caller(), event);
    }
    log.close();
    fs::read_to_string(directory.path().join("one.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_line_says_who_did_what() {
    let mut lines = logged(
        LogOptions::default(),
        vec![
            opened("mcp/everything/echo.md"),
            Event::Show {
                entry: EntryId::skill("pdf"),
                outcome: Ok(()),
            },
            Event::Show {
                entry: EntryId("a\u{1b}/b\nc".into()),
                outcome: Err(ProblemKind::NotFound),
            },
            Event::Search {
                words: "to do".to_owned(),
                matches: Err(ProblemKind::NotFound),
            },
            Event::Refused {
                entry: EntryId("n".repeat(5000).into()),
                arguments: vec!["zzz".to_owned()],
                kind: ProblemKind::Arguments,
            },
            Event::Load {
                entry: EntryId::skill("pdf"),
                hash: Some("0123".to_owned()),
                catalog: "tools".to_owned(),
            },
            called(Ok(())),
            called(Err(ProblemKind::TimedOut)),
        ],
    );
    for line in &mut lines {
        let time = line.as_object_mut().unwrap().shift_remove("time").unwrap();
        let time = time.as_str().unwrap();
        assert!(time.ends_with('Z') && time.len() == 24, "{time}");
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    }
    let who = json!({"pid": 77, "uid": 1000, "command": "cat", "session": "run"});
    let with = |event: Value| {
        let mut all = event.as_object().unwrap().clone();
        all.extend(who.as_object().unwrap().clone());
        Value::Object(all)
    };
    assert_eq!(
        lines,
        [
            with(
                json!({"event": "open", "entry": "everything/echo", "path": "mcp/everything/echo.md"})
            ),
            with(json!({"event": "show", "entry": "skills/pdf"})),
            with(
                json!({"event": "show", "entry": "a\u{1b}/b\nc", "ok": false, "kind": "not-found"})
            ),
            with(json!({"event": "search", "query": "to do", "ok": false, "kind": "not-found"})),
            with(
                json!({"event": "call", "entry": "n".repeat(1024), "arguments": ["zzz"], "ok": false,
                "kind": "arguments"})
            ),
            with(
                json!({"event": "load", "entry": "skills/pdf", "hash": "0123", "catalog": "tools"})
            ),
            with(
                json!({"event": "call", "entry": "everything/echo", "arguments": ["message", "loud"],
                "ok": true, "duration_ms": 12, "result_bytes": 345})
            ),
            with(
                json!({"event": "call", "entry": "everything/echo", "arguments": ["message", "loud"],
                "ok": false, "kind": "timed-out", "duration_ms": 12, "result_bytes": 345})
            ),
        ]
    );
}

#[test]
fn values_are_kept_only_when_configured() {
    let of = |values| {
        let options = LogOptions {
            values,
            ..LogOptions::default()
        };
        logged(options, vec![called(Ok(()))]).remove(0)
    };
    assert_eq!(of(false).get("values"), None);
    assert!(!of(false).to_string().contains("secret"));
    assert_eq!(
        of(true)["values"],
        json!({"message": "secret", "loud": true})
    );
}

#[test]
fn large_values_and_long_words_do_not_make_long_lines() {
    let options = LogOptions {
        values: true,
        ..LogOptions::default()
    };
    let large = Event::Call {
        entry: EntryId::tool("s", "t"),
        arguments: (0..1000)
            .map(|number| {
                (
                    format!("{number}{}", "n".repeat(5000)),
                    json!("v".repeat(100)),
                )
            })
            .collect(),
        outcome: Ok(()),
        duration_ms: 0,
        result_bytes: 0,
    };
    let search = Event::Search {
        words: "\u{7}".repeat(1 << 20),
        matches: Ok(0),
    };
    for line in logged(options, vec![large, search]) {
        assert_eq!(line.get("values"), None);
        assert!(line.to_string().len() < 512 * 1024);
    }
}

#[test]
fn search_words_are_kept_as_configured() {
    let of = |queries| {
        let options = LogOptions {
            queries,
            ..LogOptions::default()
        };
        let search = |words: &str| Event::Search {
            words: words.to_owned(),
            matches: Ok(3),
        };
        let mut lines = logged(
            options,
            vec![search("my plan"), search("my plan"), search("x")],
        );
        for line in &mut lines {
            assert_eq!(
                (&line["event"], &line["matches"]),
                (&json!("search"), &json!(3))
            );
        }
        lines
    };
    assert_eq!(of(Queries::Full)[0]["query"], "my plan");
    let hashed = of(Queries::Hash);
    assert!(!format!("{hashed:?}").contains("my plan"));
    assert_eq!(hashed[0]["query_hash"], hashed[1]["query_hash"]);
    assert_ne!(hashed[0]["query_hash"], hashed[2]["query_hash"]);
    let off = of(Queries::Off);
    assert_eq!(
        (off[0].get("query"), off[0].get("query_hash")),
        (None, None)
    );
}

#[test]
fn a_name_can_neither_break_a_line_nor_command_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
    let path = "a\nb\u{1b}[31mc\u{9b}2Jd\u{202e}e\u{7f}f\"g\\é";
    log.try_record(caller(), opened(path));
    log.close();

    let text = fs::read_to_string(directory.path().join("one.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(!text.trim_end().chars().any(is_unsafe), "{text:?}");
    let line = read(directory.path()).remove(0);
    assert_eq!(line.record.path.as_deref(), Some(path));
    assert_eq!(
        line.shown(&jiff::tz::TimeZone::UTC).detail,
        "a\u{fffd}b\u{fffd}[31mc\u{fffd}2Jd\u{fffd}e\u{fffd}f\"g\\é"
    );
}
