//! What changed since a revision, as plain data: the answer to `changes`.
//!
//! It must not know how a journal is kept, or how a change is shown.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use skills::entry_id::EntryId;

/// A place in the journal of one configuration: how many lines were ever written up to it, and which journal that is.
///
/// Written `31-k3v9qa2c`. The number only grows and is never used again; the name keeps a revision of another catalog, or of a
/// journal that was deleted since, from being taken for one of this.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Revision {
    /// The number; the first line has 1.
    pub number: u64,
    /// The name of the journal; empty before its first line.
    pub journal: String,
}

impl Revision {
    /// Before everything, in any journal. Written `0`.
    pub const START: Self = Self {
        number: 0,
        journal: String::new(),
    };
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.number == 0 {
            f.write_str("0")
        } else {
            write!(f, "{}-{}", self.number, self.journal)
        }
    }
}

impl FromStr for Revision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "0" {
            return Ok(Self::START);
        }
        let parts = text.split_once('-').and_then(|(number, journal)| {
            let number = number.parse().ok().filter(|number| *number > 0)?;
            let is_name = !journal.is_empty() && journal.bytes().all(|b| b.is_ascii_alphanumeric());
            is_name.then(|| Self {
                number,
                journal: journal.to_owned(),
            })
        });
        parts.ok_or_else(|| {
            "a revision is `0`, or what an earlier answer ended with, as in 31-k3v9qa2c".to_owned()
        })
    }
}

impl TryFrom<String> for Revision {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Revision> for String {
    fn from(revision: Revision) -> Self {
        revision.to_string()
    }
}

/// From where changes are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Only what changed after this revision; absent for everything that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Revision>,
}

/// The answer to `changes`: to be appended to the answers before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeList {
    /// The changes, oldest first. Two answers never tell the same past differently, but for summaries, which are those of now.
    pub changes: Vec<Change>,
    /// Whether nothing between `since` and the first of them is missing, because the journal no longer keeps it.
    pub complete: bool,
    /// The revision to ask from the next time.
    pub revision: Revision,
}

/// One change of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The revision that it made. The entries of a server that was first seen share one.
    pub revision: Revision,
    /// When it was noticed.
    pub time: Timestamp,
    /// What happened.
    pub change: ChangeKind,
    /// The entry; a server is `<server>/`.
    pub id: EntryId,
    /// What it is.
    pub kind: ChangedKind,
    /// Its description in one line, as it is now; absent when the entry is gone by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How many tools a server had when it was first seen; they follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
}

/// What happened to a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It came.
    Added,
    /// It is another one now.
    Changed,
    /// It went.
    Removed,
    /// It changed or went, and is served as it was: nobody has trusted that yet.
    Held,
}

impl ChangeKind {
    /// The sign by which the journal says it.
    pub const fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Changed => '~',
            Self::Removed => '-',
            Self::Held => '?',
        }
    }

    /// What a sign of the journal says.
    pub fn of_sign(sign: &str) -> Option<Self> {
        match sign {
            "+" => Some(Self::Added),
            "~" => Some(Self::Changed),
            "-" => Some(Self::Removed),
            "?" => Some(Self::Held),
            _ => None,
        }
    }
}

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangedKind {
    /// A tool of a server.
    Tool,
    /// A skill.
    Skill,
    /// What a server says of itself: title, version, instructions.
    Server,
}

/// What a list of changes comes to: for whoever needs definitions and not their history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// The entries that are there and are new or other than before, in the order of their last change.
    pub renewed: Vec<EntryId>,
    /// The entries that are gone, in the order in which they went.
    pub removed: Vec<EntryId>,
}

impl ChangeList {
    /// What the changes come to: the last one of an entry counts. One that is gone without a line saying so (the journal is
    /// about to say it) counts as removed.
    pub fn net(&self) -> Net {
        let entries = self.changes.iter().enumerate();
        let entries = entries.filter(|(_, change)| {
            change.kind != ChangedKind::Server && change.change != ChangeKind::Held
        });
        let last: BTreeMap<&EntryId, usize> =
            entries.map(|(at, change)| (&change.id, at)).collect();
        let mut places: Vec<usize> = last.into_values().collect();
        places.sort_unstable();
        let mut net = Net::default();
        for change in places.into_iter().map(|at| &self.changes[at]) {
            let is_there = change.change != ChangeKind::Removed && change.summary.is_some();
            let to = if is_there {
                &mut net.renewed
            } else {
                &mut net.removed
            };
            to.push(change.id.clone());
        }
        net
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use skills::entry_id::EntryId;

    use super::{Change, ChangeKind, ChangeList, ChangedKind, Revision};

    #[test]
    fn a_revision_reads_as_it_was_written() {
        for text in ["0", "1-a", "31-k3v9qa2c"] {
            assert_eq!(text.parse::<Revision>().unwrap().to_string(), text);
        }
        for text in ["", "1", "31-", "-a", "0-a", "x-a", "1-a b", "1-a-b", "-1-a"] {
            assert!(text.parse::<Revision>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_change_of_an_entry_counts() {
        let change = |number, change, id: &str, is_there: bool| Change {
            revision: Revision {
                number,
                journal: "a".into(),
            },
            time: Timestamp::UNIX_EPOCH,
            change,
            id: EntryId(id.into()),
            kind: if id.ends_with('/') {
                ChangedKind::Server
            } else {
                ChangedKind::Tool
            },
            summary: is_there.then(String::new),
            tools: None,
        };
        use ChangeKind::{Added, Changed, Removed};
        let list = ChangeList {
            changes: vec![
                change(1, Added, "s/", false),
                change(1, Added, "s/a", true),
                change(1, Added, "s/b", false),
                change(1, Added, "s/c", true),
                change(2, Removed, "s/c", true),
                change(3, Added, "s/c", true),
                change(4, Removed, "s/b", false),
                change(5, Changed, "s/a", true),
                change(6, Added, "s/d", false),
            ],
            complete: true,
            revision: Revision::START,
        };
        let ids = |ids: &[EntryId]| ids.iter().map(EntryId::to_string).collect::<Vec<_>>();
        let net = list.net();
        assert_eq!(ids(&net.renewed), ["s/c", "s/a"]);
        assert_eq!(ids(&net.removed), ["s/b", "s/d"]);
    }
}
