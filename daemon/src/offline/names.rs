//! The ids of a configuration without a daemon and without definitions: what completion asks for at each key press.
//!
//! It reads the names in the cache, of one server where one is enough, and builds no tree. Nothing is started, written or logged.

use std::path::Path;
use std::sync::Arc;

use skills::catalog::Entry;
use skills::discovery::SkillRoot;
use skills::entry_id::{EntryId, ServerName};
use skills::layout::ids;
use skills::problem::Problem;
use skills::tool::Tool;

use super::configured::Configured;
use crate::protocol::ListedOffers;
use crate::surroundings::Surroundings;

/// The names on a shelf that nobody serves.
#[derive(Debug)]
pub struct OfflineNames(Configured);

impl OfflineNames {
    /// Reads the configuration alone, with what is trusted of a project.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(
        surroundings: &Surroundings,
        config: Option<&Path>,
        skills: &[SkillRoot],
        project: Option<&Path>,
    ) -> Result<Self, Problem> {
        Configured::read(surroundings, config, skills, project).map(Self)
    }

    /// The names of the servers, as the configuration has them.
    pub fn servers(&self) -> impl Iterator<Item = &ServerName> {
        self.0.config.servers.keys()
    }

    /// The ids of the tools that begin so. Only servers that may have such a tool are looked at.
    pub fn tools(&self, beginning: &str) -> Vec<EntryId> {
        let mut tools = Vec::new();
        for (server, directory) in self.0.directories() {
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
        let skills = self.0.shown_skills().map(|(id, _)| id);
        let mut skills: Vec<_> = skills
            .filter(|id| id.as_str().starts_with(beginning))
            .collect();
        skills.sort();
        skills
    }

    /// The tool with this id.
    pub fn tool(&self, id: &str) -> Option<Arc<Tool>> {
        match self.0.entry(id)? {
            (_, Entry::Tool { tool, .. }) => Some(tool),
            (_, Entry::Skill(_)) => None,
        }
    }

    /// What a server offers beside its tools, as it was listed last and without what is hidden.
    pub fn offers(&self, server: &str) -> ListedOffers {
        let mut directories = self.0.directories();
        let named =
            directories.find(|(name, directory)| name.as_str() == server || directory == server);
        let offers = named.and_then(|(server, directory)| self.0.offers_of(server, &directory));
        offers.as_ref().map(ListedOffers::of).unwrap_or_default()
    }

    fn of_server(&self, server: &ServerName, directory: &str) -> Vec<EntryId> {
        if self.0.hidden.is_empty() {
            let names = self.0.tool_names(server);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return ids::tool_ids(server, directory, &names);
        }
        // What is hidden may depend on what the tools say of themselves.
        let tools = self.0.tools_of(server, directory);
        let tools = tools.into_iter().flat_map(|(_, tools)| tools);
        tools.map(|(id, _)| id).collect()
    }
}
