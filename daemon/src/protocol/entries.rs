//! Entries: listed, described, found, handed out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skills::catalog::EntryKind;
use skills::entry_id::EntryId;
use skills::search::Case;

/// Which entries `list` gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListFilter {
    /// Only those of this server, by its configured name or as the mount shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Only those of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<EntryKind>,
}

/// The answer to `list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The entries, in order of id.
    pub entries: Vec<ListedEntry>,
    /// The servers that match and whose definitions are not known yet.
    pub unknown: Vec<String>,
}

/// One entry in [`Listing`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedEntry {
    /// Its id.
    pub id: EntryId,
    /// What it is.
    pub kind: EntryKind,
    /// Its description in one line.
    pub summary: String,
    /// Whether the user wants it loaded at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// Which entry `describe` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Describe {
    /// Its id, or a path of it relative to the mount point.
    pub entry: String,
    /// Whether somebody reads it, which is logged as `show`; not so when the arguments of a call are made ready.
    pub shown: bool,
    /// How long to wait, in milliseconds, for a server that has not said its tools yet.
    #[serde(default)]
    pub wait_ms: u64,
}

/// The answer to `describe`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    /// Its id.
    pub id: EntryId,
    /// What it is.
    pub kind: EntryKind,
    /// The tool's definition or the skill's SKILL.md. Bytes that are not UTF-8 are replaced here, not in the mount.
    pub text: String,
    /// What a tool has beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolDescription>,
    /// What a skill has beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillDescription>,
    /// Whether the user wants it loaded at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// What [`Description`] says of a tool alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolDescription {
    /// The server's configured name.
    pub server: String,
    /// What the server says of itself, on one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The Tool object as the server sent it.
    pub raw: Box<RawValue>,
}

/// What [`Description`] says of a skill alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct SkillDescription {
    /// Its description, as written.
    pub description: String,
    /// Its SKILL.md, where it was found.
    #[serde(with = "skills::paths")]
    pub file: PathBuf,
}

/// A request for what answers some words. It is logged as `search`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// The words, as typed.
    pub words: String,
    /// At most so many matches.
    pub limit: usize,
    /// Only entries of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<EntryKind>,
    /// Only the tools of this server, by its configured name or as the mount shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Leave meaning out.
    #[serde(default)]
    pub lexical: bool,
    /// Entries that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<EntryId>,
    /// How long to wait, in milliseconds, for servers that have not said their tools yet.
    #[serde(default)]
    pub wait_ms: u64,
}

/// Requests whose answers are known, to measure search on. They are not logged: nobody looks for anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluate {
    /// The requests.
    pub cases: Vec<Case>,
}

/// Which entries are handed out to a session with their whole definitions: each is logged as `load`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Their ids, or paths of them relative to the mount point.
    pub entries: Vec<String>,
}

/// The answer to `load`, in the order that was asked for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Loaded {
    /// The definitions.
    pub entries: Vec<Description>,
}

/// A request for what INDEX.md would say if its budget were so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The budget; the first line stands whatever it is.
    pub max_bytes: usize,
}
