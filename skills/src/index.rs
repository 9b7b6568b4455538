//! The texts of the index: INDEX.md, ALL.md, README.md, the groups' INDEX.md, SERVER.md, STATUS, CHANGES.md.
//!
//! An index is made from definitions alone. No function that makes one can be given a server's state.

mod overview;
#[cfg(test)]
mod tests;
mod texts;
mod tokens;
mod words;

use std::fmt::{self, Write};

use crate::entry_id::EntryId;

pub(crate) use overview::overview;
pub(crate) use texts::{README, changes, server, status};
pub use tokens::{BytesByThree, TokenCounter};

/// One entry as an index shows it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What is typed.
    pub(crate) id: EntryId,
    /// What it is, on one line.
    pub(crate) summary: String,
}

/// What the entries of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The tools of one server.
    Tools,
    /// The skills of one source.
    Skills,
}

/// The entries that an overview folds into one line: those of a server, or of a skills source.
#[derive(Debug)]
pub(crate) struct Group {
    /// What its entries are.
    pub(crate) kind: Kind,
    /// What the ids of its entries begin with: `github/`, `skills/`, `skills/acme:`.
    prefix: String,
    /// Its entries in order of id; `None` while they are not known yet.
    lines: Option<Vec<Line>>,
    /// The line of its own with what it is and its commonest words.
    described: Counted,
    /// The line of its own with no more than its size.
    bare: Counted,
    /// What all its entries' lines cost.
    lines_cost: usize,
    /// What all its entries' names on one line cost.
    names_cost: usize,
}

/// A text and what it costs.
#[derive(Debug)]
struct Counted {
    text: String,
    tokens: usize,
}

impl Counted {
    fn new(text: String, counter: &dyn TokenCounter) -> Self {
        Self {
            tokens: counter.count(&text),
            text,
        }
    }
}

impl Group {
    /// The group of a server; `about` is what it says of itself, `lines` are `None` while its tools are not known yet.
    pub(crate) fn server(
        file_name: &str,
        about: &str,
        lines: Option<Vec<Line>>,
        counter: &dyn TokenCounter,
    ) -> Self {
        Self::new(
            Kind::Tools,
            format!("{file_name}/"),
            format!("mcp/{file_name}/"),
            about,
            lines,
            counter,
        )
    }

    /// The group of a skills source; `None` is the skills that belong to no named one.
    pub(crate) fn skills(
        source: Option<&str>,
        lines: Vec<Line>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let (prefix, place) = match source {
            Some(source) => (format!("skills/{source}:"), format!("skills/{source}:*")),
            None => ("skills/".to_owned(), "skills/".to_owned()),
        };
        Self::new(Kind::Skills, prefix, place, "", Some(lines), counter)
    }

    fn new(
        kind: Kind,
        prefix: String,
        place: String,
        about: &str,
        lines: Option<Vec<Line>>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let (bare, described) = match &lines {
            None => {
                let line = format!("{prefix} — not known yet, see {place}STATUS\n");
                (line.clone(), line)
            }
            Some(lines) => {
                let bare = format!("{place} {}", counted(lines.len(), kind));
                let mut described = bare.clone();
                if !about.is_empty() {
                    described.push_str(" — ");
                    described.push_str(about);
                }
                let words = words::commonest(lines.iter().map(|line| name(&line.id, &prefix)));
                if !words.is_empty() {
                    described.push_str(": ");
                    described.push_str(&words.join(" "));
                }
                (bare + "\n", described + "\n")
            }
        };
        let mut group = Self {
            kind,
            prefix,
            described: Counted::new(described, counter),
            bare: Counted::new(bare, counter),
            lines_cost: 0,
            names_cost: 0,
            lines,
        };
        group.lines_cost = group
            .lines()
            .iter()
            .map(|line| counter.count(&line.to_string()))
            .sum();
        group.names_cost = counter.count(&group.names());
        group
    }

    /// What the ids of its entries begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Its entries; none while they are not known yet.
    pub(crate) fn lines(&self) -> &[Line] {
        self.lines.as_deref().unwrap_or_default()
    }

    /// The line that stands for the whole group in a list of entries: only where there are none.
    fn placeholder(&self) -> Option<&Counted> {
        self.lines().is_empty().then_some(&self.described)
    }

    /// The names of its entries on one line; empty when it has none.
    fn names(&self) -> String {
        let names: Vec<_> = self
            .lines()
            .iter()
            .map(|line| name(&line.id, &self.prefix))
            .collect();
        if names.is_empty() {
            return String::new();
        }
        format!("{} {}\n", self.prefix, names.join(", "))
    }
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

/// An id's part after the prefix of its group.
fn name<'a>(id: &'a EntryId, prefix: &str) -> &'a str {
    id.as_str().strip_prefix(prefix).unwrap_or(id.as_str())
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
    let mut lines: Vec<(&str, Option<&Line>, &str)> = Vec::new();
    for group in groups {
        match group.placeholder() {
            Some(line) => lines.push((&group.prefix, None, &line.text)),
            None => lines.extend(group.lines().iter().map(|l| (l.id.as_str(), Some(l), ""))),
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
/// entry.
pub(crate) fn of_groups(
    groups: &[&Group],
    kind: Kind,
    cost: usize,
    counter: &dyn TokenCounter,
) -> String {
    if let [group] = groups
        && group.lines.is_none()
    {
        return group.described.text.clone();
    }
    let count = groups.iter().map(|group| group.lines().len()).sum();
    let what = match kind {
        Kind::Tools => "definitions",
        Kind::Skills => "SKILL.md files",
    };
    let head = format!(
        "{}; their {what} have {}\n",
        counted(count, kind),
        tokens::stated(cost, counter)
    );
    let mut lines: Vec<&Line> = groups.iter().flat_map(|group| group.lines()).collect();
    lines.sort_by(|a, b| a.id.cmp(&b.id));
    lines.into_iter().fold(head, |mut text, line| {
        write!(text, "{line}").expect("writing to a string can't fail");
        text
    })
}
