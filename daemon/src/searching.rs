//! The search index of the current catalog, built on a thread of its own, off the read path.

use std::sync::Arc;

use skills::search::{SearchIndex, SearchOptions};

use crate::catalog::Snapshots;

/// The reading end. Cloneable.
#[derive(Clone, Debug)]
pub struct Searcher {}

impl Searcher {
    /// Starts the thread that follows the catalog. Nothing is built before it is first asked for.
    pub fn start(snapshots: Snapshots, options: SearchOptions) -> Self {
        let _ = (snapshots, options);
        todo!()
    }

    /// The index of the current snapshot: waits (blocks) until it is built. Never call it on a FUSE thread or in async code.
    pub fn index(&self) -> Arc<SearchIndex> {
        todo!()
    }

    /// Replaces the options (an edited configuration).
    pub fn set_options(&self, options: SearchOptions) {
        let _ = options;
        todo!()
    }
}
