//! What is searched without a daemon: the index that was kept, when it is that of now, else one that is built and kept.
//!
//! It knows what an index was built from, not how an entry is found in it.

use std::sync::Arc;
use std::thread;

use skills::catalog::{Outline, Shown, Sources};
use skills::search::{Basis, SearchIndex};
use skills::server::{Server, ServerState};
use skills::skill::Skill;

use super::configured::Configured;
use crate::cache::IndexCache;

/// An index with the servers that it is about.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) index: SearchIndex,
    /// The servers, for what is asked of these; its entries may be left out, since the index has them.
    pub(super) servers: Outline,
}

impl Searched {
    /// The index that was kept, if it was built from what is there now. Its file, the definitions and the skills are read side by
    /// side.
    pub(super) fn kept(configured: &Configured, cache: &IndexCache) -> Option<Self> {
        // It was built from what was trusted then.
        if configured.is_pinned() {
            return None;
        }
        // Where there is none nothing need be read.
        cache.basis()?;
        let (stored, digests) = thread::scope(|scope| {
            let stored = scope.spawn(|| cache.load());
            scope.spawn(|| configured.skills());
            let digests = configured.digests();
            // What breaks down is as good as absent.
            (stored.join().ok().flatten(), digests)
        });
        let stored = stored?;
        let config = &configured.config;
        let basis = Basis::new(
            &digests,
            configured.skills(),
            &config.entries,
            &configured.hiding(),
            &config.search,
        );
        let servers = configured.roster(&digests);
        let servers = Outline::new(sources(configured, servers, Vec::new()));
        let index = stored.into_index(&basis, &servers, &config.search)?;
        Some(Self { index, servers })
    }

    /// Builds the index and keeps it for the next time, where it may be used then.
    pub(super) fn build(outline: Outline, configured: &Configured, cache: &IndexCache) -> Self {
        let index = SearchIndex::of_outline(&outline, &configured.config.search);
        if !outline.entries().is_empty() && !configured.is_pinned() {
            let basis = index.basis(outline.sources());
            if let Err(problem) = cache.store(&index, &basis) {
                tracing::debug!("the search index is not kept: {problem}");
            }
        }
        Self {
            index,
            servers: outline,
        }
    }

    /// Does something while the model is loaded, where meaning is searched.
    pub(super) fn warm<T>(configured: &Configured, work: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            if !configured.config.search.lexical {
                scope.spawn(SearchIndex::warm);
            }
            work()
        })
    }
}

/// Servers and skills with what the configuration says of entries.
pub(super) fn sources(
    configured: &Configured,
    servers: Vec<(Arc<Server>, ServerState)>,
    skills: Vec<Arc<Skill>>,
) -> Sources {
    let servers = servers.into_iter();
    Sources {
        servers: servers
            .map(|(server, state)| (server.name.clone(), (server, state)))
            .collect(),
        skills,
        entries: Arc::clone(&configured.config.entries),
        hiding: configured.hiding(),
        ..Sources::default()
    }
}
