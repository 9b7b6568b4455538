//! What is a sweep and what is not.

use super::{append, line, read, sweep};
use crate::access_log::reader::{Filter, Reader};

fn marks(lines: &[String]) -> Vec<bool> {
    read(lines, Filter::default())
        .iter()
        .map(|line| line.scan)
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
fn a_sweep_over_a_large_mount_is_read_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let text: String = (0..100_000)
        .map(|number| line(number / 100, "run", &format!("s/{number}")))
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
    assert_eq!(count, 100_000);
    assert!(waiting <= 65_536, "{waiting} lines waited");
}
