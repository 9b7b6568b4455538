mod revisions;
mod sharing;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use serde_json::value::to_raw_value;
use skills::catalog::{FirstSeen, IndexOptions, Snapshot, Sources};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::{Definitions, Server, ServerState};
use skills::tool::Tool;
use skills::tree::Directory;
use tempfile::TempDir;

use super::file::{JournalFile, MAX_BYTES};
use super::{Journal, REMEMBERED, SeenFile};

fn append(journal: &mut Journal, lines: &[String]) -> Result<(), Problem> {
    let file = JournalFile::open(&journal.place.journal_path());
    let lines = journal.date(lines.to_vec());
    for line in &lines {
        journal.remember(line.clone());
    }
    journal.append_to(file, &lines, false)
}

fn lines(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("+ server/tool{n}")).collect()
}

/// A line without its time.
fn undated(line: &str) -> &str {
    let (time, line) = line.split_once(' ').expect("every line is dated");
    assert_eq!(time.len(), "2026-11-30T06:12:01Z".len(), "{time}");
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    line
}

/// A line of the file without its number and its time.
fn unnumbered(line: &str) -> &str {
    let (number, line) = line.split_once(' ').expect("every line is numbered");
    assert!(number.parse::<u64>().is_ok(), "{number}");
    undated(line)
}

#[test]
fn lines_are_dated_and_read_back() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(&directory.path().join("new"), "x").expect("it opens");
    append(&mut journal, &lines(0..3)).expect("it is written");
    let written = journal.tail(REMEMBERED);
    let undated: Vec<&str> = written.iter().map(|line| undated(line)).collect();
    assert_eq!(undated, lines(0..3));
    drop(journal);
    let journal = Journal::open(&directory.path().join("new"), "x").expect("it opens again");
    assert_eq!(journal.tail(REMEMBERED), written);
    assert_eq!(*journal.tail(1), written[2..]);
}

#[test]
fn a_torn_last_line_is_dropped() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    append(&mut journal, &lines(0..2)).expect("it is written");
    let path = journal.place.journal_path();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("it is there");
    file.write_all(b"2026-11-30T06:12:01Z + serv\xff")
        .expect("it is torn");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens again");
    assert_eq!(journal.tail(REMEMBERED).len(), 2);
    append(&mut journal, &lines(2..3)).expect("it is written");
    let text = fs::read_to_string(&path).expect("it is text again");
    let undated: Vec<&str> = text.lines().skip(1).map(unnumbered).collect();
    assert_eq!(undated, lines(0..3));
}

#[test]
fn it_does_not_grow_for_ever() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    for start in (0..50_000).step_by(1_000) {
        append(&mut journal, &lines(start..start + 1_000)).expect("it is written");
    }
    let path = journal.place.journal_path();
    let size = fs::metadata(&path).expect("it is there").len();
    assert!(size <= MAX_BYTES, "{size}");
    assert_eq!(journal.mark.map(|(_, size)| size), Some(size));
    let text = fs::read_to_string(&path).expect("it is text");
    let undated: Vec<&str> = text.lines().skip(1).map(unnumbered).collect();
    assert!(undated.len() > 5_000, "{}", undated.len());
    assert_eq!(undated, lines(50_000 - undated.len()..50_000));
    assert_eq!(journal.tail(usize::MAX).len(), REMEMBERED);
}

/// A server with tools, each a name and a description.
fn server(name: &str, tools: &[(&str, &str)]) -> Arc<Server> {
    let name = ServerName::new(name);
    let tools = tools.iter().map(|(tool, description)| {
        let raw = json!({ "name": tool, "description": description, "inputSchema": {} });
        let raw = to_raw_value(&raw).expect("it is JSON");
        Arc::new(Tool::parse(&name, 0, Arc::from(raw)).expect("it is a tool"))
    });
    let definitions = Definitions {
        tools: tools.collect(),
        ..Definitions::default()
    };
    Arc::new(Server {
        name: name.clone(),
        directory: Some(PathBuf::new()),
        roots: Vec::new(),
        definitions: Some(Arc::new(definitions)),
    })
}

fn snapshot_of(previous: Option<&Snapshot>, servers: &[Arc<Server>]) -> Snapshot {
    let servers = servers.iter().map(|server| {
        (
            server.name.clone(),
            (Arc::clone(server), ServerState::default()),
        )
    });
    let sources = Sources {
        servers: servers.collect::<BTreeMap<_, _>>(),
        ..Sources::default()
    };
    struct Epoch;
    impl FirstSeen for Epoch {
        fn first_seen(&mut self, _: &str, _: &[u8; 32]) -> std::time::SystemTime {
            std::time::SystemTime::UNIX_EPOCH
        }
    }
    Snapshot::build(previous, sources, IndexOptions::default(), &mut Epoch)
}

fn snapshot(name: &str) -> Snapshot {
    snapshot_of(None, &[server(name, &[])])
}

#[test]
fn what_changed_between_two_daemons_is_recorded() {
    let directory = TempDir::new().expect("a directory");
    let mut journal = Journal::open(directory.path(), "x").expect("it opens");
    assert_eq!(journal.record(None, &snapshot("a")), Ok(true));
    assert_eq!(
        journal.tail(1).first().map(|line| undated(line)),
        Some("+ a/ 0 tools")
    );
    let mut journal = Journal::open(directory.path(), "x").expect("it opens again");
    assert_eq!(journal.record(None, &snapshot("a")), Ok(false));
    assert_eq!(journal.record(None, &snapshot("b")), Ok(true));
    assert_eq!(
        journal.tail(1).first().map(|line| undated(line)),
        Some("+ b/ 0 tools")
    );
}

#[test]
fn times_are_kept_across_daemons_for_paths_that_stay() {
    let directory = TempDir::new().expect("a directory");
    let tree = snapshot("a").tree;
    let mut seen = SeenFile::open(directory.path(), "x").expect("it opens");
    let index = seen.first_seen("INDEX.md", &[1; 32]);
    let root = seen.first_seen("", &[2; 32]);
    let gone = seen.first_seen("mcp/gone/a b.md", &[3; 32]);
    seen.save(&tree).expect("it is saved");

    let mut seen = SeenFile::open(directory.path(), "x").expect("it opens again");
    assert_eq!(seen.first_seen("INDEX.md", &[1; 32]), index);
    assert_eq!(seen.first_seen("", &[2; 32]), root);
    assert!(
        seen.first_seen("mcp/gone/a b.md", &[3; 32]) > gone,
        "it was dropped"
    );
    assert!(seen.first_seen("INDEX.md", &[4; 32]) > index, "it is new");
    assert!(
        seen.first_seen("INDEX.md", &[1; 32]) > index,
        "it is back, and not as old as it was"
    );
}

#[test]
fn damaged_lines_are_passed_over() {
    let directory = TempDir::new().expect("a directory");
    let hash = "01".repeat(16);
    let text = format!("{hash} 5 INDEX.md\nnonsense\n{hash} 99999999999999999999 ALL.md\n{hash} 7");
    fs::write(directory.path().join("x.first-seen"), text).expect("it is written");
    let mut seen = SeenFile::open(directory.path(), "x").expect("it opens");
    let fifth = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(5);
    assert_eq!(seen.first_seen("INDEX.md", &[1; 32]), fifth);
    assert!(seen.first_seen("ALL.md", &[1; 32]) > fifth);
}

#[test]
fn nothing_new_is_not_written() {
    let directory = TempDir::new().expect("a directory");
    let mut seen = SeenFile::open(directory.path(), "x").expect("it opens");
    let tree = Directory::new(Vec::new(), std::time::SystemTime::UNIX_EPOCH);
    seen.save(&tree).expect("it is saved");
    assert!(!directory.path().join("x.first-seen").exists());
}
