//! What the journal says: how the definitions of two snapshots differ.
//!
//! It knows nothing of states: a server that failed or came back is no difference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::{Entry, Snapshot};
use crate::layout::PlacedServer;
use crate::server::Definitions;
use crate::skill::Skill;

/// The first half of a definition's hash, in hexadecimal.
type Digest = String;

/// What is known of every definition: enough to tell what a later snapshot changed. Kept across mounts, so that the
/// journal also says what changed while no daemon ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The servers whose definitions were ever known, by the names that the mount shows.
    servers: BTreeMap<String, KnownServer>,
    /// The skills by their ids.
    skills: BTreeMap<String, Digest>,
}

/// What is known of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KnownServer {
    /// What it says of itself.
    said: Digest,
    /// Its tools, by the names that the mount shows.
    tools: BTreeMap<String, Digest>,
}

impl Known {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.skills.is_empty()
    }

    /// The servers and their tools, by the names that the mount shows.
    pub fn servers(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        let servers = self.servers.iter();
        servers.map(|(name, server)| (name.as_str(), server.tools.keys().map(String::as_str)))
    }

    /// Takes over what a snapshot knows, and gives one line of the journal for each difference, in order of id.
    ///
    /// `before` is the snapshot that was taken over last, if there is one: what the two share is passed over. A server
    /// that is configured and not known (any more) is no difference: what was known of it stays.
    pub fn advance(&mut self, before: Option<&Snapshot>, after: &Snapshot) -> Vec<String> {
        let mut lines = Lines::default();
        let servers = after.layout.servers();
        for (name, placed) in servers {
            let old = before.and_then(|before| before.layout.servers().get(name));
            let is_shared = old.is_some_and(|old| Arc::ptr_eq(&old.content, &placed.content));
            let Some(definitions) = &placed.content.server.definitions else {
                continue;
            };
            if is_shared {
                continue;
            }
            let server = &placed.content.file_name;
            let now = KnownServer {
                said: said(definitions),
                tools: tools(placed),
            };
            match self.servers.get(server) {
                Some(known) => {
                    if known.said != now.said {
                        lines.push('~', format!("{server}/"));
                    }
                    lines.compare(&format!("{server}/"), &known.tools, &now.tools);
                }
                None => lines.first_seen(server, now.tools.len()),
            }
            self.servers.insert(server.clone(), now);
        }
        let configured: BTreeSet<&str> = servers
            .values()
            .map(|placed| placed.content.file_name.as_str())
            .collect();
        self.servers.retain(|server, known| {
            let stays = configured.contains(server.as_str());
            if !stays {
                lines.compare(&format!("{server}/"), &known.tools, &BTreeMap::new());
            }
            stays
        });
        if before.is_none_or(|before| !after.layout.shares_skills(&before.layout)) {
            let skills = after.layout.skills().iter();
            let skills = skills.map(|placed| (placed.id.to_string(), digest(&placed.skill)));
            let skills = skills.collect();
            lines.compare("", &self.skills, &skills);
            self.skills = skills;
        }
        lines.in_order()
    }
}

/// Lines of the journal, each with the id that it is sorted by.
#[derive(Default)]
struct Lines(Vec<(String, char, String)>);

impl Lines {
    fn push(&mut self, sign: char, id: String) {
        self.0.push((id, sign, String::new()));
    }

    fn first_seen(&mut self, server: &str, tools: usize) {
        let unit = if tools == 1 { "tool" } else { "tools" };
        self.0
            .push((format!("{server}/"), '+', format!(" {tools} {unit}")));
    }

    fn compare(
        &mut self,
        prefix: &str,
        before: &BTreeMap<String, Digest>,
        after: &BTreeMap<String, Digest>,
    ) {
        for (name, digest) in after {
            match before.get(name) {
                None => self.push('+', format!("{prefix}{name}")),
                Some(old) if old != digest => self.push('~', format!("{prefix}{name}")),
                Some(_) => {}
            }
        }
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            self.push('-', format!("{prefix}{name}"));
        }
    }

    fn in_order(mut self) -> Vec<String> {
        self.0.sort();
        let lines = self.0.into_iter();
        lines
            .map(|(id, sign, rest)| format!("{sign} {id}{rest}"))
            .collect()
    }
}

/// The revision of the protocol is left out: which one is negotiated is no definition.
fn said(definitions: &Definitions) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in [
        &definitions.title,
        &definitions.version,
        &definitions.instructions,
    ] {
        hasher.update(format!("{part:?}").as_bytes());
    }
    shorten(hasher.finalize().as_bytes())
}

fn tools(placed: &PlacedServer) -> BTreeMap<String, Digest> {
    let prefix = placed.content.file_name.len() + 1;
    let tools = placed.content.tools.iter();
    tools
        .map(|placed| {
            (
                placed.id.as_str()[prefix..].to_owned(),
                shorten(&placed.tool.hash),
            )
        })
        .collect()
}

fn shorten(hash: &[u8; 32]) -> Digest {
    HEXLOWER.encode(&hash[..16])
}

/// A skill is what its SKILL.md says: files beside it are read from the disk when they are opened.
fn digest(skill: &Skill) -> Digest {
    shorten(blake3::hash(&skill.text).as_bytes())
}

impl Entry {
    /// Tells one version of the definition from another, as the journal does: half of a hash, in hexadecimal.
    pub fn digest(&self) -> String {
        match self {
            Self::Tool { tool, .. } => shorten(&tool.hash),
            Self::Skill(skill) => digest(skill),
        }
    }
}

/// One line of the journal for each difference of the definitions: `+ id`, `~ id`, `- id`, one line a *server* when a
/// server is first seen (`+ github/ 26 tools`) and when what it says of itself changed (`~ github/`).
pub fn differences(before: Option<&Snapshot>, after: &Snapshot) -> Vec<String> {
    let mut known = Known::default();
    if let Some(before) = before {
        known.advance(None, before);
    }
    known.advance(before, after)
}
