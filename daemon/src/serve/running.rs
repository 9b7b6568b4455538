//! The requests that are being worked on, each on a thread of its own, and how they are cancelled.

use std::collections::HashMap;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use skills::problem::{Problem, ProblemKind};

use super::message::Id;

/// How many run at the same time, at most.
const MOST: usize = 64;

/// One that runs.
#[derive(Debug)]
pub(super) struct Ticket {
    /// Becomes readable when it is cancelled.
    pub(super) interrupt: OwnedFd,
    /// Whose end cancels it.
    trigger: Mutex<Option<PipeWriter>>,
}

impl Ticket {
    pub(super) fn new() -> Result<Self, Problem> {
        let (reader, writer) = io::pipe().map_err(no_pipe)?;
        Ok(Self {
            interrupt: reader.into(),
            trigger: Mutex::new(Some(writer)),
        })
    }

    pub(super) fn cancel(&self) {
        drop(self.trigger().take());
    }

    /// Whether the client said that it does not wait for the answer any more.
    pub(super) fn is_cancelled(&self) -> bool {
        self.trigger().is_none()
    }

    fn trigger(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.trigger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a request was not begun.
#[derive(Debug)]
pub(super) enum NotBegun {
    /// Another one has its id.
    SameId,
    /// There are too many, or the machine has no more threads or descriptors.
    Busy(Problem),
}

/// All that run.
#[derive(Debug, Default)]
pub(super) struct Running {
    tickets: Mutex<HashMap<String, Arc<Ticket>>>,
    less: Condvar,
}

impl Running {
    /// Does the work on a thread of its own.
    pub(super) fn begin(
        self: &Arc<Self>,
        id: &Id,
        work: impl FnOnce(&Ticket) + Send + 'static,
    ) -> Result<(), NotBegun> {
        let key = id.key();
        let ticket = Arc::new(Ticket::new().map_err(NotBegun::Busy)?);
        {
            let mut tickets = self.tickets();
            if tickets.contains_key(&key) {
                return Err(NotBegun::SameId);
            }
            if tickets.len() >= MOST {
                let message = format!("{MOST} requests are being worked on already");
                let problem = Problem::new(ProblemKind::Usage, message);
                return Err(NotBegun::Busy(problem.hint("wait for one of them to end")));
            }
            tickets.insert(key.clone(), Arc::clone(&ticket));
        }
        // In its drop, so that a request which panics is forgotten too.
        let entry = Entry {
            running: Arc::clone(self),
            key,
        };
        let spawned = thread::Builder::new().spawn(move || {
            work(&ticket);
            drop(entry);
        });
        match spawned {
            Ok(_) => Ok(()),
            Err(error) => Err(NotBegun::Busy(Problem::new(
                ProblemKind::Internal,
                format!("no thread can be started: {error}"),
            ))),
        }
    }

    /// Cancels the request with this key; one that has ended already is no fault of the client's.
    pub(super) fn cancel(&self, key: &str) {
        if let Some(ticket) = self.tickets().get(key) {
            ticket.cancel();
        }
    }

    /// Cancels all of them.
    pub(super) fn cancel_all(&self) {
        for ticket in self.tickets().values() {
            ticket.cancel();
        }
    }

    /// Waits until none runs, at most so long.
    pub(super) fn wait(&self, limit: Duration) {
        let some = |tickets: &mut HashMap<_, _>| !tickets.is_empty();
        drop(self.less.wait_timeout_while(self.tickets(), limit, some));
    }

    fn tickets(&self) -> MutexGuard<'_, HashMap<String, Arc<Ticket>>> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a request among those that run.
struct Entry {
    running: Arc<Running>,
    key: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.running.tickets().remove(&self.key);
        self.running.less.notify_all();
    }
}

/// Why there is nothing to be interrupted by.
pub(super) fn no_pipe(error: io::Error) -> Problem {
    Problem::new(
        ProblemKind::Internal,
        format!("no pipe can be made: {error}"),
    )
}
