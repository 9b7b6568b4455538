//! The catalog: one immutable snapshot of every entry and the tree they form.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use crate::entry_id::{EntryId, ServerName};
use crate::problem::Problem;
use crate::server::{Server, ServerState};
use crate::skill::Skill;
use crate::tool::Tool;
use crate::tree::Directory;

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
    /// Collisions that came up when names were given out, beside the problems of the sources.
    pub collisions: Vec<Problem>,
    /// The tree that the mount and the mirror show.
    pub tree: Arc<Directory>,
}

impl Snapshot {
    /// Builds the next snapshot; subtrees whose sources are unchanged are shared with `previous`.
    pub fn build(
        previous: Option<&Snapshot>,
        sources: Sources,
        options: IndexOptions,
        first_seen: &mut dyn FirstSeen,
    ) -> Self {
        let _ = (previous, sources, options, first_seen);
        todo!()
    }

    /// Finds an entry by its id, or by a path of the entry relative to the mount point (`mcp/<server>/<tool>.md`,
    /// `.schemas/<server>/<tool>.json`, `skills/<skill>` and everything below it).
    ///
    /// # Errors
    /// [`ProblemKind::NotFound`](crate::problem::ProblemKind::NotFound) with the nearest ids.
    pub fn find(&self, id_or_path: &str) -> Result<(EntryId, Entry), Problem> {
        let _ = id_or_path;
        todo!()
    }

    /// The file name under which a server's directory stands in `mcp/` and `.schemas/`.
    pub fn server_file_name(&self, server: &ServerName) -> Option<String> {
        let _ = server;
        todo!()
    }

    /// Every problem: those of the sources, then collisions.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.sources
            .problems
            .values()
            .flatten()
            .chain(&self.collisions)
    }
}

/// One line of the journal for each difference of the definitions: `+ id`, `~ id`, `- id`, one line a *server* when a
/// server is first seen (`+ github/ 26 tools`).
pub fn differences(before: Option<&Snapshot>, after: &Snapshot) -> Vec<String> {
    let _ = (before, after);
    todo!()
}
