//! What the journal says: how the definitions of two snapshots differ.
//!
//! It knows nothing of states: a server that failed or came back is no difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Snapshot;
use crate::layout::{PlacedServer, PlacedSkill};

/// A definition's hash, short enough to be kept by the hundred thousand.
type Digest = [u8; 16];

/// What is known of every definition: enough to tell what a later snapshot changed. Kept across mounts, so that the
/// journal also says what changed while no daemon ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The servers whose definitions are known, each with its tools, by the names that the mount shows.
    servers: BTreeMap<String, BTreeMap<String, Digest>>,
    /// The skills by their ids.
    skills: BTreeMap<String, Digest>,
}

impl Known {
    /// What a snapshot knows.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self::beside(snapshot, None)
    }

    /// What a snapshot knows, without that which it shares with another one.
    fn beside(snapshot: &Snapshot, other: Option<&Snapshot>) -> Self {
        let is_shared_server = |placed: &PlacedServer| {
            other
                .and_then(|other| other.layout.servers().get(&placed.content.server.name))
                .is_some_and(|other| Arc::ptr_eq(&other.content, &placed.content))
        };
        let is_shared_skill = |placed: &Arc<PlacedSkill>| {
            other.is_some_and(|other| {
                let skills = other.layout.skills();
                skills
                    .binary_search_by(|skill| skill.id.cmp(&placed.id))
                    .is_ok_and(|at| Arc::ptr_eq(&skills[at], placed))
            })
        };
        let servers = snapshot.layout.servers().values();
        let servers = servers
            .filter(|placed| placed.content.server.definitions.is_some())
            .filter(|placed| !is_shared_server(placed))
            .map(|placed| (placed.content.file_name.clone(), tools(placed)));
        let skills = snapshot.layout.skills().iter();
        let skills = skills
            .filter(|placed| !is_shared_skill(placed))
            .map(|placed| {
                let hash = blake3::hash(&placed.skill.text);
                (placed.id.to_string(), shorten(hash.as_bytes()))
            });
        Self {
            servers: servers.collect(),
            skills: skills.collect(),
        }
    }

    /// One line of the journal for each difference, in order of id.
    pub fn differences(&self, after: &Self) -> Vec<String> {
        let mut lines: Vec<(String, char, String)> = Vec::new();
        let mut push = |sign, id: String, rest: &str| lines.push((id, sign, rest.to_owned()));
        let none = BTreeMap::new();
        for (server, tools) in &after.servers {
            let Some(before) = self.servers.get(server) else {
                let unit = if tools.len() == 1 { "tool" } else { "tools" };
                push(
                    '+',
                    format!("{server}/"),
                    &format!(" {} {unit}", tools.len()),
                );
                continue;
            };
            compare(before, tools, |sign, tool| {
                push(sign, format!("{server}/{tool}"), "")
            });
        }
        for (server, tools) in &self.servers {
            if !after.servers.contains_key(server) {
                compare(tools, &none, |sign, tool| {
                    push(sign, format!("{server}/{tool}"), "")
                });
            }
        }
        compare(&self.skills, &after.skills, |sign, id| {
            push(sign, id.to_owned(), "")
        });
        lines.sort();
        lines
            .into_iter()
            .map(|(id, sign, rest)| format!("{sign} {id}{rest}"))
            .collect()
    }
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
    let mut digest = Digest::default();
    digest.copy_from_slice(&hash[..16]);
    digest
}

fn compare(
    before: &BTreeMap<String, Digest>,
    after: &BTreeMap<String, Digest>,
    mut push: impl FnMut(char, &str),
) {
    for (name, digest) in after {
        match before.get(name) {
            None => push('+', name),
            Some(old) if old != digest => push('~', name),
            Some(_) => {}
        }
    }
    for name in before.keys() {
        if !after.contains_key(name) {
            push('-', name);
        }
    }
}

/// One line of the journal for each difference of the definitions: `+ id`, `~ id`, `- id`, one line a *server* when a
/// server is first seen (`+ github/ 26 tools`).
pub fn differences(before: Option<&Snapshot>, after: &Snapshot) -> Vec<String> {
    let known = before.map_or_else(Known::default, |before| Known::beside(before, Some(after)));
    known.differences(&Known::beside(after, before))
}
