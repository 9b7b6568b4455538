//! Several daemons of one configuration, and disks that fail.

use std::fs;

use tempfile::TempDir;

use super::{server, snapshot_of, undated};
use crate::journal::{Journal, Place, REMEMBERED};

fn tail(journal: &Journal) -> Vec<String> {
    let tail = journal.tail(REMEMBERED);
    tail.iter().map(|line| undated(line).to_owned()).collect()
}

fn numbers(journal: &Journal) -> Vec<u64> {
    let list = journal.place.changes(None).expect("it can be read");
    list.changes
        .iter()
        .map(|change| change.revision.number)
        .collect()
}

#[test]
fn two_daemons_count_what_both_see_once() {
    let directory = TempDir::new().expect("a directory");
    let open = || Journal::open(directory.path(), "x").expect("it opens");
    let (mut one, mut two) = (open(), open());
    let servers = [server("a", &[]), server("b", &[])];
    let first = snapshot_of(None, &servers[..1]);
    assert_eq!(one.record(None, &first), Ok(true));
    assert_eq!(two.record(None, &first), Ok(false));
    assert_eq!(tail(&two), ["+ a/ 0 tools"], "it is shown by both");
    let second = snapshot_of(Some(&first), &servers);
    assert_eq!(two.record(Some(&first), &second), Ok(true));
    assert_eq!(one.record(Some(&first), &second), Ok(false));
    assert_eq!(tail(&one), ["+ a/ 0 tools", "+ b/ 0 tools"]);
    assert_eq!(tail(&one), tail(&two));
    assert_eq!(numbers(&one), [1, 2]);
    assert_eq!(open().record(None, &second), Ok(false));
}

#[test]
fn a_state_that_is_deleted_under_a_daemon_begins_anew_and_whole() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    let servers = [server("a", &[]), server("b", &[])];
    let first = snapshot_of(None, &servers[..1]);
    journal.record(None, &first).expect("it is written");
    let before = journal
        .place
        .changes(None)
        .expect("it can be read")
        .revision;
    for path in [journal.place.journal_path(), journal.place.known_path()] {
        fs::remove_file(path).expect("it was there");
    }
    let second = snapshot_of(Some(&first), &servers);
    assert_eq!(journal.record(Some(&first), &second), Ok(true));
    assert_eq!(tail(&journal), ["+ a/ 0 tools", "+ b/ 0 tools"]);
    assert!(journal.place.changes(Some(&before)).is_err());
}

#[test]
fn what_could_not_be_written_is_shown_and_written_with_the_next_snapshot() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    let servers = [server("a", &[]), server("b", &[])];
    let first = snapshot_of(None, &servers[..1]);
    let path = journal.place.journal_path();
    fs::remove_file(&path).expect("it was there");
    fs::create_dir(&path).expect("something is in the way");
    assert!(journal.record(None, &first).is_err());
    assert_eq!(tail(&journal), ["+ a/ 0 tools"], "in memory");
    let second = snapshot_of(Some(&first), &servers);
    assert!(journal.record(Some(&first), &second).is_err());
    assert_eq!(tail(&journal), ["+ a/ 0 tools", "+ b/ 0 tools"]);
    fs::remove_dir(&path).expect("it was there");
    let third = snapshot_of(Some(&second), &servers);
    assert_eq!(journal.record(Some(&second), &third), Ok(true));
    assert_eq!(tail(&journal), ["+ a/ 0 tools", "+ b/ 0 tools"], "once");
    assert_eq!(numbers(&journal), [1, 2]);
    assert_eq!(journal.record(Some(&third), &third), Ok(false));
}

#[test]
fn a_lock_that_nobody_lets_go_of_is_not_waited_for_for_ever() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    let held = super::super::file::lock(directory.path(), false);
    assert!(held.is_some());
    let first = snapshot_of(None, &[server("a", &[])]);
    assert_eq!(journal.record(None, &first), Ok(true));
    drop(held);
    let place = Place {
        directory: directory.path().to_owned(),
        name: "x".to_owned(),
    };
    assert_eq!(
        place.changes(None).expect("it can be read").changes.len(),
        1
    );
}

#[test]
fn what_is_recorded_is_recorded_once_although_what_is_known_can_t_be_saved() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    let known = journal.place.known_path();
    fs::create_dir_all(known.join("in the way")).expect("something is in the way");
    let servers = [server("a", &[]), server("b", &[])];
    let first = snapshot_of(None, &servers[..1]);
    assert!(journal.record(None, &first).is_err());
    let same = snapshot_of(Some(&first), &servers[..1]);
    assert!(journal.record(Some(&first), &same).is_err());
    let second = snapshot_of(Some(&same), &servers);
    assert!(journal.record(Some(&same), &second).is_err());
    assert_eq!(tail(&journal), ["+ a/ 0 tools", "+ b/ 0 tools"]);
    assert_eq!(numbers(&journal), [1, 2]);

    fs::remove_dir_all(&known).expect("it was there");
    assert!(!journal.is_saved());
    assert_eq!(journal.record(Some(&second), &second), Ok(false));
    assert!(journal.is_saved());
    let mut journal = Journal::open(directory.path(), "x").expect("it opens again");
    assert_eq!(journal.record(None, &second), Ok(false));
    assert_eq!(numbers(&journal), [1, 2]);
}

#[test]
fn what_is_known_is_not_saved_without_the_lines() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    let path = journal.place.journal_path();
    fs::remove_file(&path).expect("it was there");
    fs::create_dir(&path).expect("something is in the way");
    let first = snapshot_of(None, &[server("a", &[])]);
    assert!(journal.record(None, &first).is_err());
    let kept = fs::read_dir(directory.path()).expect("it is there");
    assert_eq!(
        kept.count(),
        1,
        "the journal's place alone, and nothing half done"
    );
}

#[test]
fn what_waits_for_room_keeps_its_time() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    journal.unwritten = vec!["2026-11-30T06:12:01Z + a/ 0 tools".to_owned()];
    journal.is_written = false;
    journal.is_saved = false;
    let first = snapshot_of(None, &[server("a", &[]), server("b", &[])]);
    assert_eq!(journal.record(None, &first), Ok(true));
    let lines = journal.tail(REMEMBERED);
    assert_eq!(lines[0], "2026-11-30T06:12:01Z + a/ 0 tools");
    assert_ne!(lines[1], "2026-11-30T06:12:01Z + b/ 0 tools");
    assert!(journal.unwritten.is_empty());
}
