//! Where every entry stands: servers, skills and index texts become one tree.
//!
//! What did not change keeps its nodes: a directory of the new tree is the very one of the old tree when nothing
//! below it differs.

pub(crate) mod bin;
mod given;
pub mod ids;
mod names;
mod servers;
mod skills;
mod stamp;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{EntryOptions, FirstSeen, Hiding, IndexOptions, Sources};
use crate::entry_id::{EntryId, ServerName};
use crate::index::{self, Group, Kind, Line, TokenCounter};
use crate::names::Taken;
use crate::problem::{Problem, ProblemKind};
use crate::server::Phase;
use crate::tree::{Directory, FileName, Node};

use given::Given;
pub(crate) use names::Names;
pub(crate) use servers::PlacedServer;
use skills::PlacedSkill;
use stamp::Stamp;

/// Everything with its place.
#[derive(Debug)]
pub(crate) struct Layout {
    servers: BTreeMap<ServerName, Arc<PlacedServer>>,
    /// The servers that are switched off, which have no place, and the names that are theirs all the same.
    switched_off: BTreeMap<ServerName, String>,
    /// In order of id.
    skills: Vec<Arc<PlacedSkill>>,
    /// In order of their prefix.
    groups: Vec<Arc<Group>>,
    options: IndexOptions,
    entries: Arc<BTreeMap<EntryId, EntryOptions>>,
    hiding: Hiding,
    /// The revision of the counts that it was made with.
    counts: u64,
    index_is_counted: bool,
    is_counted: bool,
    problems: Vec<Problem>,
    root: Arc<Directory>,
}

impl Layout {
    /// Gives everything its place; what did not change since `previous` is taken from there.
    pub(crate) fn place(
        previous: Option<&Self>,
        sources: &Sources,
        options: IndexOptions,
        counter: &dyn TokenCounter,
        first_seen: &mut dyn FirstSeen,
    ) -> Self {
        let given = &Given {
            counter,
            entries: &sources.entries,
            hiding: &sources.hiding,
            same_entries: previous.is_some_and(|layout| {
                layout.entries == sources.entries && layout.hiding.is_same(&sources.hiding)
            }),
            same_counts: previous.is_some_and(|layout| layout.counts == counter.revision()),
        };
        let stamp = &mut Stamp::new(previous.map(|layout| &layout.root), first_seen);
        let mut problems = Vec::new();
        let (servers, switched_off) = place_servers(previous, sources, stamp, given, &mut problems);
        let before = previous.map_or(&[][..], |layout| &layout.skills);
        let skills = skills::place(before, &sources.skills, &mut problems, given);
        problems.extend(unknown_entries(sources, &servers, &switched_off, &skills));
        let skill_lines = skills::lines(&skills, given);
        let of_skills = skills::groups(previous, &skills, &skill_lines, given);
        let of_servers = servers.values().map(|server| &server.content);
        let mut groups: Vec<Arc<Group>> = of_servers
            .filter_map(|content| content.shown_group())
            .chain(of_skills)
            .collect();
        groups.extend(headed(previous, &servers, &skill_lines, given));
        groups.sort_by(|a, b| (a.prefix(), a.kind).cmp(&(b.prefix(), b.kind)));

        let mut root = Vec::new();
        let (files, index_is_counted) = index_files(previous, &groups, options, stamp, given);
        root.extend(files);
        root.push(stamp.file("README.md", index::README.into(), None));
        root.push(stamp.volatile_file("CHANGES.md", index::changes(&sources.journal)));
        let mcp = servers.values().map(|server| server.directory.clone());
        root.push(stamp.directory("mcp", mcp.collect()));
        let schemas = servers
            .values()
            .filter_map(|server| server.content.schemas.clone());
        root.push(stamp.directory(".schemas", schemas.collect()));
        let programs = servers
            .values()
            .flat_map(|server| server.content.programs());
        root.push(stamp.directory("bin", programs.collect()));
        root.push(skills::directory(&skills, &skill_lines, stamp));
        let mut contents = servers.values().map(|server| &server.content);
        let is_counted = index_is_counted
            && contents.all(|content| content.is_counted())
            && skills.iter().all(|skill| skill.is_counted());
        Self {
            root: stamp.root(root),
            servers,
            switched_off,
            skills,
            groups,
            options,
            entries: sources.entries.clone(),
            hiding: sources.hiding.clone(),
            counts: counter.revision(),
            index_is_counted,
            is_counted,
            problems,
        }
    }

    /// The tree that it forms.
    pub(crate) fn root(&self) -> &Arc<Directory> {
        &self.root
    }

    /// Whether every count that it was made by is exact.
    pub(crate) const fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// What came up when everything was given its name and its place.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The servers by their configured name, without those that are switched off.
    pub(crate) fn servers(&self) -> &BTreeMap<ServerName, Arc<PlacedServer>> {
        &self.servers
    }

    /// The name of a server's directories, which it has also while it is switched off.
    pub(crate) fn server_file_name(&self, server: &ServerName) -> Option<&String> {
        let placed = self.servers.get(server);
        let placed = placed.map(|placed| &placed.content.file_name);
        placed.or_else(|| self.switched_off.get(server))
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

/// The servers, placed, and those that are switched off.
fn place_servers(
    previous: Option<&Layout>,
    sources: &Sources,
    stamp: &mut Stamp<'_>,
    given: &Given<'_>,
    problems: &mut Vec<Problem>,
) -> (
    BTreeMap<ServerName, Arc<PlacedServer>>,
    BTreeMap<ServerName, String>,
) {
    let names: Vec<&ServerName> = sources.servers.keys().collect();
    let allotted = ids::allot_servers(&names);
    let mut placed = BTreeMap::new();
    let mut switched_off = BTreeMap::new();
    for ((name, (server, state)), allotted) in sources.servers.iter().zip(allotted) {
        // It keeps its name all the same: that of another must not depend on what is switched off.
        if state.phase == Phase::Disabled {
            switched_off.insert(name.clone(), allotted.file_name);
            continue;
        }
        if let Some(taken) = allotted.taken {
            let winner = match taken {
                Taken::ByLayout => format!("the directory `{}` of the mount", name.as_str()),
                Taken::ByClaim(rival) => format!("the server `{}`", names[rival]),
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
        let server = PlacedServer::next(previous, server, state, &allotted.file_name, stamp, given);
        problems.extend_from_slice(&server.content.problems);
        placed.insert(name.clone(), server);
    }
    (placed, switched_off)
}

/// The entries that the user put under headings of their own, a group for each heading and kind.
fn headed(
    previous: Option<&Layout>,
    servers: &BTreeMap<ServerName, Arc<PlacedServer>>,
    skill_lines: &[Line],
    given: &Given<'_>,
) -> Vec<Arc<Group>> {
    let mut by_heading: BTreeMap<(&str, Kind), Vec<&Line>> = BTreeMap::new();
    let tools = servers.values().flat_map(|server| server.content.lines());
    let tools = tools.map(|line| (Kind::Tools, line));
    for (kind, line) in tools.chain(skill_lines.iter().map(|line| (Kind::Skills, line))) {
        if let Some(heading) = &line.heading {
            by_heading.entry((heading, kind)).or_default().push(line);
        }
    }
    let groups = by_heading.into_iter().map(|((heading, kind), mut lines)| {
        lines.sort_by(|a, b| a.id.cmp(&b.id));
        let lines = lines.into_iter().cloned().collect();
        let group = Group::headed(heading, kind, lines, given.counter);
        // The very one of before, so that nothing that lists it is written anew.
        let mut before = previous.iter().flat_map(|layout| &layout.groups);
        let same = before.find(|before| before.shows_same(&group));
        let same = same.filter(|same| given.keeps(same.is_counted()));
        same.map_or_else(|| Arc::new(group), Arc::clone)
    });
    groups.collect()
}

/// What the user says of entries that do not exist, as far as that is certain: while a server's tools are not known, any
/// of them may.
fn unknown_entries(
    sources: &Sources,
    servers: &BTreeMap<ServerName, Arc<PlacedServer>>,
    switched_off: &BTreeMap<ServerName, String>,
    skills: &[Arc<PlacedSkill>],
) -> Vec<Problem> {
    let exists = |id: &EntryId| {
        let first = id.as_str().split_once('/').map_or("", |(first, _)| first);
        if first == ids::SKILLS {
            return sources.hiding.skill(id) || skills.iter().any(|skill| skill.id == *id);
        }
        let server = servers
            .values()
            .find(|server| server.content.file_name == first);
        let is_off = || switched_off.values().any(|file_name| file_name == first);
        server.map_or_else(is_off, |server| {
            let content = &server.content;
            content.server.definitions.is_none()
                || content.hidden.contains(id)
                || content.tools.iter().any(|tool| tool.id == *id)
        })
    };
    let unknown = sources.entries.iter().filter(|(id, _)| !exists(id));
    let problems = unknown.map(|(id, options)| {
        let message = format!("`[entries]` names `{id}`, and there is no such entry");
        let hint = "`shelf list` shows the ids";
        Problem {
            location: options.written.clone(),
            ..Problem::new(ProblemKind::Configuration, message).hint(hint)
        }
    });
    problems.collect()
}

/// INDEX.md and ALL.md, which need not be written anew while every group is the same, and whether INDEX.md was made by
/// exact counts.
fn index_files(
    previous: Option<&Layout>,
    groups: &[Arc<Group>],
    options: IndexOptions,
    stamp: &mut Stamp<'_>,
    given: &Given<'_>,
) -> ([(FileName, Node); 2], bool) {
    if let Some(previous) = previous
        && previous.options == options
        && given.keeps(previous.index_is_counted)
        && previous.groups.len() == groups.len()
        && std::iter::zip(&previous.groups, groups).all(|(a, b)| Arc::ptr_eq(a, b))
        && let [Some(overview), Some(all)] =
            [b"INDEX.md".as_slice(), b"ALL.md"].map(|name| previous.root.get(name))
    {
        let files = [
            ((*b"INDEX.md").into(), overview.clone()),
            ((*b"ALL.md").into(), all.clone()),
        ];
        return (files, previous.index_is_counted);
    }
    let groups: Vec<&Group> = groups.iter().map(Arc::as_ref).collect();
    let overview = index::overview(&groups, options.max_tokens, given.counter);
    let files = [
        stamp.file("INDEX.md", overview.text, None),
        stamp.file("ALL.md", index::all(&groups), None),
    ];
    (files, overview.is_counted)
}

/// Two entries, or an entry and the layout, want one name; says who has it and where the other one is now.
fn collision(name: &str, winner: &str, shown_as: &str) -> Problem {
    Problem::new(
        ProblemKind::Collision,
        format!("the name `{name}` belongs to {winner}, so this one is shown as `{shown_as}`"),
    )
}
