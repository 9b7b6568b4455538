//! The way to the task that owns a server: what it is asked through, and what is known of it meanwhile.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use skills::problem::Problem;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::history::History;
use super::supervisor::Message;

/// The way to one server's task. The task ends when the last one is dropped and it has nothing left to answer.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) inbox: mpsc::UnboundedSender<Message>,
    pub(super) history: History,
    /// How many calls are under way.
    pub(super) in_use: watch::Sender<usize>,
    pub(super) attempt: Attempt,
    pub(super) log_path: PathBuf,
}

/// The start that is under way, which can be given up.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempt(Arc<Mutex<CancellationToken>>);

impl Attempt {
    /// Begins a start that also ends with `parent`.
    pub(super) fn begin(&self, parent: &CancellationToken) -> CancellationToken {
        let token = parent.child_token();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }

    /// Gives the start up, if one is under way.
    pub(super) fn give_up(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .cancel();
    }
}

impl Handle {
    /// Stops the server, calls under way or not; the next call starts it, with `afresh` whatever failed before.
    pub(super) async fn stop(&self, afresh: bool) {
        let (done, stopped) = oneshot::channel();
        self.attempt.give_up();
        if self.inbox.send(Message::Stop { afresh, done }).is_ok() {
            // A task that ends meanwhile stops it, too.
            let _ = stopped.await;
        }
    }

    /// Stops the server and starts it again, whatever failed before. `None` when it is gone from the configuration meanwhile.
    pub(super) async fn restart(&self) -> Option<Result<(), Problem>> {
        let (done, restarted) = oneshot::channel();
        self.attempt.give_up();
        self.inbox.send(Message::Restart(done)).ok()?;
        restarted.await.ok()
    }
}
