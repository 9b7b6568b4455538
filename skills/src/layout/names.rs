//! The names of everything that stands in the tree, and every entry's line: before anything is rendered.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::given::line;
use super::{ids, servers};
use crate::catalog::{Entry, Sources};
use crate::entry_id::{EntryId, ServerName};
use crate::index::Line;
use crate::server::{Phase, Server};
use crate::summary::{distinguish, summarize};
use crate::tool::Tool;

/// What a layout of the same sources would name and say, without its tree.
#[derive(Debug)]
pub(crate) struct Names {
    /// The name of each server's directories.
    pub(crate) servers: BTreeMap<ServerName, String>,
    pub(crate) entries: BTreeMap<EntryId, Entry>,
    pub(crate) lines: Vec<Line>,
}

impl Names {
    pub(crate) fn of(sources: &Sources) -> Self {
        let mut names = Self {
            servers: BTreeMap::new(),
            entries: BTreeMap::new(),
            lines: Vec::new(),
        };
        let said = &sources.entries;
        let servers: Vec<&ServerName> = sources.servers.keys().collect();
        let directories = ids::server_directories(&servers);
        for ((name, (server, state)), directory) in sources.servers.iter().zip(directories) {
            if state.phase != Phase::Disabled {
                names.server(server, &directory, sources);
            }
            names.servers.insert(name.clone(), directory);
        }
        let skills = ids::by_precedence(&sources.skills);
        let skills = skills.iter().zip(ids::skill_ids(&sources.skills));
        for (skill, id) in skills.filter(|(_, id)| !sources.hiding.skill(id)) {
            names
                .lines
                .push(line(said, &id, summarize(&skill.description)));
            names.entries.insert(id, Entry::Skill(Arc::clone(skill)));
        }
        names
    }

    fn server(&mut self, server: &Arc<Server>, file_name: &str, sources: &Sources) {
        let known = server.definitions.as_ref();
        let known = known.map_or(&[][..], |known| &known.tools);
        let sent: Vec<&str> = known.iter().map(|tool| &*tool.name).collect();
        let ids = ids::tool_ids(&server.name, file_name, &sent).into_iter();
        let hides = |id: &EntryId, tool: &Tool| sources.hiding.tool(&server.name, id, tool);
        let mut tools: Vec<(EntryId, &Arc<Tool>)> = ids
            .zip(known)
            .filter(|(id, tool)| !hides(id, tool))
            .collect();
        tools.sort_by(|(one, _), (other, _)| one.cmp(other));
        let summaries: Vec<String> = tools
            .iter()
            .map(|(_, tool)| servers::summary(tool))
            .collect();
        let texts = summaries
            .iter()
            .zip(&tools)
            .map(|(summary, (_, tool))| (summary.as_str(), tool.description.as_str()));
        let summaries = distinguish(texts);
        for ((id, tool), summary) in tools.into_iter().zip(summaries) {
            self.lines.push(line(&sources.entries, &id, summary));
            let (server, tool) = (Arc::clone(server), Arc::clone(tool));
            self.entries.insert(id, Entry::Tool { server, tool });
        }
    }
}
