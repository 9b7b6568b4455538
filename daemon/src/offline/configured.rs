//! A configuration and where what is known of it was left: what everything without a daemon begins with.
//!
//! Each thing is read when it is asked for. Nothing is started, written or logged.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

use skills::catalog::{Entry, Hides, Hiding, Sources};
use skills::discovery::{Discovered, SkillRoot, discover_outside, discover_texts};
use skills::entry_id::{EntryId, ServerName};
use skills::layout::ids;
use skills::lint::{Lint, lint};
use skills::offers::Offers;
use skills::problem::{Problem, ProblemKind};
use skills::search::DigestedServers;
use skills::server::{Definitions, Phase, Server, ServerState};
use skills::skill::Skill;
use skills::tool::Tool;

use crate::cache::CachedDefinitions;
use crate::config::{Config, ServerConfig};
use crate::gate::policy::Hidden;
use crate::mount_table;
use crate::pins::Pins;
use crate::run::{Origin, configuration_name, pin_scope, pins_name, skill_roots};
use crate::surroundings::Surroundings;

/// Tools by id.
pub(super) type Tools = Vec<(EntryId, Arc<Tool>)>;

/// A configuration that nobody serves.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) config: Config,
    /// Which configuration it is, as its state is kept.
    pub(super) name: String,
    pub(super) hidden: Arc<Hidden>,
    given: Vec<SkillRoot>,
    cached: CachedDefinitions,
    surroundings: Surroundings,
    /// What its pins are kept under.
    pinned_as: String,
    project: Option<PathBuf>,
    pins: OnceLock<Pins>,
    found: OnceLock<Discovered>,
}

impl Configured {
    /// Reads the configuration alone, with what is trusted of a project.
    ///
    /// # Errors
    /// When it can't be read, or under strict pins what is trusted.
    pub(super) fn read(
        surroundings: &Surroundings,
        config: Option<&Path>,
        skills: &[SkillRoot],
        project: Option<&Path>,
    ) -> Result<Self, Problem> {
        let name = configuration_name(config, skills, project);
        let path = config;
        let config = Origin::new(path, project, surroundings).load()?;
        let configured = Self {
            hidden: Arc::new(config.policy.hidden()),
            config,
            given: skills.to_owned(),
            cached: CachedDefinitions::new(&surroundings.directories.cache, &name),
            name,
            surroundings: surroundings.clone(),
            pinned_as: pins_name(path),
            project: project.map(Path::to_owned),
            pins: OnceLock::new(),
            found: OnceLock::new(),
        };
        let fault = configured.is_pinned().then(|| configured.pins().fault());
        match fault.flatten() {
            Some(problem) => Err(problem),
            None => Ok(configured),
        }
    }

    /// Whether anything is served only as it was trusted.
    pub(super) fn is_pinned(&self) -> bool {
        self.config.pinning.is_any_strict()
    }

    /// What is remembered and trusted, to look at.
    pub(super) fn pins(&self) -> &Pins {
        self.pins.get_or_init(|| {
            let pins = Pins::read(&self.surroundings.directories.state, &self.pinned_as);
            let project = self.project.as_deref();
            pins.set_scope(pin_scope(&self.given, &self.config, project));
            pins
        })
    }

    /// Puts what is trusted in place of what is not.
    fn trusted(&self, mut sources: Sources) -> Sources {
        if self.is_pinned() {
            self.pins().apply(&mut sources);
        }
        sources
    }

    /// The definitions of a server, as they are served.
    fn definitions(&self, name: &ServerName) -> Option<Arc<Definitions>> {
        let now = self.cached.load(name)?.definitions;
        if !self.is_pinned() {
            return Some(now);
        }
        let server = self.server(name, self.config.servers.get(name)?, Some(now));
        let mut sources = Sources {
            servers: [(name.clone(), server)].into(),
            ..Sources::default()
        };
        self.pins().apply_to_servers(&mut sources);
        sources.servers.remove(name)?.0.definitions.clone()
    }

    /// Who leaves entries off the shelf.
    pub(super) fn hiding(&self) -> Hiding {
        Hiding::by(self.hidden.clone())
    }

    /// The skills as they are now, without their other files.
    pub(super) fn skills(&self) -> &[Arc<Skill>] {
        &self.found().skills
    }

    /// What of the skills could not be read, which is not the same as that there is nothing.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &Problem> {
        let problems = self.found().problems.iter();
        problems.filter(|problem| problem.kind == ProblemKind::Unreadable)
    }

    fn found(&self) -> &Discovered {
        self.found.get_or_init(|| {
            if self.is_pinned() {
                // What a skill is trusted as depends on all of its files.
                return self.whole();
            }
            let roots = skill_roots(&self.given, &self.config);
            discover_texts(&roots, self.config.limits, &mounts())
        })
    }

    /// The skills with all their files.
    pub(super) fn whole_skills(&self) -> Vec<Arc<Skill>> {
        self.whole().skills
    }

    fn whole(&self) -> Discovered {
        let roots = skill_roots(&self.given, &self.config);
        let mut found = discover_outside(&roots, self.config.limits, &mounts(), &[]);
        let sources = Sources {
            skills: std::mem::take(&mut found.skills),
            ..Sources::default()
        };
        found.skills = self.trusted(sources).skills;
        found
    }

    /// What is wrong with the skills as they are now.
    pub(super) fn lint(&self) -> Lint {
        let roots = skill_roots(&self.given, &self.config);
        lint(&roots, self.config.limits, &mounts())
    }

    /// Every configured server with what the cache has of it.
    pub(super) fn servers(&self) -> Vec<(Arc<Server>, ServerState)> {
        self.of_each(|name, server| self.server(name, server, self.definitions(name)))
    }

    /// What of the cache a search index is built from, without reading what the tools are.
    pub(super) fn digests(&self) -> DigestedServers {
        let digests = self.of_each(|name, server| {
            let digest = self.cached.digest(name);
            (name.clone(), digest.filter(|_| !server.disabled))
        });
        digests.into_iter().collect()
    }

    /// The servers alone: which there are, and of which the tools are known. None has a tool.
    pub(super) fn roster(&self, digests: &DigestedServers) -> Vec<(Arc<Server>, ServerState)> {
        let servers = self.config.servers.iter();
        let roster = servers.map(|(name, server)| {
            let is_known = digests.get(name).is_some_and(Option::is_some);
            self.server(name, server, is_known.then(Arc::default))
        });
        roster.collect()
    }

    fn server(
        &self,
        name: &ServerName,
        server: &ServerConfig,
        definitions: Option<Arc<Definitions>>,
    ) -> (Arc<Server>, ServerState) {
        let path = self.config.file_of(name);
        let directory = path.parent().unwrap_or(path);
        // What can't be resolved here is told by a daemon.
        let roots = server.roots(name, path, &self.surroundings.environment);
        let phase = if server.disabled {
            Phase::Disabled
        } else {
            Phase::Cold
        };
        let server = Server {
            name: name.clone(),
            directory: server.transport.directory(directory),
            roots: roots.unwrap_or_default(),
            definitions: definitions.filter(|_| !server.disabled),
        };
        (Arc::new(server), ServerState { phase, stale: None })
    }

    /// The servers that are not disabled, each with its directory. Those that are have a directory all the same.
    pub(super) fn directories(&self) -> impl Iterator<Item = (&ServerName, String)> {
        let names: Vec<&ServerName> = self.config.servers.keys().collect();
        let directories = ids::server_directories(&names);
        let servers = std::iter::zip(&self.config.servers, directories);
        servers.filter_map(|((name, server), directory)| {
            (!server.disabled).then_some((name, directory))
        })
    }

    /// The names of the tools that are known of a server, hidden ones too.
    pub(super) fn tool_names(&self, server: &ServerName) -> Vec<String> {
        if !self.is_pinned() {
            return self.cached.tool_names(server).unwrap_or_default();
        }
        let definitions = self.definitions(server);
        let tools = definitions.iter().flat_map(|known| &known.tools);
        tools.map(|tool| tool.name.to_string()).collect()
    }

    /// The tools of a server that are on the shelf, with the server. No other server is read.
    pub(super) fn tools_of(
        &self,
        name: &ServerName,
        directory: &str,
    ) -> Option<(Arc<Server>, Tools)> {
        let server = self.config.servers.get(name)?;
        let definitions = self.definitions(name)?;
        let names: Vec<&str> = definitions.tools.iter().map(|tool| &*tool.name).collect();
        let ids = ids::tool_ids(name, directory, &names);
        let tools = std::iter::zip(ids, definitions.tools.iter().cloned())
            .filter(|(id, tool)| !self.hidden.hides_tool(name, id, tool))
            .collect();
        let (server, _) = self.server(name, server, Some(definitions));
        Some((server, tools))
    }

    /// What a server offers beside its tools, as it was listed last and without what is hidden.
    pub(super) fn offers_of(&self, name: &ServerName, directory: &str) -> Option<Offers> {
        let known = self.definitions(name)?;
        Some(self.hiding().shown_offers(name, directory, &known.offers))
    }

    /// The skills that are on the shelf, by id.
    pub(super) fn shown_skills(&self) -> impl Iterator<Item = (EntryId, &Arc<Skill>)> {
        let skills = self.skills();
        let ids = ids::skill_ids(skills).into_iter();
        let skills = ids.zip(ids::by_precedence(skills));
        skills.filter(|(id, _)| !self.hidden.hides_skill(id))
    }

    /// The entry with this id. Only what may have it is read.
    pub(super) fn entry(&self, id: &str) -> Option<(EntryId, Entry)> {
        let (group, _) = id.split_once('/')?;
        let mut directories = self.directories();
        if let Some((name, directory)) = directories.find(|(_, directory)| directory == group) {
            let (server, tools) = self.tools_of(name, &directory)?;
            let (id, tool) = tools.into_iter().find(|(known, _)| known.as_str() == id)?;
            return Some((id, Entry::Tool { server, tool }));
        }
        let (id, skill) = self
            .shown_skills()
            .find(|(known, _)| known.as_str() == id)?;
        Some((id, Entry::Skill(Arc::clone(skill))))
    }

    /// Does something for each server on every core: to read a cache is most of the time.
    fn of_each<T: Send>(&self, make: impl Fn(&ServerName, &ServerConfig) -> T + Sync) -> Vec<T> {
        let servers: Vec<_> = self.config.servers.iter().collect();
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let share = servers.len().div_ceil(cores).max(1);
        let make = &make;
        thread::scope(|scope| {
            let workers: Vec<_> = servers
                .chunks(share)
                .map(|part| {
                    let part = part.iter();
                    scope.spawn(move || part.map(|(name, server)| make(name, server)).collect())
                })
                .collect();
            let made = workers
                .into_iter()
                .map(|worker| -> Vec<T> { worker.join().expect("reading a cache does not panic") });
            made.flatten().collect()
        })
    }
}

/// The places in which no skill is looked for.
fn mounts() -> Vec<PathBuf> {
    let mounts = mount_table::shelf_mounts().into_iter();
    mounts.map(|mount| mount.mount_point).collect()
}
