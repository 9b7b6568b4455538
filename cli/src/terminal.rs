//! A question on the terminal: one line of an answer, waited for beside what makes it needless.
//!
//! It knows nothing of what is asked.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::stdio::stdin;

/// The longest answer in bytes: what a terminal takes for a line.
const LONGEST: usize = 4096;

/// What waiting for an answer brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A line, without its end.
    Line(String),
    /// The end of the input: the terminal has nothing more to say.
    End,
    /// The answer is no longer wanted.
    Over,
}

/// Whether somebody can be asked. Both ends count: a program that reads our output may have left us its terminal's input.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Throws away the lines that were typed before the question stood there: they answer something else.
pub(crate) fn forget_typed_ahead() {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut line = [0; LONGEST];
    loop {
        let mut watched = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        let is_there = matches!(poll(&mut watched, Some(&now)), Ok(1..));
        if !is_there || !matches!(read(stdin(), &mut line), Ok(1..)) {
            return;
        }
    }
}

/// Waits for a line, until `interrupt` or `connection` becomes readable.
pub(crate) fn line(interrupt: &OwnedFd, connection: BorrowedFd<'_>) -> Answer {
    let mut typed = Vec::new();
    loop {
        let mut watched = [connection, interrupt.as_fd(), stdin()]
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return Answer::End,
        }
        if watched[..2].iter().any(|ended| !ended.revents().is_empty()) {
            return Answer::Over;
        }
        let mut chunk = [0; LONGEST];
        match read(stdin(), &mut chunk) {
            Ok(length @ 1..) => typed.extend_from_slice(&chunk[..length]),
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Ok(_) | Err(_) => return Answer::End,
        }
        if let Some(end) = typed.iter().position(|&byte| byte == b'\n') {
            return Answer::Line(String::from_utf8_lossy(&typed[..end]).into_owned());
        }
        if typed.len() >= LONGEST {
            return Answer::End;
        }
    }
}
