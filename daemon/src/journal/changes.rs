//! Tells what changed since a revision from what is kept of the journal.
//!
//! The journal has one line for a server that is first seen; whoever follows the changes needs its entries. They are found by
//! going back from what is known now, so that every answer tells them as they were then. It must not know definitions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use skills::catalog::Known;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};

use super::file::{Content, Numbered};
use crate::protocol::{Change, ChangeKind, ChangeList, ChangedKind, Revision};

/// What the journal keeps of the changes after a revision, without summaries.
pub(super) fn list(
    content: &Content,
    known: &Known,
    since: Option<&Revision>,
) -> Result<ChangeList, Problem> {
    let last = revision(content, content.last());
    let since = since.map_or(Ok(0), |since| number_of(since, &last))?;
    let mut told = 0_u64;
    let mut history = History::new(known);
    let wanted = content.lines.iter().rev();
    for line in wanted.take_while(|line| line.number > since) {
        told += u64::from(history.go_back(line, &revision(content, line.number)));
    }
    // Each number has its line, unless lines were dropped, damaged or taken out. A journal that was lost has not even numbers.
    let is_lost = content.lines.is_empty() && !known.is_empty();
    Ok(ChangeList {
        changes: history.oldest_first(),
        complete: told == content.last().saturating_sub(since) && !is_lost,
        revision: last,
    })
}

fn revision(content: &Content, number: u64) -> Revision {
    match &content.journal {
        Some(journal) if number > 0 => Revision {
            number,
            journal: journal.clone(),
        },
        _ => Revision::START,
    }
}

/// The number of a revision, which must be one of the journal whose last one is given.
fn number_of(since: &Revision, last: &Revision) -> Result<u64, Problem> {
    let refused = |message| {
        let problem = Problem::new(ProblemKind::Usage, message);
        problem.hint(
            "take the list anew (shelf list), and ask from the revision that `shelf changes` ends with",
        )
    };
    if since.number == 0 {
        return Ok(0);
    }
    if since.journal != last.journal {
        return Err(refused(format!(
            "revision {since} is not of this catalog: it is another's, or its journal was begun anew"
        )));
    }
    if since.number > last.number {
        return Err(refused(format!(
            "revision {since} is not reached yet: the last is {last}"
        )));
    }
    Ok(since.number)
}

/// The changes, newest first, and what was known before them.
struct History<'a> {
    tools: BTreeMap<&'a str, BTreeSet<&'a str>>,
    changes: Vec<Change>,
}

impl<'a> History<'a> {
    fn new(known: &'a Known) -> Self {
        let servers = known.servers();
        Self {
            tools: servers
                .map(|(name, tools)| (name, tools.collect()))
                .collect(),
            changes: Vec::new(),
        }
    }

    /// Takes a line and goes back to before it. A damaged line is passed over, and the answer is false.
    fn go_back(&mut self, line: &'a Numbered, revision: &Revision) -> bool {
        let Some((time, change, subject)) = parts(&line.text) else {
            return false;
        };
        let mut push = |id: &str, kind, tools| {
            self.changes.push(Change {
                revision: revision.clone(),
                time,
                change,
                id: EntryId(id.into()),
                kind,
                summary: None,
                tools,
            });
        };
        if let Some((server, count)) = first_seen(subject).filter(|_| change == ChangeKind::Added) {
            for tool in self.tools.remove(server).unwrap_or_default().iter().rev() {
                push(&format!("{server}/{tool}"), ChangedKind::Tool, None);
            }
            push(&format!("{server}/"), ChangedKind::Server, Some(count));
            return true;
        }
        let kind = match subject.split_once('/') {
            Some(("skills", _)) => ChangedKind::Skill,
            Some((_, "")) => ChangedKind::Server,
            Some((server, tool)) => {
                match change {
                    ChangeKind::Added => {
                        if let Some(tools) = self.tools.get_mut(server) {
                            tools.remove(tool);
                        }
                    }
                    ChangeKind::Removed => {
                        self.tools.entry(server).or_default().insert(tool);
                    }
                    ChangeKind::Changed | ChangeKind::Held => {}
                }
                ChangedKind::Tool
            }
            None => return false,
        };
        push(subject, kind, None);
        true
    }

    fn oldest_first(mut self) -> Vec<Change> {
        self.changes.reverse();
        self.changes
    }
}

/// How many lines say nothing of use.
pub(super) fn damaged(content: &Content) -> usize {
    let lines = content.lines.iter();
    let is_damaged =
        |line: &&Numbered| parts(&line.text).is_none_or(|(_, _, subject)| !subject.contains('/'));
    lines.filter(is_damaged).count()
}

/// Whether a line says that a change is held back.
pub(super) fn is_held(text: &str) -> bool {
    parts(text).is_some_and(|(_, change, _)| change == ChangeKind::Held)
}

/// The parts of `<time> <sign> <subject>`.
fn parts(text: &str) -> Option<(Timestamp, ChangeKind, &str)> {
    let mut parts = text.splitn(3, ' ');
    let time = parts.next()?.parse().ok()?;
    let change = ChangeKind::of_sign(parts.next()?)?;
    Some((time, change, parts.next()?))
}

/// The server and the count of `github/ 26 tools`.
fn first_seen(subject: &str) -> Option<(&str, usize)> {
    let (server, rest) = subject.split_once("/ ")?;
    let (count, unit) = rest.split_once(' ')?;
    let count = count.parse().ok()?;
    matches!(unit, "tool" | "tools").then_some((server, count))
}
