//! The names of everything that stands in the tree, and every entry's line: before anything is rendered.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use super::given::line;
use super::servers;
use crate::catalog::{Entry, EntryOptions, Sources};
use crate::entry_id::{EntryId, ServerName};
use crate::index::Line;
use crate::names::{Allotted, Claim, Ties, allot};
use crate::server::Server;
use crate::skill::Skill;
use crate::summary::{distinguish, summarize};
use crate::tool::Tool;

/// Names that a server can't have: `skills/x` is the id of a skill.
pub(super) const RESERVED_SERVERS: &[&str] = &["skills"];

/// Names that a tool can't have, since the layout's own files stand beside it.
const RESERVED_TOOLS: &[&str] = &["INDEX", "SERVER", "STATUS"];

/// Names that a skill can't have.
const RESERVED_SKILLS: &[&str] = &["INDEX.md"];

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
        for ((name, (server, _)), allotted) in sources.servers.iter().zip(of_servers(sources)) {
            names.server(server, &allotted.file_name, said);
            names.servers.insert(name.clone(), allotted.file_name);
        }
        for NamedSkill {
            skill, allotted, ..
        } in of_skills(&sources.skills)
        {
            let id = EntryId::skill(&allotted.file_name);
            names
                .lines
                .push(line(said, &id, summarize(&skill.description)));
            names.entries.insert(id, Entry::Skill(Arc::clone(skill)));
        }
        names
    }

    fn server(
        &mut self,
        server: &Arc<Server>,
        file_name: &str,
        said: &BTreeMap<EntryId, EntryOptions>,
    ) {
        let mut tools: Vec<(EntryId, &Arc<Tool>)> = of_tools(server)
            .map(|(tool, allotted)| (EntryId::tool(file_name, &allotted.file_name), tool))
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
            self.lines.push(line(said, &id, summary));
            let (server, tool) = (Arc::clone(server), Arc::clone(tool));
            self.entries.insert(id, Entry::Tool { server, tool });
        }
    }
}

/// The names of the servers' directories, in the order of the servers.
pub(super) fn of_servers(sources: &Sources) -> Vec<Allotted> {
    let servers = sources.servers.keys();
    let claims: Vec<Claim<'_>> = servers
        .map(|name| Claim {
            name: OsStr::new(name.as_str()),
            source: OsStr::new("mcp"),
        })
        .collect();
    allot(&claims, RESERVED_SERVERS, Ties::NoneKeeps)
}

/// A server's tools in the order in which they were sent, each with its file name.
pub(super) fn of_tools(server: &Server) -> impl Iterator<Item = (&Arc<Tool>, Allotted)> {
    let definitions = server.definitions.as_ref();
    let tools = definitions.map_or(&[][..], |known| &known.tools);
    let claims: Vec<Claim<'_>> = tools
        .iter()
        .map(|tool| Claim {
            name: OsStr::new(&*tool.name),
            source: OsStr::new(server.name.as_str()),
        })
        .collect();
    let allotted = allot(&claims, RESERVED_TOOLS, Ties::NoneKeeps);
    tools.iter().zip(allotted)
}

/// A skill with the name of its directory.
pub(super) struct NamedSkill<'a> {
    pub(super) skill: &'a Arc<Skill>,
    /// The name that it would have.
    pub(super) wanted: OsString,
    pub(super) allotted: Allotted,
}

/// The skills in order of precedence, each with the name of its directory.
pub(super) fn of_skills(skills: &[Arc<Skill>]) -> Vec<NamedSkill<'_>> {
    let mut skills: Vec<&Arc<Skill>> = skills.iter().collect();
    skills.sort_by_key(|skill| (skill.precedence, &skill.found));
    let names: Vec<OsString> = skills
        .iter()
        .map(|skill| {
            let mut name = OsString::new();
            if let Some(source) = &skill.source {
                name.push(source);
                name.push(":");
            }
            name.push(&skill.name);
            name
        })
        .collect();
    let claims: Vec<Claim<'_>> = std::iter::zip(&names, &skills)
        .map(|(name, skill)| Claim {
            name,
            source: skill.found.as_os_str(),
        })
        .collect();
    let allotted = allot(&claims, RESERVED_SKILLS, Ties::FirstKeeps);
    let named = skills.into_iter().zip(names).zip(allotted);
    named
        .map(|((skill, wanted), allotted)| NamedSkill {
            skill,
            wanted,
            allotted,
        })
        .collect()
}
