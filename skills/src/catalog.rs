//! The catalog: one immutable snapshot of every entry and the tree they form.

mod differences;
mod find;
#[cfg(test)]
pub(crate) mod fixtures;
mod hiding;
mod outline;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::entry_id::{EntryId, ServerName};
use crate::index::{self, TokenCounter, Uncounted};
use crate::layout::Layout;
use crate::problem::{Location, Problem, ProblemKind};
use crate::server::{Phase, Server, ServerState};
use crate::skill::Skill;
use crate::tool::Tool;
use crate::tree::Directory;

pub use differences::{Known, differences};
pub use find::id_in_path;
pub use hiding::{Hides, Hiding};
pub use outline::{Outline, Shown};

/// What a snapshot is made from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Every configured server with its state.
    pub servers: BTreeMap<ServerName, (Arc<Server>, ServerState)>,
    /// The skills, in order of precedence.
    pub skills: Vec<Arc<Skill>>,
    /// The problems of each source (`configuration`, `skills`, a server's name …).
    pub problems: BTreeMap<String, Vec<Problem>>,
    /// The journal's last lines, oldest first.
    pub journal: Arc<[String]>,
    /// What the user says of single entries, by id.
    pub entries: Arc<BTreeMap<EntryId, EntryOptions>>,
    /// Which entries are left off the shelf.
    pub hiding: Hiding,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// A tool of a server.
    Tool,
    /// A skill.
    Skill,
}

/// What the user says of one entry, `[entries."github/create_issue"]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryOptions {
    /// Stands in place of the summary made from the description.
    pub summary: Option<String>,
    /// More words by which search finds it.
    pub keywords: Vec<String>,
    /// The heading of the overview that it stands under, in place of its server.
    pub group: Option<String>,
    /// Whether it always has a full line in INDEX.md, first in its kind, and is loaded at once in provider formats.
    pub pin: bool,
    /// Where it is written, for what is wrong with it.
    pub written: Option<Location>,
}

/// Settings of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// The budget of INDEX.md in tokens.
    pub max_tokens: usize,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { max_tokens: 4_000 }
    }
}

/// An entry: a tool or a skill.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A tool of a server.
    Tool {
        /// The server.
        server: Arc<Server>,
        /// The tool.
        tool: Arc<Tool>,
    },
    /// A skill.
    Skill(Arc<Skill>),
}

impl Entry {
    /// What it is.
    pub const fn kind(&self) -> EntryKind {
        match self {
            Self::Tool { .. } => EntryKind::Tool,
            Self::Skill(_) => EntryKind::Skill,
        }
    }
}

/// Remembers when a version of a path was first seen, across mounts. The daemon keeps it on disk.
pub trait FirstSeen {
    /// When the bytes with this hash were first seen at this path of the tree: now, if they are new.
    fn first_seen(&mut self, path: &str, hash: &[u8; 32]) -> SystemTime;
}

/// One state of everything, swapped whole.
#[derive(Debug)]
pub struct Snapshot {
    /// Grows by one with each snapshot.
    pub generation: u64,
    /// Every entry by id.
    pub entries: BTreeMap<EntryId, Entry>,
    /// What it was made from.
    pub sources: Sources,
    /// Servers that failed, unless their source has said why among its problems.
    failures: Vec<Problem>,
    /// The tree that the mount and the mirror show.
    pub tree: Arc<Directory>,
    layout: Layout,
}

impl Snapshot {
    /// Builds the next snapshot with nothing counted, so that tokens are estimated; see [`Snapshot::build_counted`].
    pub fn build(
        previous: Option<&Snapshot>,
        sources: Sources,
        options: IndexOptions,
        first_seen: &mut dyn FirstSeen,
    ) -> Self {
        Self::build_counted(previous, sources, options, &Uncounted, first_seen)
    }

    /// Builds the next snapshot; subtrees whose sources are unchanged are shared with `previous`.
    pub fn build_counted(
        previous: Option<&Snapshot>,
        sources: Sources,
        options: IndexOptions,
        counter: &dyn TokenCounter,
        first_seen: &mut dyn FirstSeen,
    ) -> Self {
        let layout = Layout::place(
            previous.map(|snapshot| &snapshot.layout),
            &sources,
            options,
            counter,
            first_seen,
        );
        Self {
            generation: previous.map_or(1, |snapshot| snapshot.generation + 1),
            entries: entries(&layout),
            failures: failures(&sources),
            sources,
            tree: layout.root().clone(),
            layout,
        }
    }

    /// Whether every count of tokens in its texts is exact, and INDEX.md folded by exact ones.
    pub const fn is_counted(&self) -> bool {
        self.layout.is_counted()
    }

    /// The file name under which a server's directory stands in `mcp/` and `.schemas/`, or would if it were not switched off.
    pub fn server_file_name(&self, server: &ServerName) -> Option<String> {
        self.layout.server_file_name(server).cloned()
    }

    /// How many tools of a server are on the shelf; `None` while they are not known.
    pub fn tools_of(&self, server: &ServerName) -> Option<usize> {
        let content = &self.layout.servers().get(server)?.content;
        let known = content.server.definitions.as_ref();
        known.map(|_| content.tools.len())
    }

    /// Whether the user wants it shown and loaded before others.
    pub fn is_pinned(&self, id: &EntryId) -> bool {
        self.sources
            .entries
            .get(id)
            .is_some_and(|options| options.pin)
    }

    /// Every entry with its summary, in order of id: the lines of ALL.md as data.
    pub fn summaries(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        // Groups are in order of prefix, but the skills of named sources stand among the others.
        let mut lines: Vec<_> = self
            .layout
            .groups()
            .iter()
            .flat_map(|group| group.lines())
            .map(|line| (&line.id, line.summary.as_str()))
            .collect();
        lines.sort_by_key(|(id, _)| *id);
        lines.into_iter()
    }

    /// What INDEX.md would say if its budget were so many bytes.
    pub fn overview_in_bytes(&self, max_bytes: usize) -> String {
        let groups: Vec<_> = self.layout.groups().iter().map(AsRef::as_ref).collect();
        index::overview_in_bytes(&groups, max_bytes)
    }

    /// Every problem: those of the sources, then those of names and definitions, then the servers that failed.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.sources
            .problems
            .values()
            .flatten()
            .chain(self.layout.problems())
            .chain(&self.failures)
    }
}

fn failures(sources: &Sources) -> Vec<Problem> {
    let is_said = |why: &str| {
        let mut problems = sources.problems.values().flatten();
        problems.any(|problem| problem.message == why)
    };
    let failed = sources.servers.iter().filter_map(|(name, (_, state))| {
        let Phase::Failed(why) = &state.phase else {
            return None;
        };
        let failure = || Problem::new(ProblemKind::Server, format!("failed: {why}"));
        (!is_said(why)).then(|| failure().at_server(name.as_str(), None))
    });
    failed.collect()
}

fn entries(layout: &Layout) -> BTreeMap<EntryId, Entry> {
    let tools = layout.servers().values().flat_map(|placed| {
        let server = &placed.content.server;
        placed.content.tools.iter().map(|placed| {
            let server = server.clone();
            let tool = placed.tool.clone();
            (placed.id.clone(), Entry::Tool { server, tool })
        })
    });
    let skills = layout
        .skills()
        .iter()
        .map(|placed| (placed.id.clone(), Entry::Skill(placed.skill.clone())));
    tools.chain(skills).collect()
}
