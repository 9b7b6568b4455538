//! What is asked of a server's task, in order.

use std::collections::VecDeque;

use skills::problem::Problem;
use tokio::sync::{mpsc, oneshot};

use super::Lease;

/// What is asked of the task.
#[derive(Debug)]
pub(in crate::servers) enum Message {
    /// Lend the connection, started if need be.
    Acquire(oneshot::Sender<Result<Lease, Problem>>),
    /// List the tools, started if need be, and stop again when nobody calls.
    Refresh(oneshot::Sender<Result<(), Problem>>),
    /// Stop it, calls under way or not.
    Stop {
        /// Whether it may be started at once, whatever failed before.
        afresh: bool,
        done: oneshot::Sender<()>,
    },
    /// Stop it and start it again, whatever failed before.
    Restart(oneshot::Sender<Result<(), Problem>>),
}

/// The messages that wait.
pub(super) struct Inbox {
    messages: mpsc::UnboundedReceiver<Message>,
    /// What was passed over while the calls were answered together.
    kept: VecDeque<Message>,
}

impl Inbox {
    pub(super) const fn new(messages: mpsc::UnboundedReceiver<Message>) -> Self {
        Self {
            messages,
            kept: VecDeque::new(),
        }
    }

    /// The next message; `None` when nobody can send one any more. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Message> {
        match self.kept.pop_front() {
            Some(message) => Some(message),
            None => self.messages.recv().await,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.messages.is_empty()
    }

    /// Gives those who waited for the same start the same answer, instead of starting it again for each. Who wants it stopped
    /// or started anew is served later.
    pub(super) fn refuse(&mut self, problem: &Problem) {
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Message::Acquire(ready) => drop(ready.send(Err(problem.clone()))),
                Message::Refresh(done) => drop(done.send(Err(problem.clone()))),
                Message::Stop { .. } | Message::Restart(_) => self.kept.push_back(message),
            }
        }
    }
}
