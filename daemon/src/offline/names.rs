//! The ids of a configuration without a daemon and without definitions: what completion asks for at each key press.
//!
//! It reads the names in the cache, of one server where one is enough, and builds no tree. Nothing is started, written or logged.

use std::path::Path;
use std::sync::Arc;

use skills::catalog::{Hides, Sources};
use skills::discovery::SkillRoot;
use skills::entry_id::{EntryId, ServerName};
use skills::layout::ids;
use skills::problem::Problem;
use skills::server::{Definitions, Server, ServerState};
use skills::tool::Tool;

use super::{pins, scan};
use crate::cache::CachedDefinitions;
use crate::config::Config;
use crate::gate::policy::Hidden;
use crate::pins::Pins;
use crate::run::{catalog_name, configuration_name, load_config};
use crate::surroundings::Surroundings;

/// The names on a shelf that nobody serves.
#[derive(Debug)]
pub struct OfflineNames {
    config: Config,
    hidden: Hidden,
    given: Vec<SkillRoot>,
    cache: CachedDefinitions,
    /// Where something is served only as it was trusted.
    pins: Option<Pins>,
}

impl OfflineNames {
    /// Reads the configuration alone.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(
        surroundings: &Surroundings,
        config: Option<&Path>,
        skills: &[SkillRoot],
    ) -> Result<Self, Problem> {
        let path = config;
        let name = configuration_name(config, skills);
        let config = load_config(config, &surroundings.environment)?;
        let catalog = catalog_name(path, skills);
        let is_strict = config.pinning.is_any_strict();
        Ok(Self {
            pins: is_strict.then(|| pins(surroundings, &catalog, skills, &config)),
            hidden: config.policy.hidden(),
            config,
            given: skills.to_owned(),
            cache: CachedDefinitions::new(&surroundings.directories.cache, &name),
        })
    }

    /// The names of the servers, as the configuration has them.
    pub fn servers(&self) -> impl Iterator<Item = &ServerName> {
        self.config.servers.keys()
    }

    /// The ids of the tools that begin so. Only servers that may have such a tool are looked at.
    pub fn tools(&self, beginning: &str) -> Vec<EntryId> {
        let mut tools = Vec::new();
        for (server, directory) in self.directories() {
            let start = format!("{directory}/");
            if start.starts_with(beginning) || beginning.starts_with(&start) {
                tools.extend(self.of_server(server, &directory));
            }
        }
        tools.retain(|id| id.as_str().starts_with(beginning));
        tools.sort();
        tools
    }

    /// The ids of the skills that begin so.
    pub fn skills(&self, beginning: &str) -> Vec<EntryId> {
        if !("skills/".starts_with(beginning) || beginning.starts_with("skills/")) {
            return Vec::new();
        }
        let mut skills = ids::skill_ids(&scan(&self.given, &self.config));
        skills.retain(|id| id.as_str().starts_with(beginning) && !self.hidden.hides_skill(id));
        skills.sort();
        skills
    }

    /// The tool with this id.
    pub fn tool(&self, id: &str) -> Option<Arc<Tool>> {
        let (shown, _) = id.split_once('/')?;
        let mut directories = self.directories();
        let (server, directory) = directories.find(|(_, directory)| directory == shown)?;
        let mut tools = self.tools_of(server, &directory).into_iter();
        let (_, tool) = tools.find(|(known, _)| known.as_str() == id)?;
        Some(tool)
    }

    /// The servers that are not disabled, each with its directory. Those that are have a directory all the same.
    fn directories(&self) -> impl Iterator<Item = (&ServerName, String)> {
        let names: Vec<&ServerName> = self.servers().collect();
        let directories = ids::server_directories(&names);
        let servers = std::iter::zip(&self.config.servers, directories);
        servers.filter_map(|((name, server), directory)| {
            (!server.disabled).then_some((name, directory))
        })
    }

    fn of_server(&self, server: &ServerName, directory: &str) -> Vec<EntryId> {
        if self.hidden.is_empty() {
            let names = self.cache.tool_names(server).unwrap_or_default();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return ids::tool_ids(server, directory, &names);
        }
        // What is hidden may depend on what the tools say of themselves.
        let tools = self.tools_of(server, directory).into_iter();
        tools.map(|(id, _)| id).collect()
    }

    /// The tools of a server that are on the shelf.
    fn tools_of(&self, server: &ServerName, directory: &str) -> Vec<(EntryId, Arc<Tool>)> {
        let cached = self.cache.load(server);
        let definitions = cached.map(|cached| self.trusted(server, cached.definitions));
        let tools = definitions.map(|definitions| definitions.tools.clone());
        let tools = tools.unwrap_or_default();
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let ids = ids::tool_ids(server, directory, &names);
        std::iter::zip(ids, tools)
            .filter(|(id, tool)| !self.hidden.hides_tool(server, id, tool))
            .collect()
    }

    /// The definitions as they are served.
    fn trusted(&self, server: &ServerName, now: Arc<Definitions>) -> Arc<Definitions> {
        let Some(pins) = &self.pins else {
            return now;
        };
        let known = Server {
            name: server.clone(),
            directory: None,
            definitions: Some(Arc::clone(&now)),
        };
        let known = (Arc::new(known), ServerState::default());
        let mut sources = Sources {
            servers: [(server.clone(), known)].into(),
            ..Sources::default()
        };
        pins.apply_to_servers(&mut sources);
        let served = sources.servers.remove(server);
        served
            .and_then(|(server, _)| server.definitions.clone())
            .unwrap_or(now)
    }
}
