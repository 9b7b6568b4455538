//! Pins: what every definition and every skill's files were when they were first seen, or trusted last.
//!
//! The hashes are in a ledger, the bytes in a store beside it, for each configuration of a user, shared by all of its daemons: those
//! that have skills or a project beside it, too, since what is trusted must not depend on what stands beside it. Without `pin = "strict"`
//! they only tell what changed. With it, [`Pins::apply`] stands between the sources and the catalog and puts what was trusted in place
//! of what was not, so that nothing behind it (mount, index, search, calls) ever sees other bytes. It must not know how any of it is
//! shown, nor who may trust.

mod definitions;
mod desk;
mod diff;
mod files;
mod hash;
mod ids;
mod ledger;
mod recording;
mod restoring;
mod skills_filter;
mod store;
mod subject;
#[cfg(test)]
mod tests;
mod transition;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skills::catalog::{Snapshot, Sources};
use skills::discovery::SkillRoot;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};

use self::definitions::ServedServers;
use self::ledger::Ledger;
use self::recording::Recorded;
use self::skills_filter::ServedSkills;
use self::store::Store;
use self::subject::{PinnedServer, Subject};
use self::transition::{Noticed, Sighting, is_news};

/// The file by whose age pins are removed.
pub(crate) use self::ledger::FILE_NAME as LEDGER;

/// Whose changes are served only once they are trusted: `pin` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinning {
    /// Whether that of skills, and of servers that say nothing else.
    pub strict: bool,
    /// What single servers say.
    pub servers: BTreeMap<ServerName, bool>,
}

impl Pinning {
    /// Whether a server's definitions are served only as they were trusted.
    pub fn is_strict(&self, server: &ServerName) -> bool {
        self.servers.get(server).copied().unwrap_or(self.strict)
    }

    /// Whether anything is.
    pub(crate) fn is_any_strict(&self) -> bool {
        self.strict || self.servers.values().any(|strict| *strict)
    }
}

/// What the configuration says that pins depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Whose changes are not served.
    pub pinning: Pinning,
    /// The skill roots, in order of precedence: a trusted skill whose directory is gone is served as long as its root is configured.
    pub roots: Vec<SkillRoot>,
    /// The project beside the user's configuration (links resolved), and the servers that it brings.
    pub project: Option<(PathBuf, BTreeSet<ServerName>)>,
}

impl Scope {
    /// The server of a name, as pins know it.
    fn server(&self, name: &ServerName) -> PinnedServer {
        let project = self.project.as_ref();
        let project = project.filter(|(_, servers)| servers.contains(name));
        PinnedServer {
            project: project.map(|(directory, _)| directory.clone()),
            name: name.clone(),
        }
    }

    /// Whether a subject would be seen here if it were there. Of others nothing is known, also not that they are gone.
    fn sees(&self, subject: &Subject) -> bool {
        match subject.server() {
            Some(server) => match (&server.project, &self.project) {
                (None, _) => true,
                (Some(one), Some((own, _))) => one == own,
                (Some(_), None) => false,
            },
            None => self.precedence(subject).is_some(),
        }
    }
}

/// What came of putting trusted definitions in place of others.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    scope: Arc<Scope>,
    /// What is served other than it is.
    held: Vec<HeldBack>,
    /// What is wrong with the pins themselves.
    problems: Vec<Problem>,
}

/// Something that is served other than it is, or not at all.
#[derive(Clone, Debug)]
struct HeldBack {
    subject: Subject,
    /// What became of it: it `changed`, `is gone`, `is new`.
    became: &'static str,
    /// Why the trusted version can't be served in its place.
    missing: Option<String>,
}

/// The pins of one configuration, whatever stands beside it. Clones are the same pins.
#[derive(Clone, Debug)]
pub struct Pins(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    state: Mutex<State>,
    /// One recording at a time; never taken while the state is held.
    recorded: Mutex<Recorded>,
}

/// What is known, and what was made of it last.
#[derive(Debug)]
struct State {
    ledger: Ledger,
    scope: Arc<Scope>,
    servers: ServedServers,
    skills: ServedSkills,
    /// What the journal is to say, and does not yet.
    noticed: Vec<Noticed>,
}

impl Pins {
    /// Opens the pins of a configuration below the state directory. Whatever is wrong there is told by [`Pins::apply`].
    pub fn open(state: &Path, configuration: &str) -> Self {
        let directory = directory(state, configuration);
        Self::new(Ledger::open(&directory), Store::open(&directory))
    }

    /// The same to look at: nothing is written, also nothing that is seen for the first time.
    pub fn read(state: &Path, configuration: &str) -> Self {
        let directory = directory(state, configuration);
        Self::new(Ledger::read(&directory), Store::read(&directory))
    }

    fn new(ledger: Ledger, store: Store) -> Self {
        let state = State {
            ledger,
            scope: Arc::default(),
            servers: ServedServers::default(),
            skills: ServedSkills::default(),
            noticed: Vec::new(),
        };
        Self(Arc::new(Shared {
            store,
            state: Mutex::new(state),
            recorded: Mutex::default(),
        }))
    }

    /// The file that changes when another daemon saw or trusted something.
    pub(crate) fn ledger_path(&self) -> PathBuf {
        self.state().ledger.path()
    }

    /// Why nothing is trusted, where something would have to be.
    pub(crate) fn fault(&self) -> Option<Problem> {
        let mut state = self.state();
        state.ledger.refresh();
        let is_strict = state.scope.pinning.is_any_strict();
        let is_fault = is_strict && !state.ledger.is_usable();
        is_fault.then(|| state.ledger.problem(true)).flatten()
    }

    /// Takes over what the configuration says; false when it says the same.
    pub(crate) fn set_scope(&self, scope: Scope) -> bool {
        let mut state = self.state();
        let changed = *state.scope != scope;
        if changed {
            state.scope = Arc::new(scope);
        }
        changed
    }

    /// Whether there is something to publish: the journal has to say something, or another daemon has written the ledger.
    pub(crate) fn has_news(&self) -> bool {
        let mut state = self.state();
        state.ledger.refresh();
        state.ledger.take_news() || !state.noticed.is_empty()
    }

    /// Hears that a server was listed, whatever came of it; says whether that counts: where something of it is held back, it may be over.
    pub(crate) fn hear_listed(&self, name: ServerName) -> bool {
        let mut state = self.state();
        let server = state.scope.server(&name);
        let is_held = state
            .ledger
            .pins()
            .iter()
            .any(|(subject, pin)| pin.held.is_some() && subject.server() == Some(&server));
        // What differs from what is trusted may be what an older listing said.
        let counts = is_held || state.servers.is_replaced(&name);
        if counts {
            state.servers.tell_listed(name);
        }
        counts
    }

    /// Puts the last trusted definitions and skills in place of those that were not trusted. What is seen for the first time is
    /// trusted by that. Does nothing where nothing is pinned strictly.
    pub(crate) fn apply(&self, sources: &mut Sources) -> Applied {
        let mut state = self.state();
        let scope = Arc::clone(&state.scope);
        let mut applied = Applied {
            scope: Arc::clone(&scope),
            ..Applied::default()
        };
        if scope.pinning.is_any_strict() {
            state.ledger.refresh();
            definitions::apply(&mut state, &self.0.store, &scope, sources, &mut applied);
            if scope.pinning.strict {
                skills_filter::apply(&mut state, &self.0.store, &scope, sources, &mut applied);
            }
        }
        // It is about to be published.
        state.ledger.take_news();
        applied
            .problems
            .extend(state.ledger.problem(scope.pinning.is_any_strict()));
        applied
    }

    /// The same for servers alone: no skill is looked at.
    pub(crate) fn apply_to_servers(&self, sources: &mut Sources) {
        let mut state = self.state();
        state.ledger.refresh();
        let scope = Arc::clone(&state.scope);
        let mut applied = Applied::default();
        definitions::apply(&mut state, &self.0.store, &scope, sources, &mut applied);
    }

    /// The lines for the journal that were not asked for yet, with the ids of a snapshot.
    pub(crate) fn journal_lines(&self, snapshot: &Snapshot) -> Vec<String> {
        let (noticed, scope) = {
            let mut state = self.state();
            (std::mem::take(&mut state.noticed), Arc::clone(&state.scope))
        };
        let subjects: Vec<&Subject> = noticed.iter().map(Noticed::subject).collect();
        let ids = ids::of(snapshot, &scope, &subjects);
        std::iter::zip(&noticed, ids)
            .filter_map(|(noticed, id)| Some(format!("{} {}", noticed.sign(), id?)))
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic left is a list of pins, each of which is whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes over what was seen, and remembers what the journal has to say of it; false when the ledger can't be used. Under strict
    /// pins what is new is not known as long as it can't be written: else it would be trusted, whatever it is, at each start.
    fn see(&mut self, store: &Store, sightings: Vec<Sighting>) -> bool {
        let pins = self.ledger.pins();
        if !sightings.iter().any(|seen| is_news(pins, seen)) {
            return self.ledger.is_usable();
        }
        let is_first = |seen: &&Sighting| seen.strict && !pins.contains_key(&seen.subject);
        let first = sightings.iter().filter(is_first);
        let first: Vec<Subject> = first.map(|seen| seen.subject.clone()).collect();
        let now = jiff::Timestamp::now();
        let noticed = self.ledger.update(|pins| {
            let see = |sighting: &Sighting| transition::see(pins, sighting, now);
            sightings.iter().filter_map(see).collect::<Vec<_>>()
        });
        self.ledger.forget_unwritten(&first);
        let is_taken = noticed.is_some();
        let worth_a_line = |noticed: &Noticed| noticed.is_worth_a_line(store);
        self.noticed
            .extend(noticed.unwrap_or_default().into_iter().filter(worth_a_line));
        is_taken
    }
}

impl Applied {
    /// Everything that is to be told, with the ids of a snapshot that shows what was applied.
    pub(crate) fn problems(&self, snapshot: &Snapshot) -> Vec<Problem> {
        let subjects: Vec<&Subject> = self.held.iter().map(|held| &held.subject).collect();
        let ids = ids::of(snapshot, &self.scope, &subjects);
        let held = std::iter::zip(&self.held, ids).filter_map(|(held, id)| {
            let (id, became) = (id?, held.became);
            let message = match &held.missing {
                None => format!("{became}, and is served as it was trusted last"),
                Some(why) => format!("{became}, and is not served: {why}"),
            };
            let id = skills::definition::quote(id.as_str());
            let problem = Problem::new(ProblemKind::NotTrusted, message);
            Some(held.subject.locate(problem).hint(format!(
                "see the change with `shelf changes --diff {id}`, then take it over: shelf trust {id}"
            )))
        });
        held.chain(self.problems.iter().cloned()).collect()
    }
}

/// Where the pins of a configuration are.
fn directory(state: &Path, configuration: &str) -> PathBuf {
    state.join("pins").join(configuration)
}
