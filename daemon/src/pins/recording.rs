//! Remembering what is served where pins are not strict: after it is served, so that nobody waits for it.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use jiff::{Timestamp, ToSpan};
use skills::catalog::Sources;
use skills::entry_id::ServerName;
use skills::server::Definitions;
use skills::skill::Skill;

use super::files::{KeptNode, Manifest};
use super::hash::Hash;
use super::skills_filter::{Stats, look, sighting};
use super::subject::{PinnedServer, Subject};
use super::transition::{PinsBySubject, Sighting};
use super::{Pins, Scope, definitions};

/// After so many recordings in which something was new the store is swept.
const SWEEP_EVERY: u32 = 50;

/// What was recorded last.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    scope: Option<Arc<Scope>>,
    servers: Vec<(ServerName, Option<Arc<Definitions>>)>,
    skills: Vec<Arc<Skill>>,
    stats: Stats,
    /// How many recordings there were since the store was swept; `None` before it was swept at all.
    unswept: Option<u32>,
}

impl Pins {
    /// Remembers what is served, as far as [`Pins::apply`] does not. Says whether there is something to publish.
    pub(crate) fn remember(&self, sources: &Sources) -> bool {
        let mut recorded = self
            .0
            .recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (scope, mut pins) = {
            let mut state = self.state();
            state.ledger.refresh();
            (Arc::clone(&state.scope), state.ledger.shared())
        };
        let servers = sources.servers.iter();
        let servers: Vec<_> = servers
            .map(|(name, (server, _))| (name.clone(), server.definitions.clone()))
            .collect();
        if recorded.is_same(&scope, &servers, &sources.skills) {
            return false;
        }
        if !scope.pinning.is_any_strict() {
            let mut state = self.state();
            state.ledger.begin_anew();
            pins = state.ledger.shared();
        }
        let mut sightings = self.of_servers(&scope, &servers, &pins);
        let mut is_whole = true;
        if !scope.pinning.strict {
            let (seen, all) = self.of_skills(&scope, &mut recorded.stats, &sources.skills, &pins);
            sightings.extend(seen);
            is_whole = all;
        }
        let mut state = self.state();
        if !Arc::ptr_eq(&state.scope, &scope) {
            // What was looked at as not strict may be strict by now; what comes of that is published, and looked at anew.
            return false;
        }
        state.see(&self.0.store, sightings);
        let has_news = !state.noticed.is_empty();
        drop(state);
        // What changed while it was read is scanned, and so published, once more.
        recorded.scope = is_whole.then_some(scope);
        recorded.servers = servers;
        recorded.skills.clone_from(&sources.skills);
        recorded.unswept = match recorded.unswept {
            Some(count) if count < SWEEP_EVERY => Some(count + 1),
            _ => {
                self.sweep();
                Some(0)
            }
        };
        has_news
    }

    fn of_servers(
        &self,
        scope: &Scope,
        servers: &[(ServerName, Option<Arc<Definitions>>)],
        pins: &PinsBySubject,
    ) -> Vec<Sighting> {
        let mut sightings = Vec::new();
        for (name, known) in servers {
            if let Some(known) = known.as_deref().filter(|_| !scope.pinning.is_strict(name)) {
                let seen = definitions::look(&scope.server(name), known, None, pins, &self.0.store);
                sightings.extend(seen);
            }
        }
        let configured: BTreeSet<PinnedServer> =
            servers.iter().map(|(name, _)| scope.server(name)).collect();
        let is_gone = |subject: &&Subject| {
            let server = subject.server();
            server.is_some_and(|server| !configured.contains(server)) && scope.sees(subject)
        };
        let gone = pins.keys().filter(is_gone);
        sightings.extend(gone.map(|subject| sighting(subject, None, false)));
        sightings
    }

    /// What is seen of the skills, and whether all of them could be read.
    fn of_skills(
        &self,
        scope: &Scope,
        stats: &mut Stats,
        skills: &[Arc<Skill>],
        pins: &PinsBySubject,
    ) -> (Vec<Sighting>, bool) {
        let mut sightings = Vec::new();
        let mut present = BTreeSet::new();
        let mut is_whole = true;
        for skill in skills {
            let subject = Subject::skill(skill);
            let stat = stats.of(&subject, skill);
            match look(skill, stat, pins.get(&subject), &self.0.store, false) {
                Ok(looked) => sightings.push(sighting(&subject, Some(looked), false)),
                Err(error) => {
                    is_whole = false;
                    tracing::debug!(%error, ?subject, "the files of a skill were not recorded");
                }
            }
            present.insert(subject);
        }
        let is_gone = |subject: &&Subject| {
            let is_skill = matches!(subject, Subject::Skill { .. });
            is_skill && !present.contains(*subject) && scope.sees(subject)
        };
        let gone = pins.keys().filter(is_gone);
        sightings.extend(gone.map(|subject| sighting(subject, None, false)));
        stats.retain(&present);
        (sightings, is_whole)
    }

    /// Forgets what has not been there for a year, and removes the bytes that nothing refers to.
    fn sweep(&self) {
        if self.0.store.is_read_only() {
            return;
        }
        let mut state = self.state();
        let year_ago = Timestamp::now().checked_sub((365 * 24).hours());
        if let Ok(year_ago) = year_ago {
            let is_old = |gone: Option<Timestamp>| gone.is_some_and(|gone| gone < year_ago);
            if state.ledger.pins().values().any(|pin| is_old(pin.gone)) {
                let _ = state
                    .ledger
                    .update(|pins| pins.retain(|_, pin| !is_old(pin.gone)));
            }
        }
        if !state.ledger.is_usable() {
            return;
        }
        let versions = state.ledger.versions();
        let versions: Vec<_> = versions
            .map(|(subject, hash)| (subject.server().is_none(), hash))
            .collect();
        drop(state);
        let mut live: BTreeSet<Hash> = versions.iter().map(|(_, hash)| *hash).collect();
        let skills = versions.iter().filter(|(is_skill, _)| *is_skill);
        let store = &self.0.store;
        for manifest in skills.filter_map(|(_, hash)| Manifest::load(store, *hash)) {
            let leaves = manifest.leaves();
            live.extend(leaves.iter().filter_map(|(_, node)| match node {
                KeptNode::File(file) => file.hash,
                KeptNode::Directory(_) | KeptNode::Link { .. } => None,
            }));
        }
        self.0.store.sweep(&live);
    }
}

impl Recorded {
    fn is_same(
        &self,
        scope: &Arc<Scope>,
        servers: &[(ServerName, Option<Arc<Definitions>>)],
        skills: &[Arc<Skill>],
    ) -> bool {
        let is_same_definitions =
            |one: &Option<Arc<Definitions>>, other: &Option<Arc<Definitions>>| match (one, other) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
        let same_scope = self.scope.as_ref();
        same_scope.is_some_and(|before| Arc::ptr_eq(before, scope))
            && self.servers.len() == servers.len()
            && std::iter::zip(&self.servers, servers)
                .all(|(a, b)| a.0 == b.0 && is_same_definitions(&a.1, &b.1))
            && self.skills.len() == skills.len()
            && std::iter::zip(&self.skills, skills).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}
