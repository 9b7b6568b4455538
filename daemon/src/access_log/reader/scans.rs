//! Sweeps: many entries opened by one session within moments, as `grep -r` and indexers do.
//!
//! A line can only be judged when the lines of the next moments are known, so lines wait here for so long.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::line::Line;
use crate::access_log::record::EventName;

/// The most lines that wait; the oldest are then judged by what is known.
const WAITING: usize = 65_536;
/// How many sessions are remembered before those that rest are forgotten.
const SESSIONS: usize = 1024;

/// When opens are a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanRule {
    /// So many distinct entries or more.
    pub entries: usize,
    /// Opened by one session within this time, its last moment included.
    pub within: SignedDuration,
}

impl Default for ScanRule {
    fn default() -> Self {
        Self {
            entries: 8,
            within: SignedDuration::from_secs(2),
        }
    }
}

/// The lines that can't be judged yet.
#[derive(Debug)]
pub(super) struct Scans {
    rule: ScanRule,
    waiting: VecDeque<Line>,
    /// The number of the first line that waits, lines being counted as they come.
    first: u64,
    /// How many of the waiting lines are judged, because time went backwards after them.
    settled: usize,
    sessions: HashMap<String, Window>,
    /// All lines up to here have come.
    newest: Timestamp,
}

/// What one session opened lately.
#[derive(Debug, Default)]
struct Window {
    opens: VecDeque<Open>,
    /// How many of `opens`, from the front, are marked.
    marked: usize,
    /// How often each entry is among `opens`.
    entries: HashMap<String, usize>,
}

#[derive(Debug)]
struct Open {
    time: Timestamp,
    line: u64,
    /// A file that belongs to no entry is part of a sweep, but makes none.
    entry: Option<String>,
}

impl Scans {
    pub(super) fn new(rule: ScanRule) -> Self {
        Self {
            rule,
            waiting: VecDeque::new(),
            first: 0,
            settled: 0,
            sessions: HashMap::new(),
            newest: Timestamp::MIN,
        }
    }

    /// Takes the next line in the order of time.
    pub(super) fn push(&mut self, line: Line) {
        let time = line.record.time;
        if self.is_past(time) {
            // The clock was set back: what came before can't be compared with what comes.
            self.settled = self.waiting.len();
            self.sessions.clear();
            self.newest = time;
        }
        self.newest = self.newest.max(time);
        let number = self.first + self.waiting.len() as u64;
        let opened = matches!(line.record.event, EventName::Open | EventName::Show);
        let session = line.record.session.clone().filter(|_| opened);
        let entry = line.record.entry.as_ref().map(|id| id.as_str().to_owned());
        self.waiting.push_back(line);
        if let Some(session) = session {
            self.forget_resting_sessions();
            let window = self.sessions.entry(session).or_default();
            let open = Open {
                time,
                line: number,
                entry,
            };
            for line in window.take(open, &self.rule) {
                // A line that left early, since too many waited, keeps its mark.
                if let Some(index) = line.checked_sub(self.first)
                    && let Some(line) = usize::try_from(index)
                        .ok()
                        .and_then(|index| self.waiting.get_mut(index))
                {
                    line.scan = true;
                }
            }
        }
    }

    /// Says that all lines up to `time` have come; whether that lets a line go.
    pub(super) fn advance(&mut self, time: Timestamp) -> bool {
        self.newest = self.newest.max(time);
        self.is_judged()
    }

    /// The oldest line, when it is judged.
    pub(super) fn pop(&mut self) -> Option<Line> {
        if !self.is_judged() {
            return None;
        }
        self.first += 1;
        self.settled = self.settled.saturating_sub(1);
        self.waiting.pop_front()
    }

    /// How many lines wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn is_judged(&self) -> bool {
        self.waiting.front().is_some_and(|line| {
            self.settled > 0
                || self.waiting.len() > WAITING
                || self.is_past(line.record.time)
                || self.newest == Timestamp::MAX
        })
    }

    /// Whether no line that is still to come can be in one sweep with a line of that time.
    fn is_past(&self, time: Timestamp) -> bool {
        self.newest.duration_since(time) > self.rule.within
    }

    fn forget_resting_sessions(&mut self) {
        if self.sessions.len() >= SESSIONS {
            let (newest, within) = (self.newest, self.rule.within);
            self.sessions.retain(|_, window| {
                window
                    .opens
                    .back()
                    .is_some_and(|open| newest.duration_since(open.time) <= within)
            });
        }
    }
}

impl Window {
    /// Takes an open and returns the numbers of the lines that it shows to be part of a sweep.
    fn take(&mut self, open: Open, rule: &ScanRule) -> impl Iterator<Item = u64> {
        while let Some(oldest) = self.opens.front()
            && open.time.duration_since(oldest.time) > rule.within
        {
            self.marked = self.marked.saturating_sub(1);
            if let Some(Open {
                entry: Some(entry), ..
            }) = self.opens.pop_front()
            {
                match self.entries.get_mut(&entry) {
                    Some(count) if *count > 1 => *count -= 1,
                    _ => {
                        self.entries.remove(&entry);
                    }
                }
            }
        }
        if let Some(entry) = &open.entry {
            *self.entries.entry(entry.clone()).or_default() += 1;
        }
        self.opens.push_back(open);
        let unmarked = self.marked;
        if self.entries.len() >= rule.entries {
            self.marked = self.opens.len();
        }
        self.opens
            .range(unmarked..self.marked)
            .map(|open| open.line)
    }
}
