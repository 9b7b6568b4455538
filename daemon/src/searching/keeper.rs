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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use skills::catalog::{FirstSeen, IndexOptions, Snapshot, Sources};
    use skills::entry_id::ServerName;
    use skills::search::{SearchIndex, SearchOptions};
    use skills::server::{Server, ServerState};

    use super::Keeper;
    use crate::cache::IndexCache;
    use crate::searching::Built;

    struct Always;

    impl FirstSeen for Always {
        fn first_seen(&mut self, _: &str, _: &[u8; 32]) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }
    }

    /// A snapshot of these servers, after another one.
    fn snapshot(previous: Option<&Snapshot>, servers: &[&str]) -> Arc<Snapshot> {
        let servers = servers.iter().map(|name| {
            let server = Server {
                name: ServerName::new(name),
                directory: None,
                roots: Vec::new(),
                definitions: Some(Arc::default()),
            };
            (
                server.name.clone(),
                (Arc::new(server), ServerState::default()),
            )
        });
        let sources = Sources {
            servers: servers.collect(),
            ..Sources::default()
        };
        let options = IndexOptions::default();
        Arc::new(Snapshot::build(previous, sources, options, &mut Always))
    }

    fn built(index: &Arc<SearchIndex>, snapshot: &Arc<Snapshot>) -> Built {
        Built {
            index: Arc::clone(index),
            snapshot: Arc::clone(snapshot),
            revision: 0,
        }
    }

    #[test]
    fn what_is_new_is_written_and_an_index_that_is_not_of_its_snapshot_never() {
        let place = tempfile::tempdir().unwrap();
        let cache = IndexCache::new(place.path(), "a");
        let mut keeper = Keeper::new(cache.clone());
        let options = SearchOptions::default();
        let one = snapshot(None, &["one"]);
        let first = Arc::new(SearchIndex::build(None, &one, &options));
        let (basis, file) = (first.basis(&one.sources), place.path().join("search"));
        assert!(!cache.has(&basis));
        keeper.keep(&built(&first, &one));
        assert!(cache.has(&basis) && cache.load().is_some());

        // As long as nothing is new nobody looks whether it is still there.
        std::fs::remove_dir_all(&file).unwrap();
        let later = snapshot(Some(&one), &["one"]);
        let same = Arc::new(SearchIndex::build(Some(&first), &later, &options));
        keeper.keep(&built(&same, &later));
        assert!(!file.exists());

        // The index of before stays in use where the next can't be built.
        let two = snapshot(Some(&later), &["one", "two"]);
        keeper.keep(&built(&same, &two));
        assert!(!file.exists());
        let next = Arc::new(SearchIndex::build(Some(&same), &two, &options));
        keeper.keep(&built(&next, &two));
        assert!(cache.has(&next.basis(&two.sources)) && !cache.has(&basis));
    }
}
