//! What is known of a server, and how the catalog and the cache learn of it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use skills::problem::Problem;
use skills::server::{Definitions, Phase, Server, ServerState, protocol_revision};

use super::{Role, Supervisor};
use crate::cache::{Cached, Era};
use crate::catalog::SourceUpdate;
use crate::servers::connection::Connection;
use crate::servers::listing::Listing;

/// The definitions that are shown, shared with whoever asks how old they are.
#[derive(Clone, Debug, Default)]
pub(in crate::servers) struct Known(Arc<Mutex<Option<Cached>>>);

impl Known {
    /// Starts from what is known already.
    pub(in crate::servers) fn new(cached: Option<Cached>) -> Self {
        Self(Arc::new(Mutex::new(cached)))
    }

    /// What is known.
    pub(in crate::servers) fn get(&self) -> MutexGuard<'_, Option<Cached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Supervisor {
    /// Takes over what the server answered, for the catalog and the cache.
    pub(super) async fn publish(&self, listing: Listing, connection: &Connection) {
        if self.role == Role::Session || self.stopping.is_cancelled() {
            return;
        }
        let before = self.known.get().clone();
        let about = connection.about();
        let about = about.as_deref();
        let implementation = about.and_then(|about| about.server_info.as_ref());
        let definitions = Definitions {
            title: implementation
                .map(|server| server.title.clone().unwrap_or_else(|| server.name.clone())),
            version: implementation.map(|server| server.version.clone()),
            instructions: about.and_then(|about| about.instructions.clone()),
            protocol: about
                .and_then(|about| protocol_revision(about.protocol_version.as_str()))
                .map(str::to_owned),
            tools: listing.tools,
            offers: match &before {
                // A list that can't be had now is shown as it was.
                Some(before) => listing.offers.or(&before.definitions.offers),
                None => listing.offers,
            },
        };
        // Content that only churns (key order, the order of tools) keeps the bytes that were shown.
        let unchanged = before
            .as_ref()
            .filter(|before| before.definitions.same(&definitions));
        let shown = unchanged.map(|before| Arc::clone(&before.definitions));
        let nothing_new = unchanged.is_some_and(|before| before.problems == listing.problems);
        let definitions = shown.unwrap_or_else(|| Arc::new(definitions));
        *self.known.get() = Some(Cached {
            definitions: Arc::clone(&definitions),
            problems: listing.problems.clone(),
            freshness: self.freshness,
            listed: SystemTime::now(),
            era: Some(connection.era()),
        });
        self.store(Arc::clone(&definitions), connection.era()).await;
        if !nothing_new {
            self.send_server(definitions, listing.problems);
        }
        let name = self.name.clone();
        // After the definitions that it is about. The catalog outlives the servers.
        let _ = self.updates.send(SourceUpdate::Listed { name });
    }

    async fn store(&self, definitions: Arc<Definitions>, era: Era) {
        let (cache, name, freshness) = (self.cache.clone(), self.name.clone(), self.freshness);
        let stored = tokio::task::spawn_blocking(move || {
            cache.store(&name, &definitions, freshness, Some(era))
        });
        match stored.await {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => tracing::warn!(%problem, "the definitions are not cached"),
            Err(error) => tracing::warn!(%error, "the definitions are not cached"),
        }
    }

    fn send_server(&self, definitions: Arc<Definitions>, problems: Vec<Problem>) {
        let server = Arc::new(Server {
            name: self.name.clone(),
            directory: self.access.directory().map(Path::to_owned),
            roots: self.roots.clone(),
            definitions: Some(definitions),
        });
        // The catalog outlives the servers; when it is gone, nobody looks any more.
        let _ = self.updates.send(SourceUpdate::Server { server, problems });
    }

    /// Says the state when it is another than before.
    pub(super) fn say(&mut self, phase: Phase, stale: Option<SystemTime>) {
        let state = ServerState { phase, stale };
        // Once it is to stop, its successor of the same name may have spoken already.
        if state != self.state && !self.stopping.is_cancelled() {
            self.state = state.clone();
            self.history.set_phase(state.phase.clone());
            if self.role == Role::Session {
                return;
            }
            let name = self.name.clone();
            let _ = self.updates.send(SourceUpdate::State { name, state });
        }
    }
}
