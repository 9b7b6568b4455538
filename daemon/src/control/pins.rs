//! Pins over the socket: what differs from what is trusted, and taking it over. Only whose approvals count may do that.

use skills::problem::{Problem, ProblemKind};
use tokio::sync::oneshot;

use super::Context;
use super::connection::Request;
use crate::catalog::{Done, SourceUpdate};
use crate::protocol::{Difference, Differences, Trust, Trusted};

impl Context {
    /// How entries differ from what they were. The disk is read on a thread of its own.
    pub(super) async fn differences(&self, asked: Differences) -> Result<Vec<Difference>, Problem> {
        let (pins, snapshot) = (self.pins.clone(), self.snapshots.current());
        let compared = tokio::task::spawn_blocking(move || pins.differences(&snapshot, &asked));
        compared.await.unwrap_or_else(|error| Err(broken(&error)))
    }

    /// Trusts what was shown. It is published when this returns.
    pub(super) async fn trust(&self, asked: Trust, request: &Request) -> Result<Trusted, Problem> {
        self.only_approvers(request.caller.uid)?;
        let (pins, snapshot) = (self.pins.clone(), self.snapshots.current());
        let trusting = tokio::task::spawn_blocking(move || pins.trust(&snapshot, &asked));
        let trusted = trusting.await.unwrap_or_else(|error| Err(broken(&error)))?;
        let (done, published) = oneshot::channel();
        let done = Done::new(move |generation| {
            let _ = done.send(generation);
        });
        let _ = self.updates.send(SourceUpdate::Pins);
        if self.updates.send(SourceUpdate::Flush { done }).is_ok() {
            // It fails only when the daemon is ending.
            let _ = published.await;
        }
        Ok(trusted)
    }
}

fn broken(error: &tokio::task::JoinError) -> Problem {
    let message = format!("the reading of the pins broke down: {error}");
    Problem::new(ProblemKind::Internal, message)
}
