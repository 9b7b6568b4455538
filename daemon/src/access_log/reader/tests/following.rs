//! A log that grows.

use std::fs;

use super::{append, at, line};
use crate::access_log::reader::{Filter, Follow, Reader};

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
