//! The definitions that are known, by their hashes, and what differs between two such states: the journal's lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Entry, Snapshot};
use crate::entry_id::EntryId;

/// Every known definition by id, as the hash of its canonical form in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known(pub BTreeMap<EntryId, String>);

impl Known {
    /// What a snapshot knows. A configured server whose definitions are not known (yet) keeps those of `before`: it
    /// said nothing, so nothing went.
    pub fn of(snapshot: &Snapshot, before: &Self) -> Self {
        let mut known: BTreeMap<_, _> = snapshot
            .entries
            .iter()
            .map(|(id, entry)| {
                let hash = match entry {
                    Entry::Tool { tool, .. } => blake3::Hash::from_bytes(tool.hash),
                    Entry::Skill(skill) => blake3::hash(&skill.text),
                };
                (id.clone(), hash.to_hex().to_string())
            })
            .collect();
        let silent: BTreeSet<String> = snapshot
            .sources
            .servers
            .values()
            .filter(|(server, _)| server.definitions.is_none())
            .filter_map(|(server, _)| snapshot.server_file_name(&server.name))
            .collect();
        for (id, hash) in &before.0 {
            if silent.contains(group(id)) {
                known.entry(id.clone()).or_insert_with(|| hash.clone());
            }
        }
        Self(known)
    }
}

/// The server's name, or `skills`.
fn group(id: &EntryId) -> &str {
    id.as_str().split_once('/').map_or("", |(group, _)| group)
}

/// One line for each difference, by id: `+ id`, `~ id`, `- id`; but one line a server when a server is first seen
/// (`+ github/ 26 tools`).
pub fn differences(before: &Known, after: &Known) -> Vec<String> {
    let groups: BTreeSet<&str> = before.0.keys().map(group).collect();
    let mut new_servers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines: Vec<(&str, String)> = Vec::new();
    for (id, hash) in &after.0 {
        match before.0.get(id) {
            Some(old) if old == hash => {}
            Some(_) => lines.push((id.as_str(), format!("~ {id}"))),
            None if group(id) != "skills" && !groups.contains(group(id)) => {
                *new_servers.entry(group(id)).or_default() += 1;
            }
            None => lines.push((id.as_str(), format!("+ {id}"))),
        }
    }
    for id in before.0.keys().filter(|id| !after.0.contains_key(id)) {
        lines.push((id.as_str(), format!("- {id}")));
    }
    for (server, tools) in new_servers {
        let noun = if tools == 1 { "tool" } else { "tools" };
        lines.push((server, format!("+ {server}/ {tools} {noun}")));
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(entries: &[(&str, &str)]) -> Known {
        Known(entries.iter().map(|(id, hash)| (EntryId((*id).into()), (*hash).into())).collect())
    }

    #[test]
    fn a_server_first_seen_is_one_line() {
        let after = known(&[("github/a", "1"), ("github/b", "2"), ("skills/s", "3")]);
        assert_eq!(differences(&Known::default(), &after), ["+ github/ 2 tools", "+ skills/s"]);
    }

    #[test]
    fn later_each_definition_is_a_line() {
        let before = known(&[("github/a", "1"), ("github/b", "2"), ("skills/s", "3")]);
        let after = known(&[("github/a", "9"), ("github/c", "2"), ("skills/s", "3")]);
        assert_eq!(differences(&before, &after), ["~ github/a", "- github/b", "+ github/c"]);
    }

    #[test]
    fn nothing_differs_from_itself() {
        let state = known(&[("github/a", "1")]);
        assert!(differences(&state, &state).is_empty());
    }
}
