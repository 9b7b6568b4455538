//! A configuration and where what is known of it was left: what everything without a daemon begins with.
//!
//! Each thing is read when it is asked for. Nothing is started, written or logged.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

use skills::catalog::{Entry, Hides, Hiding};
use skills::discovery::{SkillRoot, discover_outside, discover_texts};
use skills::entry_id::{EntryId, ServerName};
use skills::layout::ids;
use skills::problem::Problem;
use skills::search::DigestedServers;
use skills::server::{Definitions, Phase, Server, ServerState};
use skills::skill::Skill;
use skills::tool::Tool;

use crate::cache::CachedDefinitions;
use crate::config::{Config, ServerConfig};
use crate::gate::policy::Hidden;
use crate::mount_table;
use crate::run::{configuration_name, load_config, skill_roots};
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
    definitions: CachedDefinitions,
    skills: OnceLock<Vec<Arc<Skill>>>,
}

impl Configured {
    /// Reads the configuration alone.
    ///
    /// # Errors
    /// When it can't be read.
    pub(super) fn read(
        surroundings: &Surroundings,
        config: Option<&Path>,
        skills: &[SkillRoot],
    ) -> Result<Self, Problem> {
        let name = configuration_name(config, skills);
        let config = load_config(config, &surroundings.environment)?;
        Ok(Self {
            hidden: Arc::new(config.policy.hidden()),
            config,
            given: skills.to_owned(),
            definitions: CachedDefinitions::new(&surroundings.directories.cache, &name),
            name,
            skills: OnceLock::new(),
        })
    }

    /// Who leaves entries off the shelf.
    pub(super) fn hiding(&self) -> Hiding {
        Hiding::by(self.hidden.clone())
    }

    /// The skills as they are now, without their other files.
    pub(super) fn skills(&self) -> &[Arc<Skill>] {
        self.skills.get_or_init(|| {
            let roots = skill_roots(&self.given, &self.config);
            discover_texts(&roots, self.config.limits, &mounts())
        })
    }

    /// The skills with all their files.
    pub(super) fn whole_skills(&self) -> Vec<Arc<Skill>> {
        let roots = skill_roots(&self.given, &self.config);
        discover_outside(&roots, self.config.limits, &mounts(), &[]).skills
    }

    /// Every configured server with what the cache has of it.
    pub(super) fn servers(&self) -> Vec<(Arc<Server>, ServerState)> {
        self.of_each(|name, server| {
            let cached = self.definitions.load(name);
            self.server(name, server, cached.map(|cached| cached.definitions))
        })
    }

    /// What of the cache a search index is built from, without reading what the tools are.
    pub(super) fn digests(&self) -> DigestedServers {
        let digests = self.of_each(|name, server| {
            let digest = self.definitions.digest(name);
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
        let path = self.config.path.as_deref().unwrap_or(Path::new(""));
        let directory = path.parent().unwrap_or(path);
        let phase = if server.disabled {
            Phase::Disabled
        } else {
            Phase::Cold
        };
        let server = Server {
            name: name.clone(),
            directory: server.transport.directory(directory),
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
        self.definitions.tool_names(server).unwrap_or_default()
    }

    /// The tools of a server that are on the shelf, with the server. No other server is read.
    pub(super) fn tools_of(
        &self,
        name: &ServerName,
        directory: &str,
    ) -> Option<(Arc<Server>, Tools)> {
        let server = self.config.servers.get(name)?;
        let definitions = self.definitions.load(name)?.definitions;
        let names: Vec<&str> = definitions.tools.iter().map(|tool| &*tool.name).collect();
        let ids = ids::tool_ids(name, directory, &names);
        let tools = std::iter::zip(ids, definitions.tools.iter().cloned())
            .filter(|(id, tool)| !self.hidden.hides_tool(name, id, tool))
            .collect();
        let (server, _) = self.server(name, server, Some(definitions));
        Some((server, tools))
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
