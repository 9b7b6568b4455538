//! What is known of a configuration without a daemon: skills scanned now, definitions as they were listed last.
//!
//! Nothing is started, nothing is written, and nothing is logged.

mod names;

use std::cell::OnceCell;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use skills::catalog::{FirstSeen, Hiding, IndexOptions, Outline, Snapshot, Sources};
use skills::discovery::{SkillRoot, discover_outside};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::search::{Answer, Case, Evaluation, SearchIndex, SearchOptions, evaluate};
use skills::server::{Phase, Server, ServerState};
use skills::skill::Skill;

use crate::cache::{CachedDefinitions, TokenCounts};
use crate::config::{Config, ServerConfig};
use crate::control::{changes, methods, search};
use crate::journal;
use crate::mount_table;
use crate::pins::{Pins, Scope};
use crate::protocol::{
    ChangeList, Changes, Description, Difference, Differences, ListFilter, Listing, Search,
};
use crate::run::{catalog_name, configuration_name, load_config, skill_roots};
use crate::surroundings::Surroundings;

pub use names::OfflineNames;

/// A shelf that nobody serves.
#[derive(Debug)]
pub struct OfflineShelf {
    sources: Sources,
    index: IndexOptions,
    search: SearchOptions,
    /// Where definitions and counts were left, and whose they are.
    cache: PathBuf,
    name: String,
    journal: journal::Place,
    pins: Pins,
    /// Made when it is needed: to render all that a mount would show takes longer than a search.
    snapshot: OnceCell<Snapshot>,
}

/// Times are not shown, so none is remembered.
struct NeverSeen;

impl FirstSeen for NeverSeen {
    fn first_seen(&mut self, _path: &str, _hash: &[u8; 32]) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

impl OfflineShelf {
    /// Reads what a daemon with this configuration and these skill roots would know before it started anything.
    ///
    /// # Errors
    /// When the configuration can't be read, or under strict pins what is trusted.
    pub fn read(
        surroundings: &Surroundings,
        config: Option<&Path>,
        skills: &[SkillRoot],
    ) -> Result<Self, Problem> {
        let name = configuration_name(config, skills);
        let catalog = catalog_name(config, skills);
        let config = load_config(config, &surroundings.environment)?;
        let cache = CachedDefinitions::new(&surroundings.directories.cache, &name);
        // The two have nothing in common but the time they take.
        let (found, servers) = thread::scope(|scope| {
            let scan = scope.spawn(|| scan(skills, &config));
            let servers = servers(&config, &cache);
            (scan.join().expect("a scan does not panic"), servers)
        });
        let mut sources = Sources {
            servers: servers
                .into_iter()
                .map(|(server, state)| (server.name.clone(), (server, state)))
                .collect(),
            skills: found,
            entries: Arc::clone(&config.entries),
            hiding: Hiding::by(Arc::new(config.policy.hidden())),
            ..Sources::default()
        };
        let pins = pins(surroundings, &catalog, skills, &config);
        pins.apply(&mut sources);
        if let Some(problem) = pins.fault() {
            return Err(problem);
        }
        Ok(Self {
            sources,
            pins,
            index: config.index,
            search: config.search,
            journal: journal::Place::below(&surroundings.directories.state, &catalog),
            cache: surroundings.directories.cache.clone(),
            name,
            snapshot: OnceCell::new(),
        })
    }

    /// Whether it has neither a server nor a skill.
    pub fn is_empty(&self) -> bool {
        self.sources.servers.is_empty() && self.sources.skills.is_empty()
    }

    /// Which catalog it is, as a daemon of this configuration without further skills would call it.
    pub fn catalog(&self) -> &str {
        &self.journal.name
    }

    /// What it is made into.
    pub fn snapshot(&self) -> &Snapshot {
        self.snapshot.get_or_init(|| {
            // A tokenizer is never loaded here: what is not in the cache is an estimate.
            let counts = TokenCounts::read(&self.cache, &self.name);
            let sources = self.sources.clone();
            Snapshot::build_counted(None, sources, self.index, &counts, &mut NeverSeen)
        })
    }

    /// The entries that pass the filter, as a daemon would list them.
    ///
    /// # Errors
    /// When the filter names a server that is not configured.
    pub fn list(&self, filter: &ListFilter) -> Result<Listing, Problem> {
        methods::list(self.snapshot(), filter)
    }

    /// What daemons have seen to change since a revision, as one would tell it: what changed since the last one ended is not
    /// in the journal yet.
    ///
    /// # Errors
    /// When there was no such revision, or the journal can't be read.
    pub fn changes(&self, asked: &Changes) -> Result<ChangeList, Problem> {
        let list = self.journal.changes(asked.since.as_ref())?;
        Ok(changes::described(list, self.snapshot()))
    }

    /// How entries differ from what daemons remember of them; what there is now is not remembered by that.
    ///
    /// # Errors
    /// When one that is asked for is not there.
    pub fn differences(&self, asked: &Differences) -> Result<Vec<Difference>, Problem> {
        self.pins.differences(self.snapshot(), asked)
    }

    /// What answers some words, as a daemon would answer. There is no waiting here: nobody asks a server.
    ///
    /// # Errors
    /// When the search is about a server that is not configured.
    pub fn search(&self, asked: &Search) -> Result<Answer, Problem> {
        let options = SearchOptions {
            // What no ranker asks for need not be made.
            lexical: self.search.lexical || asked.lexical,
            ..self.search.clone()
        };
        let outline = self.outline(&options);
        let index = SearchIndex::of_outline(&outline, &options);
        search::search(&index, &outline, asked)
    }

    /// How well search answers requests whose answers are known, as a daemon would measure it.
    pub fn evaluate(&self, cases: &[Case]) -> Evaluation {
        let outline = self.outline(&self.search);
        let index = SearchIndex::of_outline(&outline, &self.search);
        evaluate(&index, cases)
    }

    /// What is searched; the model is loaded meanwhile, where it is asked for.
    fn outline(&self, options: &SearchOptions) -> Outline {
        thread::scope(|scope| {
            if !options.lexical {
                scope.spawn(SearchIndex::warm);
            }
            Outline::new(self.sources.clone())
        })
    }

    /// An entry in full, as a daemon would describe it.
    ///
    /// # Errors
    /// When there is no such entry, or its server is not known.
    pub fn describe(&self, id_or_path: &str) -> Result<Description, Problem> {
        methods::describe(self.snapshot(), id_or_path).map_err(|problem| {
            match methods::unknown_server(self.snapshot(), id_or_path) {
                Some((_, state)) if state.may_answer() => problem.hint(
                    "no shelf runs that would ask it; `shelf call`, `mount` or `mirror` start one",
                ),
                _ => problem,
            }
        })
    }
}

/// What is trusted, for somebody who only looks.
fn pins(surroundings: &Surroundings, catalog: &str, given: &[SkillRoot], config: &Config) -> Pins {
    let pins = Pins::read(&surroundings.directories.state, catalog);
    pins.set_scope(Scope {
        pinning: config.pinning.clone(),
        roots: skill_roots(given, config),
    });
    pins
}

fn scan(given: &[SkillRoot], config: &Config) -> Vec<Arc<Skill>> {
    let mounts: Vec<_> = mount_table::shelf_mounts()
        .into_iter()
        .map(|mount| mount.mount_point)
        .collect();
    discover_outside(&skill_roots(given, config), config.limits, &mounts, &[]).skills
}

/// Every configured server with what the cache has of it, read on every core: that is most of the time.
fn servers(config: &Config, cache: &CachedDefinitions) -> Vec<(Arc<Server>, ServerState)> {
    let path = config.path.as_deref().unwrap_or(Path::new(""));
    let directory = path.parent().unwrap_or(path);
    let read = |(name, server): &(&ServerName, &ServerConfig)| {
        let cached = (!server.disabled).then(|| cache.load(name)).flatten();
        let phase = if server.disabled {
            Phase::Disabled
        } else {
            Phase::Cold
        };
        let server = Server {
            name: (*name).clone(),
            directory: server.transport.directory(directory),
            definitions: cached.map(|cached| cached.definitions),
        };
        (Arc::new(server), ServerState { phase, stale: None })
    };
    let entries: Vec<_> = config.servers.iter().collect();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = entries.len().div_ceil(cores).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> = entries
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(read).collect::<Vec<_>>()))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("reading a cache does not panic"))
            .collect()
    })
}
