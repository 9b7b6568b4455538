//! Keeps the index on disk, where searches without a daemon find it.
//!
//! It knows what was kept last, not when there is something to keep.

use std::panic::{AssertUnwindSafe, catch_unwind};

use skills::search::Mark;

use super::Built;
use crate::cache::IndexCache;

/// Writes each index that differs from the one before.
#[derive(Debug)]
pub(super) struct Keeper {
    cache: IndexCache,
    /// The index that was kept last, or could not be.
    last: Option<Mark>,
}

impl Keeper {
    pub(super) const fn new(cache: IndexCache) -> Self {
        Self { cache, last: None }
    }

    /// Writes the index, unless it is there. Nobody waits for it, and nothing depends on it.
    pub(super) fn keep(&mut self, built: &Built) {
        // One that stayed in use because the next could not be built is not of this snapshot.
        let is_of_it = built.index.generation() == built.snapshot.generation;
        let mark = Some(built.index.mark());
        if !is_of_it || self.last == mark {
            return;
        }
        self.last = mark;
        let kept = catch_unwind(AssertUnwindSafe(|| {
            let basis = built.index.basis(&built.snapshot.sources);
            if self.cache.has(&basis) {
                return Ok(());
            }
            self.cache.store(&built.index, &basis)
        }));
        match kept {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => tracing::warn!("the search index is not kept: {problem}"),
            Err(_) => tracing::warn!("the search index could not be kept"),
        }
    }
}
