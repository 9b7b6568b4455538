//! What goes on beside the catalog for its pins: what is served is remembered, and what other daemons of the catalog remember is seen.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::config_watch::ConfigWatch;
use crate::catalog::{Snapshots, SourceUpdate, Updates};
use crate::pins::Pins;

/// How long after a publication it is remembered: whoever waits for that publication has the machine first.
const PAUSE: Duration = Duration::from_millis(300);

/// Starts both; they end with the daemon.
pub(super) fn follow(
    pins: &Pins,
    snapshots: &Snapshots,
    updates: &Updates,
    shutdown: &CancellationToken,
) {
    let (remembering, watching) = (pins.clone(), pins.clone());
    let (snapshots, told) = (snapshots.clone(), updates.clone());
    let ended = shutdown.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = remember(remembering, snapshots, told) => {}
            () = ended.cancelled() => {}
        }
    });
    let (told, ended) = (updates.clone(), shutdown.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = watch(watching, told) => {}
            () = ended.cancelled() => {}
        }
    });
}

async fn remember(pins: Pins, snapshots: Snapshots, updates: Updates) {
    let mut generations = snapshots.generations();
    generations.mark_changed();
    while generations.changed().await.is_ok() {
        tokio::time::sleep(PAUSE).await;
        generations.mark_unchanged();
        let (pins, snapshot) = (pins.clone(), snapshots.current());
        let remembered = tokio::task::spawn_blocking(move || pins.remember(&snapshot.sources));
        if matches!(remembered.await, Ok(true)) {
            // A closed queue means that the daemon is ending.
            let _ = updates.send(SourceUpdate::Pins);
        }
    }
}

/// Without a watch the next publication sees what others wrote.
async fn watch(pins: Pins, updates: Updates) {
    let Some(mut ledger) = ConfigWatch::start(&[pins.ledger_path()]) else {
        return;
    };
    while let Some(()) = ledger.changed().await {
        let _ = updates.send(SourceUpdate::Pins);
    }
}
