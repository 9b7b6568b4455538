//! Pins: how entries differ from what they were, and what is trusted.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use skills::entry_id::EntryId;

use super::ChangedKind;

/// Asks how entries differ from what they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences {
    /// Ids or paths in the mount; a server itself is `<server>/`.
    pub entries: Vec<String>,
    /// Whether those that are not there are passed over.
    #[serde(default)]
    pub if_there: bool,
    /// Whether everything is meant besides that differs and is not trusted.
    #[serde(default)]
    pub held: bool,
}

/// How one entry differs from what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The entry; a server is `<server>/`.
    pub id: EntryId,
    /// What it is.
    pub kind: ChangedKind,
    /// What the difference is.
    pub state: DifferenceState,
    /// Since when the older version is known, or trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// By which the present version is trusted; absent when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The difference, file by file; of a definition there is one.
    pub files: Vec<FileDifference>,
}

/// What a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceState {
    /// There is none.
    Unchanged,
    /// The present version is served; the difference is its last change.
    Changed,
    /// The trusted version is served; the difference is what was not trusted.
    NotTrusted,
    /// The trusted version is served, and there is none at its source.
    Gone,
    /// Nothing is remembered of it yet.
    Unknown,
}

/// How one file differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDifference {
    /// Its path in the skill; absent for a definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its sizes before and now in bytes; `null` where it was or is not there.
    pub sizes: [Option<u64>; 2],
    /// Its permission bits before and now, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<[u32; 2]>,
    /// Whether both versions are kept.
    pub is_kept: bool,
    /// The unified diff; absent for what is no text, too long or not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Trusts what a difference showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Its id.
    pub entry: String,
    /// Its hash; absent for one that is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// The answer to `trust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// What was trusted.
    pub id: EntryId,
}
