//! The thread that builds the index while nobody waits for it.
//!
//! It knows when to build, and leaves building itself to [`Shared`].

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::keeper::Keeper;
use super::{Built, Revised, Shared};

/// How long nothing may be published for a burst to be over.
const QUIET: Duration = Duration::from_millis(50);

/// How long a burst may hold the index up.
const LONGEST_BURST: Duration = Duration::from_millis(500);

/// How long an index must stay before it is kept on disk: servers that are asked for their tools answer one by one.
const SETTLED: Duration = Duration::from_secs(1);

/// Starts the thread. It ends with the catalog's writer, or once no searcher is left and something changes.
pub(super) fn start(shared: &Arc<Shared>, keeper: Option<Keeper>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let follower = Follower {
        generations: shared.snapshots.generations(),
        options: shared.options.subscribe(),
        // Not kept alive from here: the options' sender would never go, and the wait never end.
        shared: Arc::downgrade(shared),
        keeper,
    };
    thread::Builder::new()
        .name("search".into())
        .spawn(move || runtime.block_on(follower.run()))
        .map(drop)
}

struct Follower {
    generations: watch::Receiver<u64>,
    options: watch::Receiver<Revised>,
    shared: Weak<Shared>,
    keeper: Option<Keeper>,
}

impl Follower {
    async fn run(mut self) {
        loop {
            self.generations.mark_unchanged();
            self.options.mark_unchanged();
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            // It is alone on its thread, so nothing is kept waiting. Who searches is told of a fault; the next snapshot may be better.
            let built = catch_unwind(AssertUnwindSafe(|| shared.current()));
            drop(shared);
            let changed = match built {
                Ok(built) => self.changed_or_kept(built).await,
                Err(_) => {
                    tracing::warn!("the search index could not be built");
                    self.changed().await
                }
            };
            if !changed || !self.quiet().await {
                return;
            }
        }
    }

    /// Waits for something to be new; false when nothing ever will.
    async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.generations.changed() => changed.is_ok(),
            changed = self.options.changed() => changed.is_ok(),
        }
    }

    /// The same; meanwhile an index that stays is kept.
    async fn changed_or_kept(&mut self, built: Arc<Built>) -> bool {
        let until = Instant::now() + SETTLED;
        if let Ok(changed) = timeout_at(until, self.changed()).await {
            return changed;
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.keep(&built);
        }
        drop(built);
        self.changed().await
    }

    /// Waits for the end of a burst; false when nothing will ever be new.
    async fn quiet(&mut self) -> bool {
        let limit = Instant::now() + LONGEST_BURST;
        loop {
            let until = limit.min(Instant::now() + QUIET);
            match timeout_at(until, self.changed()).await {
                Ok(false) => return false,
                Ok(true) if Instant::now() < limit => {}
                Ok(true) | Err(_) => return true,
            }
        }
    }
}
