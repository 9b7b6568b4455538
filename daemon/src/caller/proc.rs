//! The few facts of `/proc` that tell who a caller is.
//!
//! `environ` is the one file here that is read from the process's own memory. Its reader takes the process's
//! memory map lock, which the caller can't hold while it waits in `open`; another thread of it may, for as long as
//! a page fault takes, so that it is read once a process and never while a lock of ours is held.

use std::fs::File;
use std::io::Read;

/// The variable by which an agent names its session.
const SESSION_VARIABLE: &[u8] = b"SHELF_SESSION=";
/// The longest session name that is kept, in characters.
const SESSION_LENGTH: usize = 256;
/// How much of an environment is searched.
const ENVIRONMENT_LENGTH: u64 = 1 << 20;

/// What `stat` says of a thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// The name of the thread.
    pub(super) command: Box<str>,
    /// The POSIX session id, 0 when it lies outside our PID namespace.
    pub(super) session: u32,
    /// When the thread started, in clock ticks since boot.
    pub(super) start: u64,
}

/// Reads `stat` of one thread; of a process when given its id.
///
/// The file below `task` is the one that costs less: it does not add up the times of all the process's threads.
pub(super) fn thread_stat(thread: u32) -> Option<Stat> {
    let mut buffer = [0; 1024];
    let text = read_start(&format!("/proc/{thread}/task/{thread}/stat"), &mut buffer)?;
    parse_stat(text)
}

/// Parses `pid (name) state ppid pgrp session … starttime`: the name may hold spaces and parentheses, so the fields are counted
/// from the last parenthesis.
pub(super) fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let command = String::from_utf8_lossy(text.get(open + 1..close)?);
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    // The first of these is field 3; session is field 6, starttime field 22.
    let mut fields = rest.split_ascii_whitespace();
    let session: i64 = fields.nth(3)?.parse().ok()?;
    let start = fields.nth(15)?.parse().ok()?;
    Some(Stat {
        command: command.into(),
        // A session that ended with its namespace is shown as -1.
        session: u32::try_from(session).unwrap_or(0),
        start,
    })
}

/// The id of the process that a thread belongs to.
pub(super) fn process_of_thread(thread: u32) -> Option<u32> {
    let mut buffer = [0; 1024];
    let text = read_start(&format!("/proc/{thread}/status"), &mut buffer)?;
    // A name can't forge the line: a line break in it is shown as `\n`.
    text.split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"Tgid:"))
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|value| value.trim().parse().ok())
}

/// `SHELF_SESSION` as the process was executed with it; `None` when it is unset, empty or not ours to read.
pub(super) fn shelf_session(process: u32) -> Option<String> {
    let file = File::open(format!("/proc/{process}/environ")).ok()?;
    let mut environment = Vec::new();
    // What was read before an error still counts.
    let _ = file.take(ENVIRONMENT_LENGTH).read_to_end(&mut environment);
    session_in(&environment)
}

/// Finds the session's name in an environment block.
pub(super) fn session_in(environment: &[u8]) -> Option<String> {
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(SESSION_VARIABLE))?;
    session_name(&String::from_utf8_lossy(value))
}

/// A session's name as it is kept: each line of the log repeats it.
pub(crate) fn session_name(given: &str) -> Option<String> {
    let name: String = given.chars().take(SESSION_LENGTH).collect();
    (!name.is_empty()).then_some(name)
}

/// Reads the start of a file, as much as the buffer holds.
fn read_start<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut file = File::open(path).ok()?;
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]).ok()? {
            0 => break,
            more => length += more,
        }
    }
    Some(&buffer[..length])
}
