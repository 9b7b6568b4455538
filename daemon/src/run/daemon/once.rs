//! A mirror that is written once: there is no later, so everything is waited for.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skills::problem::{Problem, ProblemKind};

use super::{Daemon, settle};
use crate::catalog::SourceUpdate;
use crate::mirror::Mirror;
use crate::run::{Event, Options, identity};

/// How long the files wait for the tokens in them to be counted.
const COUNT_DEADLINE: Duration = Duration::from_secs(30);

impl Daemon {
    /// Writes the mirror, with all that its servers have to say.
    ///
    /// # Errors
    /// When it can't be written, or not whole.
    pub(super) async fn mirror_once(
        &self,
        target: &Path,
        options: &Options,
        started: Instant,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), Problem> {
        let deadline = tokio::time::Instant::now() + options.wait;
        let listing = self.first_listing(options.wait, on_event).await;
        // What is known, but old, is waited for too, and so is the end of the servers, that STATUS says.
        tokio::select! {
            _ = tokio::time::timeout_at(deadline, listing) => {}
            () = self.shutdown.cancelled() => {}
        }
        if self.shutdown.is_cancelled() {
            return Err(Problem::new(
                ProblemKind::Interrupted,
                "interrupted; nothing was written",
            ));
        }
        settle(&self.updates, |done| SourceUpdate::Flush { done }).await;
        self.settle_counts().await;
        let tree = Arc::clone(&self.snapshots.current().tree);
        let manifest = identity::manifest_path(&options.surroundings.directories.state, target);
        let report = tokio::task::block_in_place(|| Mirror::open(target, &manifest)?.write(&tree))?;
        let Event::Ready {
            mount_point,
            entries,
            mut problems,
            elapsed_ms,
            pending,
        } = self.ready(Some(target.to_owned()), started)
        else {
            return Ok(());
        };
        problems.extend(report.problems);
        let failed = report.failed;
        on_event(Event::Ready {
            mount_point,
            entries,
            problems,
            elapsed_ms,
            pending,
        });
        if failed == 0 {
            return Ok(());
        }
        let message =
            format!("the mirror is not whole: {failed} of its files could not be written");
        Err(Problem::new(ProblemKind::Mount, message)
            .at_file(target, None)
            .hint("see to what the warnings name, and mirror again"))
    }

    /// Waits until every count of tokens is exact; not for ever, as estimates are better than no files.
    async fn settle_counts(&self) {
        let mut generations = self.snapshots.generations();
        let counted = generations.wait_for(|_| self.snapshots.current().is_counted());
        tokio::select! {
            counted = tokio::time::timeout(COUNT_DEADLINE, counted) => if counted.is_err() {
                tracing::warn!("tokens could not be counted in time, so the indexes have estimates");
            },
            () = self.shutdown.cancelled() => {}
        }
    }
}
