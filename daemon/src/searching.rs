//! The search index of the current catalog, built off the read path.

use std::sync::{Arc, Mutex, PoisonError};

use skills::search::{SearchIndex, SearchOptions};

use crate::catalog::Snapshots;

/// Gives the search index of the current snapshot. Cloneable.
#[derive(Clone, Debug)]
pub struct Searcher {
    snapshots: Snapshots,
    state: Arc<Mutex<(SearchOptions, Option<Arc<SearchIndex>>)>>,
}

impl Searcher {
    /// Starts to follow the catalog.
    pub fn start(snapshots: Snapshots, options: SearchOptions) -> Self {
        Self {
            snapshots,
            state: Arc::new(Mutex::new((options, None))),
        }
    }

    /// The index of the current snapshot: waits (blocks) until it is built. Never call it on a FUSE thread or in async code.
    pub fn index(&self) -> Arc<SearchIndex> {
        let snapshot = self.snapshots.current();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (options, index) = &mut *state;
        match index {
            Some(index) if index.generation() == snapshot.generation => Arc::clone(index),
            index => {
                let built = SearchIndex::build(index.as_deref(), &snapshot, options);
                Arc::clone(index.insert(Arc::new(built)))
            }
        }
    }

    /// Replaces the options (an edited configuration).
    pub fn set_options(&self, options: SearchOptions) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (options, None);
    }
}
