//! Where every entry stands: servers, skills and index texts become one tree.
//!
//! What did not change keeps its nodes: a directory of the new tree is the very one of the old tree when nothing
//! below it differs.

mod servers;
mod skills;
mod stamp;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use crate::catalog::{FirstSeen, IndexOptions, Sources};
use crate::entry_id::ServerName;
use crate::index::{self, BytesByThree, Group, TokenCounter};
use crate::names::{Claim, Taken, Ties, allot};
use crate::problem::{Problem, ProblemKind};
use crate::tree::{Directory, FileName, Node};

pub(crate) use servers::{PlacedServer, about};
use skills::PlacedSkill;
use stamp::Stamp;

/// Names that a server can't have: `skills/x` is the id of a skill.
const RESERVED_SERVERS: &[&str] = &["skills"];

/// Everything with its place.
#[derive(Debug)]
pub(crate) struct Layout {
    servers: BTreeMap<ServerName, Arc<PlacedServer>>,
    /// In order of id.
    skills: Vec<Arc<PlacedSkill>>,
    /// In order of their prefix.
    groups: Vec<Arc<Group>>,
    options: IndexOptions,
    problems: Vec<Problem>,
    root: Arc<Directory>,
}

impl Layout {
    /// Gives everything its place; what did not change since `previous` is taken from there.
    pub(crate) fn place(
        previous: Option<&Self>,
        sources: &Sources,
        options: IndexOptions,
        first_seen: &mut dyn FirstSeen,
    ) -> Self {
        let counter = &BytesByThree;
        let stamp = &mut Stamp::new(previous.map(|layout| &layout.root), first_seen);
        let mut problems = Vec::new();
        let servers = place_servers(previous, sources, stamp, counter, &mut problems);
        let skills = skills::place(
            previous.map_or(&[], |layout| &layout.skills),
            &sources.skills,
            &mut problems,
            counter,
        );
        let skill_groups = skills::groups(previous, &skills, counter);
        let mut groups: Vec<Arc<Group>> = servers
            .values()
            .map(|server| server.content.group.clone())
            .chain(skill_groups.iter().cloned())
            .collect();
        groups.sort_by(|a, b| a.prefix().cmp(b.prefix()));

        let mut root = Vec::new();
        root.extend(index_files(previous, &groups, options, stamp, counter));
        root.push(stamp.file("README.md", index::README.into(), None));
        root.push(stamp.volatile_file("CHANGES.md", index::changes(&sources.journal)));
        let mcp = servers.values().map(|server| server.directory.clone());
        root.push(stamp.directory("mcp", mcp.collect()));
        let schemas = servers
            .values()
            .filter_map(|server| server.content.schemas.clone());
        root.push(stamp.directory(".schemas", schemas.collect()));
        root.push(skills::directory(&skills, &skill_groups, stamp, counter));
        Self {
            root: stamp.root(root),
            servers,
            skills,
            groups,
            options,
            problems,
        }
    }

    /// The tree that it forms.
    pub(crate) fn root(&self) -> &Arc<Directory> {
        &self.root
    }

    /// What came up when everything was given its name and its place.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The servers by their configured name.
    pub(crate) fn servers(&self) -> &BTreeMap<ServerName, Arc<PlacedServer>> {
        &self.servers
    }

    /// The skills in order of id.
    pub(crate) fn skills(&self) -> &[Arc<PlacedSkill>] {
        &self.skills
    }

    /// Whether every skill is the very one of another layout.
    pub(crate) fn shares_skills(&self, other: &Self) -> bool {
        skills::same(&self.skills, &other.skills)
    }

    /// The groups in order of their prefix.
    pub(crate) fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }
}

fn place_servers(
    previous: Option<&Layout>,
    sources: &Sources,
    stamp: &mut Stamp<'_>,
    counter: &dyn TokenCounter,
    problems: &mut Vec<Problem>,
) -> BTreeMap<ServerName, Arc<PlacedServer>> {
    let claims: Vec<Claim<'_>> = sources
        .servers
        .keys()
        .map(|name| Claim {
            name: OsStr::new(name.as_str()),
            source: OsStr::new("mcp"),
        })
        .collect();
    let allotted = allot(&claims, RESERVED_SERVERS, Ties::NoneKeeps);
    let mut placed = BTreeMap::new();
    for ((name, (server, state)), allotted) in sources.servers.iter().zip(allotted) {
        if let Some(taken) = allotted.taken {
            let winner = match taken {
                Taken::ByLayout => "the directory of the skills".to_owned(),
                Taken::ByClaim(rival) => format!("the server `{}`", claims[rival].name.display()),
            };
            problems.push(
                collision(
                    name.as_str(),
                    &winner,
                    &format!("mcp/{}/", allotted.file_name),
                )
                .at_server(name.as_str(), None)
                .hint("rename the server in the configuration"),
            );
        }
        let previous = previous.and_then(|layout| layout.servers.get(name));
        let server =
            PlacedServer::next(previous, server, state, &allotted.file_name, stamp, counter);
        problems.extend_from_slice(&server.content.problems);
        placed.insert(name.clone(), server);
    }
    placed
}

/// INDEX.md and ALL.md, which need not be written anew while every group is the same.
fn index_files(
    previous: Option<&Layout>,
    groups: &[Arc<Group>],
    options: IndexOptions,
    stamp: &mut Stamp<'_>,
    counter: &dyn TokenCounter,
) -> [(FileName, Node); 2] {
    if let Some(previous) = previous
        && previous.options == options
        && previous.groups.len() == groups.len()
        && std::iter::zip(&previous.groups, groups).all(|(a, b)| Arc::ptr_eq(a, b))
        && let [Some(overview), Some(all)] =
            [b"INDEX.md".as_slice(), b"ALL.md"].map(|name| previous.root.get(name))
    {
        return [
            ((*b"INDEX.md").into(), overview.clone()),
            ((*b"ALL.md").into(), all.clone()),
        ];
    }
    let groups: Vec<&Group> = groups.iter().map(Arc::as_ref).collect();
    [
        stamp.file(
            "INDEX.md",
            index::overview(&groups, options.max_tokens, counter),
            None,
        ),
        stamp.file("ALL.md", index::all(&groups), None),
    ]
}

/// Two entries, or an entry and the layout, want one name; says who has it and where the other one is now.
fn collision(name: &str, winner: &str, shown_as: &str) -> Problem {
    Problem::new(
        ProblemKind::Collision,
        format!("the name `{name}` belongs to {winner}, so this one is shown as `{shown_as}`"),
    )
}
