//! Search: which entries answer a request, ranked. Pure; built off the read path by whoever holds it.

use std::collections::{BTreeMap, HashSet};

use crate::catalog::Snapshot;
use crate::entry_id::EntryId;

/// The users' own words, from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// `[search.keywords]`: a word of a request stands for these words, too (`ticket = ["issue"]`).
    pub keywords: BTreeMap<String, Vec<String>>,
    /// Whether meaning is left out (`search.lexical`, `--lexical`).
    pub lexical: bool,
}

/// A kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A tool.
    Tool,
    /// A skill.
    Skill,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The words, as typed.
    pub words: &'a str,
    /// At most so many matches.
    pub limit: usize,
    /// Only entries of this kind.
    pub kind: Option<Kind>,
    /// Only the tools of this server (its name as the mount shows it).
    pub server: Option<&'a str>,
    /// Leave meaning out for this request.
    pub lexical: bool,
    /// Entries that are left out (those that a session has loaded already).
    pub exclude: &'a HashSet<EntryId>,
}

/// One entry that answers the request.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Match {
    /// The entry.
    pub id: EntryId,
    /// Its kind.
    pub kind: Kind,
    /// The score by which it is ranked; comparable within one answer only.
    pub score: f32,
    /// Its line in the index.
    pub summary: String,
}

/// A server (or `skills`) with what of it answers the request.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ServerMatch {
    /// Its name as the mount shows it; `skills` for skills.
    pub name: String,
    /// How many of its entries matched, beyond the limit too.
    pub matches: usize,
    /// The score by which servers are ranked.
    pub score: f32,
    /// What it says of itself, on one line.
    pub about: String,
}

/// The answer to a request. Nothing matched when `matches` is empty: then `servers` holds the nearest servers.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Answer {
    /// The best matches, best first.
    pub matches: Vec<Match>,
    /// The servers that matches are on, best first.
    pub servers: Vec<ServerMatch>,
    /// Configured servers whose definitions are not known yet.
    pub unknown: Vec<String>,
}

/// A ranker over the entries of one snapshot.
#[derive(Debug)]
pub struct SearchIndex {}

impl SearchIndex {
    /// Builds the index of a snapshot; what did not change since `previous` is taken over.
    pub fn build(previous: Option<&Self>, snapshot: &Snapshot, options: &SearchOptions) -> Self {
        let _ = (previous, snapshot, options);
        todo!()
    }

    /// The generation of the snapshot that it was built from.
    pub fn generation(&self) -> u64 {
        todo!()
    }

    /// Answers a request. Below a threshold nothing matches: never a low "best guess".
    pub fn search(&self, query: &Query<'_>) -> Answer {
        let _ = query;
        todo!()
    }
}
