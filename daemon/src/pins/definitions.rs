//! The definitions of servers: what was seen of them, and what is served of those whose pins are strict.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use skills::catalog::Sources;
use skills::entry_id::ServerName;
use skills::server::{Definitions, Server};
use skills::tool::Tool;

use super::hash::Hash;
use super::restoring::{self, Said};
use super::store::Store;
use super::subject::Subject;
use super::transition::{PinsBySubject, Sighting, is_news};
use super::{Applied, HeldBack, Scope, State};

/// What was made of each server last: as long as nothing changes it stays the very same, by which snapshots share it.
#[derive(Debug, Default)]
pub(super) struct ServedServers(BTreeMap<ServerName, Arc<Server>>);

/// Puts trusted definitions in place of those that are not.
pub(super) fn apply(
    state: &mut State,
    store: &Store,
    scope: &Scope,
    sources: &mut Sources,
    applied: &mut Applied,
) {
    let mut sightings = Vec::new();
    let servers = sources.servers.values();
    for (server, _) in servers.filter(|(server, _)| scope.pinning.is_strict(&server.name)) {
        if let Some(definitions) = &server.definitions {
            let pins = state.ledger.pins();
            sightings.extend(look(&server.name, definitions, true, pins, store));
        }
    }
    state.see(store, sightings);
    let mut served = ServedServers::default();
    for (name, (server, _)) in &mut sources.servers {
        let Some(definitions) = server.definitions.as_deref() else {
            continue;
        };
        if !scope.pinning.is_strict(name) {
            continue;
        }
        let before = state.servers.0.get(name);
        let serving = Serving {
            pins: state.ledger.pins(),
            store,
            name,
            before: before.and_then(|before| before.definitions.as_deref()),
        };
        let Some(replaced) = serving.definitions(definitions, applied) else {
            continue;
        };
        let is_same = |before: &&Arc<Server>| {
            let known = before.definitions.as_ref();
            let own = before.directory == server.directory && before.roots == server.roots;
            own && known.is_some_and(|known| known.same(&replaced))
        };
        *server = match before.filter(is_same) {
            Some(before) => Arc::clone(before),
            None => Arc::new(Server {
                name: name.clone(),
                directory: server.directory.clone(),
                roots: server.roots.clone(),
                definitions: Some(Arc::new(replaced)),
            }),
        };
        served.0.insert(name.clone(), Arc::clone(server));
    }
    state.servers = served;
}

/// What is seen of a server; what is new is kept.
pub(super) fn look(
    server: &ServerName,
    definitions: &Definitions,
    strict: bool,
    pins: &PinsBySubject,
    store: &Store,
) -> Vec<Sighting> {
    let sighting = |subject, hash| Sighting {
        subject,
        hash,
        looked: None,
        strict,
    };
    let said = Said::of(definitions);
    let seen = sighting(Subject::Server(server.clone()), Some(said.hash()));
    if is_news(pins, &seen) {
        keep(store, said.hash(), &said.to_bytes());
    }
    let mut sightings = vec![seen];
    let mut names = BTreeSet::new();
    for tool in &definitions.tools {
        let seen = sighting(Subject::tool(server, tool), Some(Hash(tool.hash)));
        if is_news(pins, &seen) {
            keep(store, Hash(tool.hash), tool.raw.get().as_bytes());
        }
        names.insert(&*tool.name);
        sightings.push(seen);
    }
    let first = Subject::Tool {
        server: server.clone(),
        name: String::new(),
    };
    let known = pins.range(first..).map(|(subject, _)| subject);
    let own = known.take_while(|subject| subject.server() == Some(server));
    let gone = own.filter(
        |subject| matches!(subject, Subject::Tool { name, .. } if !names.contains(name.as_str())),
    );
    // A tool that its server no longer has can't be called, so that it goes whatever was trusted.
    sightings.extend(gone.map(|subject| Sighting {
        strict: false,
        ..sighting(subject.clone(), None)
    }));
    sightings
}

/// Without its bytes a version is still known by its hash.
fn keep(store: &Store, hash: Hash, bytes: &[u8]) {
    if let Err(error) = store.put(hash, bytes) {
        tracing::warn!(%error, "a definition can't be kept, so its next change can't be shown");
    }
}

/// What one server is served as.
struct Serving<'a> {
    pins: &'a PinsBySubject,
    store: &'a Store,
    name: &'a ServerName,
    /// What it was served as before, where that was not what it said.
    before: Option<&'a Definitions>,
}

impl Serving<'_> {
    /// The definitions to be served in place of these; `None` when these are trusted.
    fn definitions(&self, now: &Definitions, applied: &mut Applied) -> Option<Definitions> {
        let mut is_replaced = false;
        let said = Said::of(now);
        let said = self.said(said, &mut is_replaced, applied);
        let mut tools = Vec::with_capacity(now.tools.len());
        for tool in &now.tools {
            let served = self.tool(tool, applied);
            is_replaced |= !served
                .as_ref()
                .is_some_and(|served| Arc::ptr_eq(served, tool));
            tools.extend(served);
        }
        is_replaced.then(|| Definitions {
            title: said.title,
            version: said.version,
            instructions: said.instructions,
            protocol: now.protocol.clone(),
            tools,
            // Neither resources nor prompts are pinned.
            offers: now.offers.clone(),
        })
    }

    fn said(&self, now: Said, is_replaced: &mut bool, applied: &mut Applied) -> Said {
        let subject = Subject::Server(self.name.clone());
        let trusted = self.pins.get(&subject).map(|pin| pin.trusted.hash);
        if trusted == Some(now.hash()) {
            return now;
        }
        *is_replaced = true;
        let said = trusted.and_then(|trusted| Said::load(self.store, trusted));
        if trusted.is_some() {
            applied.hold(subject, said.is_none());
        }
        said.unwrap_or(Said {
            title: None,
            version: None,
            instructions: None,
        })
    }

    /// The trusted version of a tool. Where nothing can be remembered a tool that is not known is not trusted either.
    fn tool(&self, now: &Arc<Tool>, applied: &mut Applied) -> Option<Arc<Tool>> {
        let subject = Subject::tool(self.name, now);
        let trusted = self.pins.get(&subject)?.trusted.hash;
        if trusted.0 == now.hash {
            return Some(Arc::clone(now));
        }
        let before = self.before.into_iter().flat_map(|before| &before.tools);
        let mut before = before.filter(|tool| tool.hash == trusted.0 && tool.name == now.name);
        let tool = match before.next() {
            Some(tool) => Some(Arc::clone(tool)),
            None => {
                restoring::tool(self.store, self.name, trusted).filter(|tool| tool.name == now.name)
            }
        };
        applied.hold(subject, tool.is_none());
        tool
    }
}

impl Applied {
    fn hold(&mut self, subject: Subject, is_missing: bool) {
        self.held.push(HeldBack {
            subject,
            is_gone: false,
            missing: is_missing.then(|| "what was trusted is not kept any more".to_owned()),
        });
    }
}
