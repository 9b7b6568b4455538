//! INDEX.md: every entry while they fit the budget, else an overview that says so.

use super::group::Counted;
use super::{Group, Kind, Line, TokenCounter, Tokens, listed, tokens};

/// How a group's own line is written.
#[derive(Clone, Copy)]
enum Detail {
    Described,
    Bare,
}

/// What INDEX.md says, and whether every count that it was made by is exact.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) text: String,
    pub(crate) is_counted: bool,
}

/// INDEX.md within `max_tokens`; only its first line stands whatever the budget.
///
/// `groups` are in order of their prefix.
pub(crate) fn overview(
    groups: &[&Group],
    max_tokens: usize,
    counter: &dyn TokenCounter,
) -> Overview {
    let count: usize = groups.iter().map(|group| group.lines().len()).sum();
    let unit = if count == 1 { "entry" } else { "entries" };
    let pinned = pinned(groups);
    let head = format!("{count} {unit}; README.md tells how to read and call them.\n");
    let head = Counted::new(head, counter);
    let lines = groups.iter().map(|group| group.cost_in_all());
    let pins = pinned.iter().map(|(_, cost)| *cost);
    let whole = head.tokens + lines.sum() + pins.sum();
    let are_counted = groups.iter().all(|group| group.is_counted());
    if whole.count <= max_tokens {
        let mut text = head.text;
        pinned
            .iter()
            .for_each(|(line, _)| text.push_str(&line.to_string()));
        return Overview {
            text: text + &listed(groups, |line| !line.pin),
            is_counted: are_counted && whole.is_exact,
        };
    }

    let first_line = Counted::new(first_line(count, max_tokens, are_counted), counter);
    let mut page = Page {
        left: max_tokens.saturating_sub(first_line.tokens.count),
        text: first_line.text,
        is_counted: are_counted && first_line.tokens.is_exact,
        counter,
    };
    let shown = page.reserve(&pinned, groups);
    page.push_groups(groups);
    for kind in [Kind::Skills, Kind::Tools] {
        for (line, _) in pinned[..shown]
            .iter()
            .filter(|(line, _)| kind_of(line) == kind)
        {
            page.text.push_str(&line.to_string());
        }
        let groups: Vec<_> = groups
            .iter()
            .copied()
            .filter(|group| group.kind == kind && !group.lines().is_empty())
            .collect();
        page.push_entries(&groups);
    }
    Overview {
        text: page.text,
        is_counted: page.is_counted,
    }
}

/// The overview in at most so many bytes: for a text whose reader has another budget than that of INDEX.md.
pub(crate) fn overview_in_bytes(groups: &[&Group], max_bytes: usize) -> String {
    let groups: Vec<Group> = groups
        .iter()
        .map(|group| group.measured_by(&Bytes))
        .collect();
    let groups: Vec<&Group> = groups.iter().collect();
    overview(&groups, max_bytes, &Bytes).text
}

/// Measures texts by their bytes, which needs no tokenizer.
struct Bytes;

impl TokenCounter for Bytes {
    fn count(&self, text: &str) -> Option<usize> {
        Some(text.len())
    }

    fn revision(&self) -> u64 {
        0
    }
}

/// The pinned entries with what their lines cost: the skills, then the tools, each in order of id.
fn pinned<'a>(groups: &[&'a Group]) -> Vec<(&'a Line, Tokens)> {
    let mut pinned: Vec<(&Line, Tokens)> = groups
        .iter()
        .flat_map(|group| {
            let lines = group.lines().iter().filter(|line| line.pin);
            lines.zip(group.pinned_costs.iter().copied())
        })
        .collect();
    pinned.sort_by(|(a, _), (b, _)| (kind_of(a), &a.id).cmp(&(kind_of(b), &b.id)));
    pinned
}

fn kind_of(line: &Line) -> Kind {
    if line.id.as_str().starts_with("skills/") {
        Kind::Skills
    } else {
        Kind::Tools
    }
}

fn first_line(count: usize, max_tokens: usize, is_counted: bool) -> String {
    let mut line = format!(
        "Overview of {count} entries. A word that is absent here proves nothing: grep ALL.md."
    );
    if !is_counted {
        let budget = tokens::stated(Tokens {
            count: max_tokens,
            is_exact: false,
        });
        line.push_str(&format!(" Folded to {budget}, by bytes / 3."));
    }
    line + "\n"
}

struct Page<'a> {
    text: String,
    left: usize,
    is_counted: bool,
    counter: &'a dyn TokenCounter,
}

impl Page<'_> {
    fn push(&mut self, text: &str, cost: usize) {
        self.text.push_str(text);
        self.left = self.left.saturating_sub(cost);
    }

    /// What a line costs that depends on the budget itself.
    fn cost(&mut self, text: &str) -> usize {
        let tokens = Tokens::of(text, self.counter);
        self.is_counted &= tokens.is_exact;
        tokens.count
    }

    /// Keeps what the pinned lines cost, and returns how many of them have room. The others are counted; the groups keep
    /// room for at least their own count.
    fn reserve(&mut self, pinned: &[(&Line, Tokens)], groups: &[&Group]) -> usize {
        if pinned.is_empty() {
            return 0;
        }
        let longest_rest = self.cost(&rest(groups.len(), entries(groups)));
        let room = self.left.saturating_sub(longest_rest);
        let all: usize = pinned.iter().map(|(_, cost)| cost.count).sum();
        if all <= room {
            self.left -= all;
            return pinned.len();
        }
        let longest_note = self.cost(&unfit(pinned.len()));
        let Some(room) = room.checked_sub(longest_note) else {
            return 0;
        };
        let mut spent = 0;
        let shown = pinned
            .iter()
            .take_while(|(_, cost)| {
                let fits = spent + cost.count <= room;
                spent += if fits { cost.count } else { 0 };
                fits
            })
            .count();
        let note = unfit(pinned.len() - shown);
        let cost = self.cost(&note);
        self.push(&note, cost);
        self.left = self.left.saturating_sub(spent);
        shown
    }

    /// One line a group, all in the same detail; what not even has a line is counted.
    fn push_groups(&mut self, groups: &[&Group]) {
        for detail in [Detail::Described, Detail::Bare] {
            let cost: usize = groups.iter().map(|g| g.own(detail).tokens.count).sum();
            if cost <= self.left {
                for group in groups {
                    let line = group.own(detail);
                    self.push(&line.text, line.tokens.count);
                }
                return;
            }
        }
        let longest_rest = self.cost(&rest(groups.len(), entries(groups)));
        let Some(for_lines) = self.left.checked_sub(longest_rest) else {
            return;
        };
        let mut spent = 0;
        let fit = groups
            .iter()
            .take_while(|group| {
                spent += group.bare.tokens.count;
                spent <= for_lines
            })
            .count();
        for group in &groups[..fit] {
            self.push(&group.bare.text, group.bare.tokens.count);
        }
        let rest = rest(groups.len() - fit, entries(&groups[fit..]));
        let cost = self.cost(&rest);
        self.push(&rest, cost);
    }

    /// The entries of one kind that are not pinned: all lines, else all names, else nothing, since the groups' lines
    /// count them.
    fn push_entries(&mut self, groups: &[&Group]) {
        let lines: usize = groups.iter().map(|group| group.lines_cost.count).sum();
        let names: usize = groups.iter().map(|group| group.names_cost.count).sum();
        if lines <= self.left {
            let text = listed(groups, |line| !line.pin);
            self.push(&text, lines);
        } else if names <= self.left {
            let text: String = groups.iter().map(|group| group.names()).collect();
            self.push(&text, names);
        }
    }
}

impl Group {
    fn own(&self, detail: Detail) -> &Counted {
        match detail {
            Detail::Described => &self.described,
            Detail::Bare => &self.bare,
        }
    }

    /// What it costs in a list of all entries that are not pinned.
    fn cost_in_all(&self) -> Tokens {
        match self.placeholder() {
            Some(_) => self.described.tokens,
            None => self.lines_cost,
        }
    }
}

fn entries(groups: &[&Group]) -> usize {
    groups.iter().map(|group| group.lines().len()).sum()
}

fn rest(groups: usize, entries: usize) -> String {
    format!("… and {groups} more groups with {entries} entries: ls mcp skills, grep ALL.md\n")
}

fn unfit(pinned: usize) -> String {
    format!("… and {pinned} more pinned entries, for which the budget has no room: grep ALL.md\n")
}

#[cfg(test)]
mod tests;
