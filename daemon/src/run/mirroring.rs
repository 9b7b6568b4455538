//! The mirror as the output of a daemon: written anew with each new snapshot, by one task.

use std::path::Path;
use std::sync::Arc;

use skills::problem::Problem;
use skills::tree::Directory;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Snapshots, SourceUpdate, Updates};
use crate::mirror::Mirror;

/// The task that keeps a mirror.
#[derive(Debug)]
pub(super) struct Keeper {
    task: JoinHandle<()>,
    stopping: CancellationToken,
    /// The generation that the target shows.
    shown: watch::Receiver<u64>,
}

impl Keeper {
    /// Writes the current snapshot to `target`, and every later one until it is stopped. When the target is removed or
    /// replaced, `gone` is cancelled.
    ///
    /// # Errors
    /// When the target can't be used, or another process writes there.
    pub(super) fn start(
        target: &Path,
        manifest: &Path,
        snapshots: &Snapshots,
        updates: &Updates,
        gone: &CancellationToken,
    ) -> Result<Self, Problem> {
        let mirror = tokio::task::block_in_place(|| Mirror::open(target, manifest))?;
        let stopping = CancellationToken::new();
        let (showing, shown) = watch::channel(0);
        let keeping = Keeping {
            mirror,
            snapshots: snapshots.clone(),
            updates: updates.clone(),
            gone: gone.clone(),
            stopping: stopping.clone(),
            showing,
        };
        Ok(Self {
            task: tokio::spawn(keeping.run()),
            stopping,
            shown,
        })
    }

    /// Waits until the target shows a generation or a later one.
    pub(super) async fn settle(&self, generation: u64) {
        // The other end is gone when the target is; then there is nothing to wait for.
        let _ = self
            .shown
            .clone()
            .wait_for(|shown| *shown >= generation)
            .await;
    }

    /// Ends the task once the target shows a generation. The files stay.
    pub(super) async fn stop(self, generation: u64) {
        self.settle(generation).await;
        self.stopping.cancel();
        let _ = self.task.await;
    }
}

/// The task's own state.
struct Keeping {
    mirror: Mirror,
    snapshots: Snapshots,
    updates: Updates,
    gone: CancellationToken,
    stopping: CancellationToken,
    showing: watch::Sender<u64>,
}

impl Keeping {
    async fn run(mut self) {
        let mut generations = self.snapshots.generations();
        loop {
            generations.mark_unchanged();
            let snapshot = self.snapshots.current();
            if !self.mirror.has_written(&snapshot.tree) {
                let tree = Arc::clone(&snapshot.tree);
                let Some(mirror) = write(self.mirror, tree, self.updates.clone()).await else {
                    self.gone.cancel();
                    return;
                };
                self.mirror = mirror;
            }
            self.showing.send_replace(snapshot.generation);
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return },
                () = self.stopping.cancelled() => return,
            }
        }
    }
}

/// Writes where a disk may be waited for; `None` when the target is no longer there.
async fn write(mut mirror: Mirror, tree: Arc<Directory>, updates: Updates) -> Option<Mirror> {
    let written = tokio::task::spawn_blocking(move || {
        if !mirror.is_in_place() {
            return None;
        }
        let problems = match mirror.write(&tree) {
            Ok(report) => report.problems,
            Err(problem) => vec![problem],
        };
        // A snapshot that differs by these problems alone has the same tree, so this comes to rest.
        let _ = updates.send(SourceUpdate::Problems {
            source: "mirror".into(),
            problems,
        });
        Some(mirror)
    });
    written.await.ok().flatten()
}
