//! INDEX.md: every entry while they fit the budget, else an overview that says so.

use super::{Group, Kind, TokenCounter, all, tokens};

/// How a group's own line is written.
#[derive(Clone, Copy)]
enum Detail {
    Described,
    Bare,
}

/// INDEX.md within `max_tokens`; only its first line stands whatever the budget.
///
/// `groups` are in order of their prefix.
pub(crate) fn overview(groups: &[&Group], max_tokens: usize, counter: &dyn TokenCounter) -> String {
    let count: usize = groups.iter().map(|group| group.lines().len()).sum();
    let unit = if count == 1 { "entry" } else { "entries" };
    let head = format!("{count} {unit}; README.md tells how to read and call them.\n");
    let all_cost: usize = groups.iter().map(|group| cost_in_all(group)).sum();
    if counter.count(&head) + all_cost <= max_tokens {
        return head + &all(groups);
    }

    let mut page = Page::new(first_line(count, max_tokens, counter), max_tokens, counter);
    page.push_groups(groups);
    for kind in [Kind::Skills, Kind::Tools] {
        let groups: Vec<_> = groups
            .iter()
            .copied()
            .filter(|group| group.kind == kind && !group.lines().is_empty())
            .collect();
        page.push_entries(&groups);
    }
    page.text
}

fn first_line(count: usize, max_tokens: usize, counter: &dyn TokenCounter) -> String {
    let mut line = format!(
        "Overview of {count} entries. A word that is absent here proves nothing: grep ALL.md."
    );
    if !counter.is_exact() {
        let budget = tokens::stated(max_tokens, counter);
        line.push_str(&format!(" Folded to {budget}, by bytes / 3."));
    }
    line + "\n"
}

fn cost_in_all(group: &Group) -> usize {
    group
        .placeholder()
        .map_or(group.lines_cost, |line| line.tokens)
}

struct Page<'a> {
    text: String,
    left: usize,
    counter: &'a dyn TokenCounter,
}

impl<'a> Page<'a> {
    fn new(first_line: String, max_tokens: usize, counter: &'a dyn TokenCounter) -> Self {
        Self {
            left: max_tokens.saturating_sub(counter.count(&first_line)),
            text: first_line,
            counter,
        }
    }

    fn push(&mut self, text: &str, cost: usize) {
        self.text.push_str(text);
        self.left = self.left.saturating_sub(cost);
    }

    /// One line a group, all in the same detail; what not even has a line is counted.
    fn push_groups(&mut self, groups: &[&Group]) {
        for detail in [Detail::Described, Detail::Bare] {
            let cost: usize = groups.iter().map(|group| group.own(detail).tokens).sum();
            if cost <= self.left {
                for group in groups {
                    let line = group.own(detail);
                    self.push(&line.text, line.tokens);
                }
                return;
            }
        }
        let entries = |groups: &[&Group]| groups.iter().map(|g| g.lines().len()).sum::<usize>();
        let longest_rest = rest(groups.len(), entries(groups));
        let Some(for_lines) = self.left.checked_sub(self.counter.count(&longest_rest)) else {
            return;
        };
        let mut spent = 0;
        let fit = groups
            .iter()
            .take_while(|group| {
                spent += group.bare.tokens;
                spent <= for_lines
            })
            .count();
        for group in &groups[..fit] {
            self.push(&group.bare.text, group.bare.tokens);
        }
        let rest = rest(groups.len() - fit, entries(&groups[fit..]));
        let cost = self.counter.count(&rest);
        self.push(&rest, cost);
    }

    /// The entries of one kind: all lines, else all names, else nothing, since the groups' lines count them.
    fn push_entries(&mut self, groups: &[&Group]) {
        let lines: usize = groups.iter().map(|group| group.lines_cost).sum();
        let names: usize = groups.iter().map(|group| group.names_cost).sum();
        if lines <= self.left {
            let text = all(groups);
            self.push(&text, lines);
        } else if names <= self.left {
            let text: String = groups.iter().map(|group| group.names()).collect();
            self.push(&text, names);
        }
    }
}

impl Group {
    fn own(&self, detail: Detail) -> &super::Counted {
        match detail {
            Detail::Described => &self.described,
            Detail::Bare => &self.bare,
        }
    }
}

fn rest(groups: usize, entries: usize) -> String {
    format!("… and {groups} more groups with {entries} entries: ls mcp skills, grep ALL.md\n")
}
