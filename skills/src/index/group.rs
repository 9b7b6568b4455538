//! The entries that an overview folds into one line: those of a server, of a skills source, or under a heading of the
//! user's.

use super::{Kind, Line, TokenCounter, Tokens, counted, words};
use crate::entry_id::EntryId;

/// How many places the line of a heading names.
const MOST_PLACES: usize = 3;

/// A group with its entries, and what it costs in each form in which an overview may show it.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// What its entries are.
    pub(crate) kind: Kind,
    /// What the ids of its entries begin with: `github/`, `skills/`, `skills/acme:`; else its heading.
    prefix: String,
    /// Whether it stands under a heading of the user's, so that names alone would not tell the ids.
    is_headed: bool,
    /// Its entries in order of id; `None` while they are not known yet.
    lines: Option<Vec<Line>>,
    /// The line of its own with what it is and its commonest words.
    pub(super) described: Counted,
    /// The line of its own with no more than its size.
    pub(super) bare: Counted,
    /// What the lines of its entries cost that are not pinned.
    pub(super) lines_cost: Tokens,
    /// What their names on one line cost.
    pub(super) names_cost: Tokens,
    /// What the lines of its pinned entries cost, in order.
    pub(super) pinned_costs: Vec<Tokens>,
}

/// A text and what it costs.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) text: String,
    pub(super) tokens: Tokens,
}

impl Counted {
    pub(super) fn new(text: String, counter: &dyn TokenCounter) -> Self {
        Self {
            tokens: Tokens::of(&text, counter),
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
        let place = format!("mcp/{file_name}/");
        let (prefix, kind) = (format!("{file_name}/"), Kind::Tools);
        Self::new(kind, prefix, false, &place, about, lines, counter)
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
        Self::new(
            Kind::Skills,
            prefix,
            false,
            &place,
            "",
            Some(lines),
            counter,
        )
    }

    /// The entries of one kind that the user put under a heading, in order of id; its line names the directories that
    /// they are in.
    pub(crate) fn headed(
        heading: &str,
        kind: Kind,
        lines: Vec<Line>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut places: Vec<String> = lines.iter().map(|line| directory(&line.id, kind)).collect();
        places.dedup();
        if places.len() > MOST_PLACES {
            places.truncate(MOST_PLACES);
            places.push("…".to_owned());
        }
        let place = format!("{heading} ({})", places.join(", "));
        Self::new(
            kind,
            heading.to_owned(),
            true,
            &place,
            "",
            Some(lines),
            counter,
        )
    }

    fn new(
        kind: Kind,
        prefix: String,
        is_headed: bool,
        place: &str,
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
                    // What follows is a colon.
                    described.push_str(about.trim_end_matches('.'));
                }
                let names = lines.iter().map(|line| match is_headed {
                    true => last_part(&line.id),
                    false => name(&line.id, &prefix),
                });
                let words = words::commonest(names);
                if !words.is_empty() {
                    described.push_str(": ");
                    described.push_str(&words.join(" "));
                }
                (bare + "\n", described + "\n")
            }
        };
        let counted = |text| Counted {
            text,
            tokens: Tokens::NONE,
        };
        let mut group = Self {
            kind,
            prefix,
            is_headed,
            described: counted(described),
            bare: counted(bare),
            lines_cost: Tokens::NONE,
            names_cost: Tokens::NONE,
            pinned_costs: Vec::new(),
            lines,
        };
        group.measure(counter);
        group
    }

    /// The same group, with what it costs by another measure.
    pub(super) fn measured_by(&self, counter: &dyn TokenCounter) -> Self {
        let mut group = self.clone();
        group.measure(counter);
        group
    }

    fn measure(&mut self, counter: &dyn TokenCounter) {
        for own in [&mut self.described, &mut self.bare] {
            own.tokens = Tokens::of(&own.text, counter);
        }
        let cost = |line: &Line| Tokens::of(&line.to_string(), counter);
        let (pinned, others): (Vec<_>, Vec<_>) = self.lines().iter().partition(|line| line.pin);
        let lines_cost = others.into_iter().map(cost).sum();
        self.pinned_costs = pinned.into_iter().map(cost).collect();
        self.lines_cost = lines_cost;
        self.names_cost = Tokens::of(&self.names(), counter);
    }

    /// What the ids of its entries begin with, or its heading.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Its entries; none while they are not known yet.
    pub(crate) fn lines(&self) -> &[Line] {
        self.lines.as_deref().unwrap_or_default()
    }

    /// Whether it is a skills source.
    pub(crate) fn is_source(&self) -> bool {
        self.kind == Kind::Skills && !self.is_headed
    }

    /// Whether all that it costs is counted, nothing estimated.
    pub(crate) fn is_counted(&self) -> bool {
        let costs = [
            self.described.tokens,
            self.bare.tokens,
            self.lines_cost,
            self.names_cost,
        ];
        let mut all = costs.iter().chain(&self.pinned_costs);
        all.all(|tokens| tokens.is_exact)
    }

    /// Whether it shows the very same entries under the same name.
    pub(crate) fn shows_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.is_headed == other.is_headed
            && self.described.text == other.described.text
            && self.lines == other.lines
    }

    /// The line that stands for the whole group in a list of entries: only where there are none.
    pub(crate) fn placeholder(&self) -> Option<&str> {
        let stands = self.lines().is_empty();
        stands.then_some(self.described.text.as_str())
    }

    /// The names of its entries that are not pinned on one line; empty when there are none.
    pub(super) fn names(&self) -> String {
        let others = self.lines().iter().filter(|line| !line.pin);
        let names: Vec<_> = others
            .map(|line| match self.is_headed {
                true => line.id.as_str(),
                false => name(&line.id, &self.prefix),
            })
            .collect();
        if names.is_empty() {
            return String::new();
        }
        let colon = if self.is_headed { ":" } else { "" };
        format!("{}{colon} {}\n", self.prefix, names.join(", "))
    }
}

/// An id's part after the prefix of its group.
fn name<'a>(id: &'a EntryId, prefix: &str) -> &'a str {
    id.as_str().strip_prefix(prefix).unwrap_or(id.as_str())
}

/// An id's part after its server, or after its skills source.
fn last_part(id: &EntryId) -> &str {
    let id = id.as_str();
    id.split_once('/').map_or(id, |(_, name)| name)
}

/// The directory of the mount in which an entry stands beside its like.
fn directory(id: &EntryId, kind: Kind) -> String {
    let id = id.as_str();
    let first = id.split_once('/').map_or(id, |(first, _)| first);
    match kind {
        Kind::Tools => format!("mcp/{first}/"),
        Kind::Skills => "skills/".to_owned(),
    }
}
