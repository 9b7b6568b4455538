//! The wait for a server that is being asked for its tools while somebody already wants one of them.

use std::sync::Arc;
use std::time::Duration;

use skills::catalog::Snapshot;
use skills::problem::{Problem, ProblemKind};
use tokio::time::Instant;

use super::connection::Request;
use super::{Context, methods};

impl Context {
    /// The first snapshot in which an entry's server has said its tools, or failed to; at once when there is nothing to wait for.
    pub(super) async fn when_known(
        &self,
        entry: &str,
        limit: Duration,
        request: &Request,
    ) -> Result<Arc<Snapshot>, Problem> {
        let mut generations = self.snapshots.generations();
        let deadline = Instant::now() + limit;
        loop {
            generations.mark_unchanged();
            let snapshot = self.snapshots.current();
            let awaited = match methods::unknown_server(&snapshot, entry) {
                Some((server, state)) if !limit.is_zero() && state.may_answer() => server,
                _ => return Ok(snapshot),
            };
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return Ok(snapshot) },
                () = tokio::time::sleep_until(deadline) => return Err(Problem::new(
                    ProblemKind::TimedOut,
                    format!("server `{}` did not say its tools in {limit:?}", awaited.name),
                )
                .hint("give it more time, or see `shelf status`")),
                () = request.cancelled.cancelled() => return Err(Problem::new(
                    ProblemKind::Interrupted,
                    format!("interrupted while server `{}` was asked for its tools", awaited.name),
                )),
            }
        }
    }
}
