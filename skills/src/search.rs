//! Search: which entries answer a request, ranked. Pure; built off the read path by whoever holds it.
//!
//! Two rankers stand behind one trait: BM25 over an entry's words, and the default one, which adds its meaning.

mod answer;
mod basis;
mod content;
mod document;
mod evaluation;
mod hybrid;
mod jargon;
mod lexical;
mod model;
mod ranker;
mod request;
mod stored;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

use crate::catalog::{EntryKind, Outline, Shown, Snapshot, Sources};
use crate::entry_id::EntryId;
use crate::server::Phase;
use content::Content;
use model::Model;

pub use basis::{Basis, DefinitionsDigest, DigestedServers};
pub use evaluation::{Case, Evaluation, Measures, Miss, cases, evaluate};
pub use stored::StoredIndex;

/// The users' own settings, `[search]` of the configuration. Keywords of single entries stand in [`crate::catalog::Sources::entries`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// `[search.keywords]`: a word of a request stands for these words, too (`ticket = ["issue"]`).
    pub keywords: BTreeMap<String, Vec<String>>,
    /// Whether meaning is left out (`search.lexical`).
    pub lexical: bool,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The words, as typed.
    pub words: &'a str,
    /// At most so many matches.
    pub limit: usize,
    /// Only entries of this kind.
    pub kind: Option<EntryKind>,
    /// Only the tools of this server (its name as the mount shows it).
    pub server: Option<&'a str>,
    /// Leave meaning out for this request.
    pub lexical: bool,
    /// Entries that are left out (those that a session has loaded already).
    pub exclude: &'a HashSet<EntryId>,
}

/// One entry that answers the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// The entry.
    pub id: EntryId,
    /// Its kind.
    pub kind: EntryKind,
    /// The score by which it is ranked; comparable within one answer only.
    pub score: f32,
    /// Its line in the index.
    pub summary: String,
}

/// A server (or `skills`) with what of it answers the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The best matches, best first.
    pub matches: Vec<Match>,
    /// The servers that matches are on, best first.
    pub servers: Vec<ServerMatch>,
    /// Configured servers whose definitions are not known yet, and so were not searched.
    pub unknown: Vec<String>,
    /// Where nothing matches, the entries that would, had the request not excluded them, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<EntryId>,
}

/// The rankers over the entries of one snapshot.
#[derive(Debug)]
pub struct SearchIndex {
    generation: u64,
    content: Arc<Content>,
    /// The servers that a snapshot has no definitions of; not part of the content, since a server's state decides.
    unknown: Vec<UnknownServer>,
}

/// Stands for all that one index has but the state of servers; it keeps none of it.
#[derive(Clone, Debug)]
pub struct Mark(Weak<Content>);

impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

/// A configured server whose definitions are not known.
#[derive(Debug)]
struct UnknownServer {
    name: String,
    file_name: Option<String>,
}

impl SearchIndex {
    /// Builds the index of a snapshot; what did not change since `previous` is taken over.
    pub fn build(previous: Option<&Self>, snapshot: &Snapshot, options: &SearchOptions) -> Self {
        let previous = previous.map(|index| &index.content);
        Self {
            generation: snapshot.generation,
            content: Content::build(previous, snapshot, options),
            unknown: unknown(snapshot),
        }
    }

    /// Builds the index of what nobody renders: for one search without a mount. Its generation is 0.
    pub fn of_outline(outline: &Outline, options: &SearchOptions) -> Self {
        Self {
            generation: 0,
            content: Content::build(None, outline, options),
            unknown: unknown(outline),
        }
    }

    /// Loads what is compiled in, which the first search otherwise waits for.
    pub fn warm() {
        Model::shared();
    }

    /// The generation of the snapshot that it was built from.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether it has all that another index has is told by their marks.
    pub fn mark(&self) -> Mark {
        Mark(Arc::downgrade(&self.content))
    }

    /// What it was built from, when these are the sources that it was built from.
    pub fn basis(&self, sources: &Sources) -> Basis {
        Basis::of(sources, self.content.options())
    }

    /// Every entry with its line, in order of id, as [`Shown::lines`] of what it was built from.
    pub fn lines(&self) -> impl Iterator<Item = (&EntryId, EntryKind, &str)> {
        let entries = self.content.entries.iter();
        entries.map(|entry| (&entry.id, entry.kind, entry.line.as_str()))
    }

    /// Answers a request. Below a threshold nothing matches: never a low "best guess".
    ///
    /// Of a request that is longer than some 4,000 bytes or 32 different words only the beginning counts.
    pub fn search(&self, query: &Query<'_>) -> Answer {
        answer::answer(&self.content, &self.unknown, query)
    }

    /// Whether it was built with meaning.
    fn has_meaning(&self) -> bool {
        self.content.has_meaning()
    }

    /// The ids of what is searched, in order.
    fn ids(&self) -> impl Iterator<Item = &EntryId> {
        self.content.entries.iter().map(|entry| &entry.id)
    }

    /// Every entry with its score, best first, whether it answers the request or not.
    fn ranking(&self, words: &str, lexical: bool) -> Vec<(&EntryId, f32)> {
        let request = self.content.request(words, lexical);
        let ranks = self.content.ranker(lexical).rank(&request);
        let mut ranking: Vec<_> = self
            .ids()
            .zip(ranks)
            .map(|(id, rank)| (id, rank.score))
            .collect();
        // Ids are in order, and the sort is stable.
        ranking.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        ranking
    }
}

fn unknown(shown: &dyn Shown) -> Vec<UnknownServer> {
    let servers = shown.sources().servers.values();
    servers
        .filter(|(server, state)| server.definitions.is_none() && state.phase != Phase::Disabled)
        .map(|(server, _)| UnknownServer {
            name: server.name.to_string(),
            file_name: shown.server_name(&server.name),
        })
        .collect()
}
