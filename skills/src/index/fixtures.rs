//! Groups and counters for the tests of the index.

use tiktoken::CoreBpe;

use super::{Group, Line, TokenCounter, Tokens, Uncounted, overview};
use crate::entry_id::EntryId;

pub(super) fn lines(prefix: &str, count: usize) -> Vec<Line> {
    (0..count)
        .map(|n| Line {
            id: EntryId(format!("{prefix}get_thing_{n:06}").into()),
            summary: format!("Gets the thing of number {n}"),
            heading: None,
            pin: false,
        })
        .collect()
}

pub(super) fn server_group(name: &str, count: usize) -> Group {
    let lines = lines(&format!("{name}/"), count);
    Group::server(name, "Things of all kinds", Some(lines), &Uncounted)
}

pub(super) fn unknown_group(name: &str) -> Group {
    Group::server(name, "", None, &Uncounted)
}

pub(super) fn skills_group(source: Option<&str>, count: usize) -> Group {
    let prefix = source.map_or("skills/".to_owned(), |source| format!("skills/{source}:"));
    Group::skills(source, lines(&prefix, count), &Uncounted)
}

pub(super) fn overview_of(groups: &[Group], max_tokens: usize) -> String {
    let groups: Vec<&Group> = groups.iter().collect();
    overview(&groups, max_tokens, &Uncounted).text
}

pub(super) fn cost(text: &str) -> usize {
    Tokens::of(text, &Uncounted).count
}

/// The group of a server whose entries with these numbers are pinned.
pub(super) fn pinned_group(name: &str, count: usize, pinned: &[usize]) -> Group {
    let mut lines = lines(&format!("{name}/"), count);
    pinned.iter().for_each(|&n| lines[n].pin = true);
    Group::server(name, "Things of all kinds", Some(lines), &Uncounted)
}

/// Counts a word as a token, and a line end too.
pub(super) struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> Option<usize> {
        Some(text.split_whitespace().count() + text.matches('\n').count())
    }

    fn revision(&self) -> u64 {
        1
    }
}

/// The tokenizer itself.
pub(super) struct O200k(pub(super) CoreBpe);

impl TokenCounter for O200k {
    fn count(&self, text: &str) -> Option<usize> {
        Some(self.0.count(text))
    }

    fn revision(&self) -> u64 {
        1
    }
}
