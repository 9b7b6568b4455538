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
use super::subject::{PinnedServer, Subject};
use super::transition::{Pin, PinsBySubject, Sighting, Told, is_news};
use super::{Applied, HeldBack, Scope, State};

/// What was made of each server last: as long as nothing changes it stays the very same, by which snapshots share it.
#[derive(Debug, Default)]
pub(super) struct ServedServers {
    replaced: BTreeMap<ServerName, Arc<Server>>,
    /// What was taken over of each.
    taken: BTreeMap<ServerName, Arc<Definitions>>,
    /// The servers that were listed since they were looked at.
    listed: BTreeSet<ServerName>,
}

impl ServedServers {
    /// Says that a server was listed, whatever came of it.
    pub(super) fn tell_listed(&mut self, name: ServerName) {
        self.listed.insert(name);
    }

    /// Whether something else is served of a server than it said.
    pub(super) fn is_replaced(&self, name: &ServerName) -> bool {
        self.replaced.contains_key(name)
    }

    fn told(&self, name: &ServerName, definitions: &Arc<Definitions>) -> Told {
        let taken = self.taken.get(name);
        if self.listed.contains(name) {
            Told::Now
        } else if taken.is_some_and(|taken| Arc::ptr_eq(taken, definitions)) {
            Told::Still
        } else {
            Told::Before
        }
    }
}

/// Puts trusted definitions in place of those that are not.
pub(super) fn apply(
    state: &mut State,
    store: &Store,
    scope: &Scope,
    sources: &mut Sources,
    applied: &mut Applied,
) {
    let mut sightings = Vec::new();
    let mut taken = BTreeMap::new();
    let servers = sources.servers.iter();
    for (name, (server, _)) in servers.filter(|(name, _)| scope.pinning.is_strict(name)) {
        if let Some(definitions) = &server.definitions {
            let pins = state.ledger.pins();
            let strict = Some(state.servers.told(name, definitions));
            sightings.extend(look(&scope.server(name), definitions, strict, pins, store));
            taken.insert(name.clone(), Arc::clone(definitions));
        }
    }
    if state.see(store, sightings) {
        state.servers.listed.clear();
        state.servers.taken = taken;
    }
    let mut replaced_servers = BTreeMap::new();
    for (name, (server, _)) in &mut sources.servers {
        let Some(definitions) = server.definitions.as_deref() else {
            continue;
        };
        if !scope.pinning.is_strict(name) {
            continue;
        }
        let before = state.servers.replaced.get(name);
        let serving = Serving {
            pins: state.ledger.pins(),
            store,
            server: scope.server(name),
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
        replaced_servers.insert(name.clone(), Arc::clone(server));
    }
    state.servers.replaced = replaced_servers;
}

/// What is seen of a server; what is new is kept. `strict` says how recent it is where a change is held back.
pub(super) fn look(
    server: &PinnedServer,
    definitions: &Definitions,
    strict: Option<Told>,
    pins: &PinsBySubject,
    store: &Store,
) -> Vec<Sighting> {
    let sighting = |subject, hash| Sighting {
        subject,
        hash,
        looked: None,
        strict: strict.is_some(),
        told: strict.unwrap_or(Told::Now),
        takes_over: false,
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
    server: PinnedServer,
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
        let subject = Subject::Server(self.server.clone());
        let pin = self.pins.get(&subject);
        let trusted = pin.and_then(Pin::trusted_hash);
        if trusted == Some(now.hash()) {
            return now;
        }
        *is_replaced = true;
        let said = trusted.and_then(|trusted| Said::load(self.store, trusted));
        if let Some(pin) = pin {
            applied.hold(subject, pin, said.is_none());
        }
        said.unwrap_or(Said {
            title: None,
            version: None,
            instructions: None,
        })
    }

    /// The trusted version of a tool. Where nothing can be remembered a tool that is not known is not trusted either.
    fn tool(&self, now: &Arc<Tool>, applied: &mut Applied) -> Option<Arc<Tool>> {
        let subject = Subject::tool(&self.server, now);
        let pin = self.pins.get(&subject)?;
        let trusted = pin.trusted_hash()?;
        if trusted.0 == now.hash {
            return Some(Arc::clone(now));
        }
        let before = self.before.into_iter().flat_map(|before| &before.tools);
        let mut before = before.filter(|tool| tool.hash == trusted.0 && tool.name == now.name);
        let tool = match before.next() {
            Some(tool) => Some(Arc::clone(tool)),
            None => restoring::tool(self.store, &self.server.name, trusted)
                .filter(|tool| tool.name == now.name),
        };
        applied.hold(subject, pin, tool.is_none());
        tool
    }
}

impl Applied {
    /// What is merely older here than what is trusted by now is nothing to tell of.
    fn hold(&mut self, subject: Subject, pin: &Pin, is_missing: bool) {
        if pin.held.is_none() && !is_missing {
            return;
        }
        self.held.push(HeldBack {
            subject,
            became: "changed",
            missing: is_missing.then(|| "what was trusted is not kept any more".to_owned()),
        });
    }
}
