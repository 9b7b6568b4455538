//! The reading end: all daemons' files in the order of time, with sweeps marked.
//!
//! Memory is bounded whatever the size of the log: a line a file, and the lines of two seconds that may yet turn
//! out to be part of a sweep.

mod chain;
mod line;
mod loads;
mod merge;
mod scans;
#[cfg(test)]
mod tests;

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use skills::entry_id::EntryId;
use skills::problem::Problem;

pub use self::line::{Line, Shown};
pub use self::loads::loads;
use self::merge::Merge;
pub use self::scans::ScanRule;
use self::scans::Scans;
use super::record::EventName;
use super::writer::FLUSH_AFTER;

/// How late a line may be written; so long [`Follow`] waits before it takes the order for settled.
const LATE: SignedDuration = SignedDuration::from_millis(FLUSH_AFTER.as_millis() as i64 + 100);

/// How often [`Follow`] looks for new files.
const LOOK: SignedDuration = SignedDuration::from_millis(100);

/// Which lines are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only what happened then or later.
    pub since: Option<Timestamp>,
    /// Only this entry.
    pub entry: Option<EntryId>,
    /// Only this session.
    pub session: Option<String>,
    /// Only these events; all of them when there are none.
    pub events: Vec<EventName>,
    /// Not the lines that are part of a sweep.
    pub no_scans: bool,
}

impl Filter {
    /// Whether a line may bear on the answer: a sweep may have begun before `since` and hold other entries.
    fn bears(&self, line: &Line, rule: &ScanRule) -> bool {
        self.session
            .as_ref()
            .is_none_or(|session| line.record.session.as_ref() == Some(session))
            && self.since.is_none_or(|since| {
                line.record.time.duration_since(since) >= SignedDuration::ZERO - rule.within
            })
    }

    fn accepts(&self, line: &Line) -> bool {
        self.since.is_none_or(|since| line.record.time >= since)
            && self
                .entry
                .as_ref()
                .is_none_or(|entry| line.record.entry.as_ref() == Some(entry))
            && (self.events.is_empty() || self.events.contains(&line.record.event))
            && !(self.no_scans && line.scan)
    }
}

/// The log of all daemons below one directory.
#[derive(Debug)]
pub struct Reader {
    merge: Merge,
    rule: ScanRule,
}

impl Reader {
    /// Opens the directory that [`AccessLog::open`](super::AccessLog::open) was given. One that does not exist is an empty log.
    ///
    /// # Errors
    /// When the directory or a file in it can't be read.
    pub fn open(directory: &Path) -> Result<Self, Problem> {
        Ok(Self {
            merge: Merge::open(directory)?,
            rule: ScanRule::default(),
        })
    }

    /// Judges sweeps by another rule than the default one.
    #[must_use]
    pub fn rule(mut self, rule: ScanRule) -> Self {
        self.rule = rule;
        self
    }

    /// The lines that are there now, oldest first.
    pub fn lines(self, filter: Filter) -> Lines {
        Lines {
            merge: self.merge,
            scans: Scans::new(self.rule),
            rule: self.rule,
            filter,
        }
    }

    /// The lines that are there and those that come.
    pub fn follow(self, filter: Filter) -> Follow {
        Follow {
            lines: self.lines(filter),
            looked: Timestamp::MIN,
        }
    }
}

/// The lines that are there, oldest first.
#[derive(Debug)]
pub struct Lines {
    merge: Merge,
    scans: Scans,
    rule: ScanRule,
    filter: Filter,
}

impl Lines {
    /// How many damaged lines were passed over so far.
    pub fn damaged(&self) -> u64 {
        self.merge.damaged()
    }

    /// The next line that can be judged when no line of before `until` is still to come; all of them when it is `None`.
    fn next_until(&mut self, until: Option<Timestamp>) -> Option<Line> {
        loop {
            if let Some(line) = self.scans.pop() {
                if self.filter.accepts(&line) {
                    return Some(line);
                }
            } else if let Some(line) = self.merge.next(until) {
                if self.filter.bears(&line, &self.rule) {
                    self.scans.push(line);
                }
            } else if !self.scans.advance(until.unwrap_or(Timestamp::MAX)) {
                return None;
            }
        }
    }
}

impl Iterator for Lines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        self.next_until(None)
    }
}

/// The lines that are there and those that come, each once it is known whether it is part of a sweep: about
/// three seconds after it happened (two in which the sweep may show, and the time that a daemon may take to write).
#[derive(Debug)]
pub struct Follow {
    lines: Lines,
    /// When it was last looked for new files.
    looked: Timestamp,
}

impl Follow {
    /// How long to wait after [`Follow::next`] had nothing.
    pub const INTERVAL: std::time::Duration = std::time::Duration::from_millis(200);

    /// The next line that can be judged at `now`; `None` when there is none yet. Never waits.
    pub fn next(&mut self, now: Timestamp) -> Option<Line> {
        if now.duration_since(self.looked).abs() >= LOOK {
            self.looked = now;
            self.lines.merge.refresh();
        }
        // What happened since the last look may be in a file that is not known yet.
        let until = self.looked.saturating_sub(LATE).unwrap_or(self.looked);
        self.lines.next_until(Some(until))
    }

    /// How many damaged lines were passed over so far.
    pub fn damaged(&self) -> u64 {
        self.lines.damaged()
    }
}
