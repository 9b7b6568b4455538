//! The wait for a server that is being asked for its tools while somebody already wants one of them.

use std::sync::Arc;
use std::time::Duration;

use skills::catalog::Snapshot;
use skills::problem::{Problem, ProblemKind};
use skills::server::Phase;
use tokio::time::Instant;

use super::connection::Request;
use super::{Context, methods};

impl Context {
    /// The first snapshot in which an entry's server has said its tools, or failed to; at once when there is nothing to wait for.
    /// One that failed is asked again, since what kept it may be over.
    pub(super) async fn when_known(
        &self,
        entry: &str,
        limit: Duration,
        request: &Request,
    ) -> Result<Arc<Snapshot>, Problem> {
        let mut generations = self.snapshots.generations();
        let deadline = Instant::now() + limit;
        let mut asked_again = false;
        loop {
            generations.mark_unchanged();
            let snapshot = self.snapshots.current();
            let (server, failed) = match methods::unknown_server(&*snapshot, entry) {
                Some((server, state)) if !limit.is_zero() && state.phase != Phase::Disabled => {
                    (server, !state.may_answer())
                }
                _ => return Ok(snapshot),
            };
            let news = async {
                if !failed || asked_again {
                    return Ok(generations.changed().await.is_ok());
                }
                match self.servers.ask_again(&server.name).await {
                    Some(answer) => answer.map(|()| true),
                    None => Ok(false),
                }
            };
            let may_come = tokio::select! {
                news = news => news?,
                () = tokio::time::sleep_until(deadline) => return Err(Problem::new(
                    ProblemKind::TimedOut,
                    format!("server `{}` did not say its tools in {limit:?}", server.name),
                )
                .hint("give it more time, or see `shelf status`")),
                () = request.cancelled.cancelled() => return Err(Problem::new(
                    ProblemKind::Interrupted,
                    format!("interrupted while server `{}` was asked for its tools", server.name),
                )),
            };
            if !may_come {
                return Ok(snapshot);
            }
            // What it said then is in a snapshot soon, if not in the next.
            asked_again |= failed;
        }
    }
}
