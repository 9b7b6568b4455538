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

/// What cancels one that runs.
#[derive(Debug)]
struct Trigger(Mutex<Option<PipeWriter>>);

impl Trigger {
    /// The other end becomes readable.
    fn pull(&self) {
        drop(self.writer().take());
    }

    fn is_pulled(&self) -> bool {
        self.writer().is_none()
    }

    fn writer(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    state: Mutex<State>,
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Those that were not answered, by the key of their id.
    unanswered: HashMap<String, Arc<Trigger>>,
    /// How many threads there are, of which some may be writing their answers.
    threads: usize,
}

impl Running {
    /// Does the work on a thread of its own.
    pub(super) fn begin(
        self: &Arc<Self>,
        id: &Id,
        work: impl FnOnce(&Ticket) + Send + 'static,
    ) -> Result<(), NotBegun> {
        let (reader, writer) = io::pipe().map_err(|e| NotBegun::Busy(no_pipe(e)))?;
        let trigger = Arc::new(Trigger(Mutex::new(Some(writer))));
        let key = id.key();
        {
            let mut state = self.state();
            if state.unanswered.contains_key(&key) {
                return Err(NotBegun::SameId);
            }
            if state.threads >= MOST {
                let message = format!("{MOST} requests are being worked on already");
                let problem = Problem::new(ProblemKind::Usage, message);
                return Err(NotBegun::Busy(problem.hint("wait for one of them to end")));
            }
            state.threads += 1;
            state.unanswered.insert(key.clone(), Arc::clone(&trigger));
        }
        let ticket = Ticket {
            interrupt: reader.into(),
            trigger,
            running: Arc::clone(self),
            key,
        };
        match thread::Builder::new().spawn(move || work(&ticket)) {
            Ok(_) => Ok(()),
            // The ticket went with the work.
            Err(error) => Err(NotBegun::Busy(Problem::new(
                ProblemKind::Internal,
                format!("no thread can be started: {error}"),
            ))),
        }
    }

    /// Cancels the request with this key; one that was answered already is no fault of the client's.
    pub(super) fn cancel(&self, key: &str) {
        if let Some(trigger) = self.state().unanswered.get(key) {
            trigger.pull();
        }
    }

    /// Cancels all of them.
    pub(super) fn cancel_all(&self) {
        for trigger in self.state().unanswered.values() {
            trigger.pull();
        }
    }

    /// Waits until none runs, at most so long.
    pub(super) fn wait(&self, limit: Duration) {
        let some = |state: &mut State| state.threads > 0;
        drop(self.fewer.wait_timeout_while(self.state(), limit, some));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a request among those that run. It is left when this is dropped, also by a request that panics.
#[derive(Debug)]
pub(super) struct Ticket {
    /// Becomes readable when the request is cancelled.
    pub(super) interrupt: OwnedFd,
    trigger: Arc<Trigger>,
    running: Arc<Running>,
    key: String,
}

impl Ticket {
    /// Whether the client said that it does not wait for the answer any more.
    pub(super) fn is_cancelled(&self) -> bool {
        self.trigger.is_pulled()
    }

    /// To be called before the request is answered, which it is not if this is false. From then on its id may be used again, as
    /// some clients do as soon as they have the answer.
    pub(super) fn may_answer(&self) -> bool {
        self.forget(&mut self.running.state());
        !self.is_cancelled()
    }

    fn forget(&self, state: &mut State) {
        let known = state.unanswered.get(&self.key);
        if known.is_some_and(|trigger| Arc::ptr_eq(trigger, &self.trigger)) {
            state.unanswered.remove(&self.key);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.running.state();
        self.forget(&mut state);
        state.threads -= 1;
        self.running.fewer.notify_all();
    }
}

/// Why there is nothing to be interrupted by.
pub(super) fn no_pipe(error: io::Error) -> Problem {
    Problem::new(
        ProblemKind::Internal,
        format!("no pipe can be made: {error}"),
    )
}
