//! The difference of two remembered versions, as texts. It must not know which of them is trusted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::value::RawValue;
use similar::TextDiff;
use skills::json;
use skills::summary::spelt_out;

use super::files::{KeptNode, Manifest};
use super::hash::Hash;
use super::restoring::{Said, tool};
use super::store::Store;
use super::subject::Subject;
use crate::protocol::FileDifference;

/// The largest text that is compared line by line, in bytes.
const MAX_TEXT: usize = 1024 * 1024;

/// How long is looked for the smallest difference of two texts.
const PATIENCE: Duration = Duration::from_secs(1);

/// One side of a difference.
enum Side {
    Absent,
    Text(String),
    /// No text, or too long; so many bytes.
    Bytes(u64),
    /// Not kept; so many bytes, where that is known.
    Unknown(Option<u64>),
}

/// How two versions of a subject differ; `None` stands for its absence.
pub(super) fn files(
    store: &Store,
    subject: &Subject,
    id: &str,
    versions: [Option<Hash>; 2],
) -> Vec<FileDifference> {
    if let Subject::Skill { .. } = subject {
        return of_skill(store, id, versions);
    }
    let sides = versions.map(|version| match version {
        None => Side::Absent,
        Some(hash) => definition(store, subject, hash),
    });
    vec![difference(id.trim_end_matches('/'), None, sides)]
}

/// Whether a version can be shown, but for single files that are too large.
pub(super) fn is_kept(store: &Store, subject: &Subject, version: Hash) -> bool {
    match subject {
        Subject::Skill { .. } => Manifest::load(store, version).is_some(),
        Subject::Tool { .. } | Subject::Server(_) => {
            matches!(definition(store, subject, version), Side::Text(_))
        }
    }
}

fn definition(store: &Store, subject: &Subject, hash: Hash) -> Side {
    let text = match subject {
        Subject::Tool { server, .. } => tool(store, &server.name, hash).and_then(|tool| {
            let canonical = RawValue::from_string(json::canonical(&tool.raw)).ok()?;
            Some(json::pretty(&canonical) + "\n")
        }),
        Subject::Server(_) => Said::load(store, hash).map(|said| {
            let line = |name: &str, value: Option<String>| {
                value
                    .map(|value| format!("{name}: {value}\n"))
                    .unwrap_or_default()
            };
            line("title", said.title)
                + &line("version", said.version)
                + &said
                    .instructions
                    .map(|text| format!("instructions:\n{text}\n"))
                    .unwrap_or_default()
        }),
        Subject::Skill { .. } => None,
    };
    text.map_or(Side::Unknown(None), Side::Text)
}

fn of_skill(store: &Store, id: &str, versions: [Option<Hash>; 2]) -> Vec<FileDifference> {
    let manifests = versions.map(|version| version.and_then(|hash| Manifest::load(store, hash)));
    let leaves = manifests
        .each_ref()
        .map(|manifest| manifest.as_ref().map(Manifest::leaves).unwrap_or_default());
    let paths: BTreeSet<&PathBuf> = leaves.iter().flatten().map(|(path, _)| path).collect();
    let node_in = |leaves: &[(PathBuf, &KeptNode)], path: &Path| {
        let found = leaves.iter().find(|(known, _)| known == path);
        found.map(|(_, node)| (*node).clone())
    };
    let mut differences = Vec::new();
    for path in paths {
        let nodes = leaves.each_ref().map(|leaves| node_in(leaves, path));
        if nodes[0].as_ref().map(shown) == nodes[1].as_ref().map(shown) {
            continue;
        }
        let modes = nodes.each_ref().map(|node| match node {
            Some(KeptNode::File(file)) => Some(file.mode),
            _ => None,
        });
        let sides = nodes.map(|node| node.map_or(Side::Absent, |node| side(store, &node)));
        let path = path.to_string_lossy();
        let title = format!("{id}/{}", spelt_out(&path));
        let mut file = difference(&title, Some(&path), sides);
        file.modes = match modes {
            [Some(before), Some(after)] if before != after => Some([before, after]),
            _ => None,
        };
        differences.push(file);
    }
    differences
}

/// What counts of a node: its time does not.
fn shown(node: &KeptNode) -> (Option<u32>, Option<Hash>, Option<&Path>) {
    match node {
        KeptNode::File(file) => (Some(file.mode), file.hash, None),
        KeptNode::Link { target, .. } => (None, None, Some(target)),
        KeptNode::Directory(_) => (None, None, None),
    }
}

fn side(store: &Store, node: &KeptNode) -> Side {
    match node {
        KeptNode::Link { target, .. } => {
            let target = target.to_string_lossy();
            Side::Text(format!("link to {}\n", spelt_out(&target)))
        }
        KeptNode::Directory(_) => Side::Absent,
        KeptNode::File(file) => match file.hash.and_then(|hash| store.content(hash)) {
            None => Side::Unknown(Some(file.size)),
            Some(bytes) if bytes.len() > MAX_TEXT || bytes.contains(&0) => Side::Bytes(file.size),
            Some(bytes) => String::from_utf8(bytes).map_or(Side::Bytes(file.size), Side::Text),
        },
    }
}

fn difference(title: &str, path: Option<&str>, sides: [Side; 2]) -> FileDifference {
    let sizes = sides.each_ref().map(|side| match side {
        Side::Absent => None,
        Side::Text(text) => Some(text.len() as u64),
        Side::Bytes(size) => Some(*size),
        Side::Unknown(size) => *size,
    });
    let is_kept = !sides.iter().any(|side| matches!(side, Side::Unknown(_)));
    // Where what was is lost, what is has to be read as a whole.
    let sides = match sides {
        [Side::Unknown(_), now @ Side::Text(_)] => [Side::Absent, now],
        sides => sides,
    };
    let exists = sides.each_ref().map(|side| !matches!(side, Side::Absent));
    let texts = sides.map(|side| match side {
        Side::Absent => Some(String::new()),
        Side::Text(text) => Some(text),
        Side::Bytes(_) | Side::Unknown(_) => None,
    });
    let diff = match texts {
        [Some(before), Some(after)] => Some(unified(title, exists, &before, &after)),
        _ => None,
    };
    FileDifference {
        path: path.map(str::to_owned),
        sizes,
        modes: None,
        is_kept,
        diff,
    }
}

fn unified(title: &str, exists: [bool; 2], before: &str, after: &str) -> String {
    let [old, new] = [("before", exists[0]), ("now", exists[1])].map(|(when, exists)| {
        if exists {
            format!("{title} ({when})")
        } else {
            "/dev/null".to_owned()
        }
    });
    TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(before, after)
        .unified_diff()
        .header(&old, &new)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::{Side, difference};

    fn text(text: &str) -> Side {
        Side::Text(text.to_owned())
    }

    #[test]
    fn texts_are_compared_line_by_line_and_others_by_their_sizes() {
        let file = difference("x", None, [text("a\nb\n"), text("a\nc\n")]);
        let diff = file.diff.unwrap();
        assert!(
            diff.starts_with("--- x (before)\n+++ x (now)\n@@"),
            "{diff}"
        );
        assert!(diff.contains("\n a\n-b\n+c\n"), "{diff}");
        let file = difference("x", None, [Side::Absent, text("a\n")]);
        let diff = file.diff.unwrap();
        assert!(diff.starts_with("--- /dev/null\n"), "{diff}");
        let file = difference("x", None, [Side::Bytes(3), text("a\n")]);
        assert_eq!((file.diff, file.sizes), (None, [Some(3), Some(2)]));
        assert!(file.is_kept);
        let file = difference("x", None, [Side::Unknown(Some(9)), text("a\n")]);
        assert!(!file.is_kept && file.diff.is_some_and(|diff| diff.ends_with("+a\n")));
        let file = difference("x", None, [text("a\n"), Side::Unknown(Some(9))]);
        assert!(!file.is_kept && file.diff.is_none());
    }
}
