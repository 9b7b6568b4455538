//! The texts of the index: INDEX.md, ALL.md, README.md, the groups' INDEX.md, SERVER.md, STATUS, CHANGES.md.
//!
//! An index is made from definitions and from what the user says of them. No function that makes one can be given a
//! server's state.

#[cfg(test)]
mod fixtures;
mod group;
mod overview;
#[cfg(test)]
mod tests;
mod texts;
mod tokens;
mod words;

use std::fmt::{self, Write};
use std::sync::Arc;

use crate::entry_id::EntryId;

pub(crate) use group::Group;
pub(crate) use overview::{overview, overview_in_bytes};
pub(crate) use texts::{README, changes, server, status};
pub(crate) use tokens::Tokens;
pub use tokens::{TokenCounter, Uncounted, estimate};

/// One entry as an index shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// What is typed.
    pub(crate) id: EntryId,
    /// What it is, on one line.
    pub(crate) summary: String,
    /// The heading of the overview under which it stands, in place of its server or source.
    pub(crate) heading: Option<Arc<str>>,
    /// Whether it always has a line in INDEX.md.
    pub(crate) pin: bool,
}

/// What the entries of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Skills.
    Skills,
    /// Tools.
    Tools,
}

/// The line with its line end.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.summary.is_empty() {
            return writeln!(f, "{}", self.id);
        }
        writeln!(f, "{} — {}", self.id, self.summary)
    }
}

fn counted(count: usize, kind: Kind) -> String {
    let (one, many) = match kind {
        Kind::Tools => ("tool", "tools"),
        Kind::Skills => ("skill", "skills"),
    };
    format!("{count} {}", if count == 1 { one } else { many })
}

/// ALL.md: a line for every entry, in order of id, and one for each group that has none.
pub(crate) fn all(groups: &[&Group]) -> String {
    listed(groups, |_| true)
}

/// The lines that are wanted, in order of id, and one for each group that has no entries.
fn listed(groups: &[&Group], wanted: fn(&Line) -> bool) -> String {
    let mut lines: Vec<(&str, Option<&Line>, &str)> = Vec::new();
    for group in groups {
        match group.placeholder() {
            Some(text) => lines.push((group.prefix(), None, text)),
            None => {
                let of_group = group.lines().iter().filter(|line| wanted(line));
                lines.extend(of_group.map(|line| (line.id.as_str(), Some(line), "")));
            }
        }
    }
    lines.sort_by_key(|(id, ..)| *id);
    let mut text = String::new();
    for (_, line, placeholder) in lines {
        match line {
            Some(line) => write!(text, "{line}").expect("writing to a string can't fail"),
            None => text.push_str(placeholder),
        }
    }
    text
}

/// The INDEX.md of one server or of all skills: how many there are and what reading them all costs, then one line an
/// entry, in order of id.
pub(crate) fn of_entries(lines: &[Line], kind: Kind, cost: Tokens) -> String {
    let what = match kind {
        Kind::Tools => "definitions",
        Kind::Skills => "SKILL.md files",
    };
    let count = counted(lines.len(), kind);
    let head = format!("{count}; their {what} have {}\n", tokens::stated(cost));
    lines.iter().fold(head, |mut text, line| {
        write!(text, "{line}").expect("writing to a string can't fail");
        text
    })
}
