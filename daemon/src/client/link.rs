//! Messages over a blocking socket, with a deadline and an interruption.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use skills::problem::{Problem, ProblemKind};

use crate::protocol::{MAX_LINE, Message};

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// The socket, and what of the next message has come.
#[derive(Debug)]
pub(super) struct Link {
    stream: UnixStream,
    buffered: Vec<u8>,
    /// How much of `buffered` is known to hold no end of a line.
    searched: usize,
}

/// What waiting for a message brought.
#[derive(Debug)]
pub(super) enum Received {
    Message(Box<Message>),
    Interrupted,
    TooLate,
}

impl Link {
    pub(super) const fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            buffered: Vec::new(),
            searched: 0,
        }
    }

    pub(super) fn send(&mut self, message: &Message) -> Result<(), Problem> {
        let line = message.to_line();
        if line.len() > MAX_LINE {
            return Err(Problem::new(
                ProblemKind::Usage,
                format!(
                    "the request is too long: {} bytes, {MAX_LINE} are allowed",
                    line.len()
                ),
            ));
        }
        match self.stream.write_all(line.as_bytes()) {
            // A daemon that closes says why first: the answer to this message is what it said.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|e| broken(&e)),
        }
    }

    /// Says that nothing more comes, which cancels what runs; what the daemon has to say about it can still be read.
    pub(super) fn close_writing(&self) {
        // A socket that can't be shut down is closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Whether something came behind the last message, which [`Link::descriptor`] no longer shows.
    pub(super) const fn is_ahead(&self) -> bool {
        !self.buffered.is_empty()
    }

    /// Becomes readable when the daemon says something, or is gone.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The next message. Blocks until it is there, `interrupt` becomes readable, or the deadline is over.
    pub(super) fn receive(
        &mut self,
        interrupt: Option<&OwnedFd>,
        deadline: Option<Instant>,
    ) -> Result<Received, Problem> {
        loop {
            if let Some(line) = self.buffered_line() {
                return serde_json::from_slice(&line)
                    .map(|message| Received::Message(Box::new(message)))
                    .map_err(|e| {
                        Problem::new(
                            ProblemKind::Daemon,
                            format!("the daemon's message can't be read: {e}"),
                        )
                    });
            }
            match self.wait(interrupt, deadline)? {
                Ready::Socket => self.fill()?,
                Ready::Interrupt => return Ok(Received::Interrupted),
                Ready::Deadline => return Ok(Received::TooLate),
            }
        }
    }

    fn buffered_line(&mut self) -> Option<Vec<u8>> {
        let unsearched = &self.buffered[self.searched..];
        let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffered.len();
            return None;
        };
        let rest = self.buffered.split_off(self.searched + end + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.buffered, rest))
    }

    fn fill(&mut self) -> Result<(), Problem> {
        let mut chunk = [0; CHUNK];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(Problem::new(
                ProblemKind::Daemon,
                "the daemon ended before it answered",
            )),
            Ok(length) => {
                self.buffered.extend_from_slice(&chunk[..length]);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(broken(&e)),
        }
    }

    fn wait(
        &self,
        interrupt: Option<&OwnedFd>,
        deadline: Option<Instant>,
    ) -> Result<Ready, Problem> {
        let mut watched = vec![PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN)];
        watched.extend(interrupt.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut watched, timeout.as_ref()) {
                Ok(0) => return Ok(Ready::Deadline),
                // The socket first: an answer that is already here is better than a cancellation.
                Ok(_) if !watched[0].revents().is_empty() => return Ok(Ready::Socket),
                Ok(_) => return Ok(Ready::Interrupt),
                Err(Errno::INTR) => {}
                Err(e) => return Err(broken(&e.into())),
            }
        }
    }
}

enum Ready {
    Socket,
    Interrupt,
    Deadline,
}

fn broken(error: &io::Error) -> Problem {
    Problem::new(
        ProblemKind::Daemon,
        format!("the connection to the daemon broke: {error}"),
    )
}
