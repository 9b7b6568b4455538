//! The listing at start: servers of which nothing is known yet hold up the announcement for a while.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Event;
use crate::catalog::Snapshots;
use crate::servers::Servers;

/// Lists the servers that need it, and waits for those of which nothing is known yet, at most for `wait`. The others are
/// listed when the task ends.
pub(super) async fn run(
    servers: Servers,
    snapshots: &Snapshots,
    wait: Duration,
    shutdown: &CancellationToken,
    on_event: &mut dyn FnMut(Event),
) -> JoinHandle<()> {
    let listing = tokio::spawn(async move { servers.refresh().await });
    let mut generations = snapshots.generations();
    let deadline = Instant::now() + wait;
    let mut said = usize::MAX;
    loop {
        let pending = pending(snapshots);
        if pending.is_empty() {
            return listing;
        }
        if pending.len() != said {
            said = pending.len();
            let noun = if said == 1 { "server" } else { "servers" };
            let message = format!(
                "asking {said} {noun} for their tools: {}",
                pending.join(", ")
            );
            on_event(Event::Progress { message });
        }
        tokio::select! {
            changed = generations.changed() => if changed.is_err() { return listing },
            () = sleep_until(deadline) => return listing,
            () = shutdown.cancelled() => return listing,
        }
    }
}

/// The servers that may still answer: definitions unknown, and neither failed nor disabled.
pub(super) fn pending(snapshots: &Snapshots) -> Vec<String> {
    let snapshot = snapshots.current();
    let unknown = snapshot
        .sources
        .servers
        .values()
        .filter(|(server, state)| server.definitions.is_none() && state.may_answer());
    unknown.map(|(server, _)| server.name.to_string()).collect()
}
