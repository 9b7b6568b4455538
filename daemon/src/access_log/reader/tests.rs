//! The reading end, on files that the tests write.

mod following;
mod loads;
mod sweeps;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use skills::entry_id::EntryId;

use super::{Filter, Line, Reader};

/// A moment of a day in milliseconds.
fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(1_796_000_000_000 + milliseconds).unwrap()
}

fn line(time: i64, session: &str, entry: &str) -> String {
    let line = json!({
        "time": format!("{:.3}", at(time)), "event": "open", "entry": entry,
        "path": format!("mcp/{entry}.md"), "pid": 1, "uid": 0, "command": "cat", "session": session,
    });
    format!("{line}\n")
}

fn append(file: &Path, text: &str) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Writes lines as one daemon's log and reads them with the filter.
fn read(lines: &[String], filter: Filter) -> Vec<Line> {
    let directory = tempfile::tempdir().unwrap();
    append(&directory.path().join("one.jsonl"), &lines.concat());
    Reader::open(directory.path())
        .unwrap()
        .lines(filter)
        .collect()
}

/// Opens of `count` distinct entries by one session, the last one `span` after the first.
fn sweep(count: i64, span: i64) -> Vec<String> {
    (0..count)
        .map(|number| {
            line(
                span * number / (count - 1),
                "run",
                &format!("s/tool{number}"),
            )
        })
        .collect()
}

fn entries(lines: &[Line]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line.record.entry.as_ref().unwrap().as_str())
        .collect()
}

#[test]
fn lines_of_all_daemons_and_rotated_files_come_in_the_order_of_time() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, times: &[i64]| {
        for time in times {
            append(
                &directory.path().join(name),
                &line(*time, "run", &time.to_string()),
            );
        }
    };
    write("one.jsonl.2", &[0, 10_000]);
    write("one.jsonl.1", &[20_000, 50_000]);
    write("one.jsonl", &[60_000]);
    write("two.jsonl", &[5_000, 15_000, 55_000, 70_000]);
    // A daemon that was stopped between its rename and its new file.
    write("three.jsonl.1", &[30_000]);
    write("notes.txt", &[1]);
    fs::create_dir(directory.path().join("four.jsonl")).unwrap();
    let lines: Vec<Line> = Reader::open(directory.path())
        .unwrap()
        .lines(Filter::default())
        .collect();
    assert_eq!(
        entries(&lines),
        [
            "0", "5000", "10000", "15000", "20000", "30000", "50000", "55000", "60000", "70000"
        ]
    );
}

#[test]
fn damaged_lines_are_counted_and_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.jsonl");
    append(&file, &line(0, "run", "a"));
    append(&file, "{\"time\":\"2026-1\n\n[]\n\u{0}\u{0}\u{0}\n");
    append(&file, &"x".repeat(3 << 20));
    append(&file, "\n");
    fs::write(directory.path().join("two.jsonl"), b"\xff\xfe\n").unwrap();
    append(&file, &line(1, "run", "b"));
    append(&file, "{\"time\":");
    let mut lines = Reader::open(directory.path())
        .unwrap()
        .lines(Filter::default());
    assert_eq!(entries(&lines.by_ref().collect::<Vec<_>>()), ["a", "b"]);
    assert_eq!(lines.damaged(), 6);
}

#[test]
fn an_event_and_fields_of_a_later_version_are_read() {
    let later = line(0, "run", "a")
        .replace("\"open\"", "\"of_later\"")
        .replace("\"pid\"", "\"new\":[1],\"pid\"");
    let lines = read(&[later], Filter::default());
    assert_eq!(lines[0].shown(&jiff::tz::TimeZone::UTC).event, "other");
}

#[test]
fn a_directory_that_is_not_there_is_an_empty_log() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("log");
    assert_eq!(
        Reader::open(&missing)
            .unwrap()
            .lines(Filter::default())
            .count(),
        0
    );
}

#[test]
fn filters_choose_lines_after_sweeps_were_judged() {
    let mut lines = sweep(8, 2000);
    lines.push(line(9000, "run", "s/tool3"));
    lines.push(line(9001, "other", "s/tool3"));
    let with = |filter: Filter| {
        let found = read(&lines, filter);
        found
            .iter()
            .map(|line| {
                (
                    line.record.time.duration_since(at(0)).as_millis(),
                    line.scan,
                )
            })
            .collect::<Vec<_>>()
    };
    let entry = Some(EntryId::tool("s", "tool3"));
    assert_eq!(
        with(Filter {
            entry: entry.clone(),
            ..Filter::default()
        }),
        [(857, true), (9000, false), (9001, false)]
    );
    assert_eq!(
        with(Filter {
            entry,
            no_scans: true,
            session: Some("run".to_owned()),
            ..Filter::default()
        }),
        [(9000, false)]
    );
    // The sweep began before that moment and is a sweep all the same.
    assert_eq!(
        with(Filter {
            since: Some(at(2000)),
            ..Filter::default()
        }),
        [(2000, true), (9000, false), (9001, false)]
    );
}

#[test]
fn a_sweep_is_told_in_the_json_and_the_rest_is_as_it_was_logged() {
    let mut lines = sweep(8, 0);
    lines.push(line(9000, "run", "s/tool3"));
    let read = read(&lines, Filter::default());
    assert_eq!(
        read[0].json(),
        format!(
            "{},\"scan\":true}}",
            lines[0].trim_end().strip_suffix('}').unwrap()
        )
    );
    assert_eq!(read[8].json(), lines[8].trim_end());
}

#[test]
fn people_are_shown_the_parts_of_a_line() {
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::Offset::constant(2));
    let call = json!({
        "time": "2026-11-30T04:12:01.999Z", "event": "call", "entry": "everything/echo", "ok": false,
        "kind": "timed-out", "duration_ms": 12, "result_bytes": 0, "pid": 1234, "uid": 0, "command": "sh\u{1b}[2J", "session": "run",
    });
    let dropped = json!({"time": "2026-11-30T04:12:01.999Z", "event": "dropped", "n": 5});
    let shown: Vec<String> = read(
        &[format!("{call}\n"), format!("{dropped}\n")],
        Filter::default(),
    )
    .iter()
    .map(|line| {
        let shown = line.shown(&zone);
        [
            &shown.time,
            shown.event,
            &shown.subject,
            &shown.detail,
            &shown.caller,
            &shown.session,
        ]
        .join("|")
    })
    .collect();
    assert_eq!(
        shown,
        [
            "2026-11-30 06:12:01|call|everything/echo|timed-out, 12 ms, 0 bytes|sh\u{fffd}[2J[1234]|run",
            "2026-11-30 06:12:01|dropped||5 events were not logged||",
        ]
    );
}
