//! The search index of the current catalog, built off the read path.
//!
//! It knows when an index has to be built, not how a request is ranked.

mod follower;
mod keeper;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use skills::catalog::Snapshot;
use skills::search::{SearchIndex, SearchOptions};
use tokio::sync::watch;

use crate::cache::IndexCache;
use crate::catalog::Snapshots;
use keeper::Keeper;

/// How an index is made.
type Build = fn(Option<&SearchIndex>, &Snapshot, &SearchOptions) -> SearchIndex;

/// Gives the search index of the current snapshot. Cloneable.
#[derive(Clone, Debug)]
pub struct Searcher(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    snapshots: Snapshots,
    build: Build,
    /// The options, whose every replacement wakes the follower.
    options: watch::Sender<Revised>,
    /// Held while an index is built, so that each is built once and whoever needs it too waits for that.
    building: Mutex<()>,
    built: ArcSwapOption<Built>,
}

/// The options, and how often they were replaced.
#[derive(Clone, Debug, Default)]
struct Revised {
    revision: u64,
    options: SearchOptions,
}

/// An index with what it was built from.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) index: Arc<SearchIndex>,
    pub(crate) snapshot: Arc<Snapshot>,
    revision: u64,
}

impl Searcher {
    /// Makes a searcher over the catalog. Nothing is built before [`Searcher::follow`] or the first search.
    pub fn start(snapshots: Snapshots, options: SearchOptions) -> Self {
        Self::building_by(SearchIndex::build, snapshots, options)
    }

    fn building_by(build: Build, snapshots: Snapshots, options: SearchOptions) -> Self {
        let revision = 0;
        let (options, _) = watch::channel(Revised { revision, options });
        Self(Arc::new(Shared {
            snapshots,
            build,
            options,
            building: Mutex::default(),
            built: ArcSwapOption::empty(),
        }))
    }

    /// Builds the index from now on in the background whenever the catalog changes, on a thread that ends with the catalog; an index
    /// that has stayed for a moment is kept there, for searches without a daemon.
    pub fn follow(&self, kept: Option<IndexCache>) {
        if let Err(error) = follower::start(&self.0, kept.map(Keeper::new)) {
            tracing::warn!("the search index is built at each search only: {error}");
        }
    }

    /// The index of the current snapshot: waits (blocks) until it is built. Never call it on a FUSE thread or in async code.
    ///
    /// Where building breaks down, the index before stays in use.
    pub fn index(&self) -> Arc<SearchIndex> {
        Arc::clone(&self.current().index)
    }

    /// The index that was built last, which may be that of an earlier snapshot; never waits. `None` before the first is built.
    pub fn try_index(&self) -> Option<Arc<SearchIndex>> {
        let built = self.0.built.load_full()?;
        Some(Arc::clone(&built.index))
    }

    /// [`Searcher::index`] with the snapshot that it was built from.
    pub(crate) fn current(&self) -> Arc<Built> {
        self.0.current()
    }

    /// Replaces the options (an edited configuration).
    pub fn set_options(&self, options: SearchOptions) {
        self.0.options.send_if_modified(|revised| {
            let differ = revised.options != options;
            if differ {
                revised.revision += 1;
                revised.options = options;
            }
            differ
        });
    }
}

impl Shared {
    fn current(&self) -> Arc<Built> {
        if let Some(built) = self.fresh() {
            return built;
        }
        // A build that broke down left nothing half done.
        let building: MutexGuard<'_, ()> =
            self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let built = self.fresh().map_or_else(|| self.next(), Ok);
        drop(building);
        built.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// What is built already, if nothing has changed since.
    fn fresh(&self) -> Option<Arc<Built>> {
        let built = self.built.load_full()?;
        let same_options = built.revision == self.options.borrow().revision;
        let same_catalog = built.snapshot.generation == self.snapshots.current().generation;
        (same_options && same_catalog).then_some(built)
    }

    /// Builds the index of the current snapshot. Only for whoever holds `building`.
    fn next(&self) -> std::thread::Result<Arc<Built>> {
        let previous = self.built.load_full();
        let snapshot = self.snapshots.current();
        let Revised { revision, options } = self.options.borrow().clone();
        let before = previous.as_ref().map(|built| &*built.index);
        let built = catch_unwind(AssertUnwindSafe(|| {
            Arc::new((self.build)(before, &snapshot, &options))
        }));
        let index = match (built, previous) {
            (Ok(index), _) => index,
            (Err(_), Some(previous)) => {
                tracing::warn!("the search index could not be built, the one before stays in use");
                Arc::clone(&previous.index)
            }
            (Err(panic), None) => return Err(panic),
        };
        let built = Arc::new(Built {
            index,
            snapshot,
            revision,
        });
        self.built.store(Some(Arc::clone(&built)));
        Ok(built)
    }
}
