use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use skills::entry_id::EntryId;

use super::{Filter, Follow, Line, Reader};

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

fn marks(lines: &[String]) -> Vec<bool> {
    read(lines, Filter::default())
        .iter()
        .map(|line| line.scan)
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
fn eight_entries_within_two_seconds_are_a_sweep() {
    assert_eq!(marks(&sweep(7, 0)), [false; 7]);
    assert_eq!(marks(&sweep(8, 0)), [true; 8]);
    assert_eq!(marks(&sweep(8, 2000)), [true; 8]);
    assert_eq!(marks(&sweep(8, 2001)), [false; 8]);
}

#[test]
fn one_entry_opened_often_is_no_sweep() {
    let lines: Vec<String> = (0..50).map(|time| line(time, "run", "s/tool")).collect();
    assert_eq!(marks(&lines), [false; 50]);
}

#[test]
fn two_sessions_between_each_other_are_no_sweep() {
    let lines: Vec<String> = (0..14)
        .map(|number| {
            line(
                number,
                ["one", "two"][number as usize % 2],
                &format!("s/tool{number}"),
            )
        })
        .collect();
    assert_eq!(marks(&lines), [false; 14]);
}

#[test]
fn a_sweep_does_not_mark_what_another_session_reads_meanwhile() {
    let mut lines = sweep(9, 100);
    lines.insert(4, line(45, "reader", "s/tool3"));
    let scans = marks(&lines);
    assert_eq!(scans.iter().filter(|scan| **scan).count(), 9);
    assert!(!scans[4]);
}

#[test]
fn a_sweep_is_marked_from_its_first_open_to_its_last() {
    // Long before, and long after, the same session reads one file.
    let mut lines = vec![line(-5000, "run", "s/before")];
    lines.extend(sweep(40, 8000));
    lines.push(line(13_000, "run", "s/after"));
    let mut expected = vec![true; 42];
    (expected[0], expected[41]) = (false, false);
    assert_eq!(marks(&lines), expected);
}

#[test]
fn files_without_an_entry_and_calls_do_not_make_a_sweep() {
    let plain = |number: i64| {
        line(number, "run", "x")
            .replace("\"entry\":\"x\",", "")
            .replace("mcp/x", &number.to_string())
    };
    assert_eq!(marks(&(0..20).map(plain).collect::<Vec<_>>()), [false; 20]);

    let mut lines = sweep(8, 100);
    lines.insert(1, plain(10));
    let call = line(11, "run", "s/called").replace("\"open\"", "\"call\"");
    lines.insert(2, call);
    let mut expected = vec![true; 10];
    expected[2] = false;
    assert_eq!(marks(&lines), expected);
}

#[test]
fn a_clock_that_was_set_back_neither_hides_lines_nor_makes_a_sweep() {
    let mut lines: Vec<String> = (0..4)
        .map(|number| line(number, "run", &format!("s/a{number}")))
        .collect();
    lines.extend((0..4).map(|number| line(number - 60_000, "run", &format!("s/b{number}"))));
    assert_eq!(marks(&lines), [false; 8]);
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
        .replace("\"open\"", "\"approve\"")
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

/// A log that grows while it is followed.
struct Growing {
    directory: tempfile::TempDir,
    follow: Follow,
}

impl Growing {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let follow = Reader::open(directory.path())
            .unwrap()
            .follow(Filter::default());
        Self { directory, follow }
    }

    fn append(&self, name: &str, text: &str) {
        append(&self.directory.path().join(name), text);
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(
            self.directory.path().join(from),
            self.directory.path().join(to),
        )
        .unwrap();
    }

    /// What is shown at a moment, with its mark.
    fn at(&mut self, milliseconds: i64) -> Vec<(String, bool)> {
        let mut shown = Vec::new();
        while let Some(line) = self.follow.next(at(milliseconds)) {
            shown.push((line.record.entry.unwrap().to_string(), line.scan));
        }
        shown
    }
}

fn seen(entries: &[&str], scan: bool) -> Vec<(String, bool)> {
    entries
        .iter()
        .map(|entry| ((*entry).to_owned(), scan))
        .collect()
}

#[test]
fn following_waits_until_a_line_can_be_judged() {
    let mut log = Growing::new();
    assert_eq!(log.at(0), []);
    log.append("one.jsonl", &line(0, "run", "a"));
    assert_eq!(log.at(2500), []);
    assert_eq!(log.at(2700), seen(&["a"], false));

    for number in 0..8 {
        log.append(
            "one.jsonl",
            &line(5000 + number * 250, "run", &number.to_string()),
        );
    }
    assert_eq!(log.at(7500), []);
    assert_eq!(
        log.at(9900),
        seen(&["0", "1", "2", "3", "4", "5", "6", "7"], true)
    );
}

#[test]
fn following_goes_on_across_rotation_and_half_lines() {
    let mut log = Growing::new();
    log.append("one.jsonl", &line(0, "run", "a"));
    assert_eq!(log.at(3000), seen(&["a"], false));

    let text = line(3000, "run", "b");
    let (start, end) = text.split_at(20);
    log.append("one.jsonl", start);
    assert_eq!(log.at(6000), []);
    log.append("one.jsonl", end);
    log.append("one.jsonl", &line(3001, "run", "c"));
    // Twice between two looks.
    log.rename("one.jsonl", "one.jsonl.1");
    log.append("one.jsonl", &line(3002, "run", "d"));
    log.rename("one.jsonl.1", "one.jsonl.2");
    log.rename("one.jsonl", "one.jsonl.1");
    log.append("one.jsonl", &line(3003, "run", "e"));
    assert_eq!(log.at(6200), seen(&["b", "c", "d", "e"], false));
    assert_eq!(log.at(60_000), []);
    assert_eq!(log.follow.damaged(), 0);
}

#[test]
fn following_keeps_the_order_of_daemons_that_write_late() {
    let mut log = Growing::new();
    log.append("one.jsonl", &line(1000, "run", "second"));
    assert_eq!(log.at(1100), []);
    log.append("two.jsonl", &line(900, "run", "first"));
    assert_eq!(log.at(4000), seen(&["first", "second"], false));
}

#[test]
fn a_sweep_over_a_large_mount_is_read_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let text: String = (0..200_000)
        .map(|number| line(number / 200, "run", &format!("s/{number}")))
        .collect();
    append(&directory.path().join("one.jsonl"), &text);
    let mut lines = Reader::open(directory.path())
        .unwrap()
        .lines(Filter::default());
    let (mut count, mut waiting) = (0, 0);
    while let Some(line) = lines.next() {
        assert!(line.scan);
        count += 1;
        waiting = waiting.max(lines.scans.waiting());
    }
    assert_eq!(count, 200_000);
    assert!(waiting <= 65_536, "{waiting} lines waited");
}
