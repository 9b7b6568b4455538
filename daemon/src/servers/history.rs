//! What one server went through: its starts and ends, who called it, what failed last.
//!
//! The server's task writes it, calls and reports read it. It must not know processes, connections or the wire.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use skills::server::Phase;

/// How many sessions are remembered; whoever is forgotten is not told that a server's state is gone.
const MAX_SESSIONS: usize = 4_096;

/// The history of one server, or of one session's instance of it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct History(Arc<Mutex<Past>>);

#[derive(Debug, Default)]
struct Past {
    /// How often it was started; the number of the start that runs, or ran last.
    starts: u64,
    calls: u64,
    last_call: Option<SystemTime>,
    phase: Phase,
    guard: Option<u32>,
    last_error: Option<LastError>,
    /// How the last start ended.
    end: String,
    /// Which start a session called last.
    sessions: BTreeMap<String, u64>,
}

/// What failed last.
#[derive(Clone, Debug)]
pub(crate) struct LastError {
    pub(crate) time: SystemTime,
    pub(crate) message: String,
}

/// The history as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) phase: Phase,
    pub(crate) starts: u64,
    pub(crate) calls: u64,
    pub(crate) last_call: Option<SystemTime>,
    /// The process that guards the server, while that runs.
    pub(crate) guard: Option<u32>,
    pub(crate) last_error: Option<LastError>,
}

impl Standing {
    /// Whether it runs, or is about to.
    pub(super) const fn runs(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Ready)
    }
}

impl History {
    /// The history of a server that has forgotten what this session did with it.
    pub(super) fn after_end(session: &str, end: &str) -> Self {
        let history = Self::default();
        {
            let mut past = history.past();
            past.starts = 1;
            past.sessions.insert(session.to_owned(), 1);
            end.clone_into(&mut past.end);
        }
        history
    }

    /// Takes down that its process was started.
    pub(super) fn launched(&self, guard: Option<u32>) {
        self.past().guard = guard;
    }

    /// Takes down that it is ready, and gives the number of this start.
    pub(super) fn started(&self) -> u64 {
        let mut past = self.past();
        past.starts += 1;
        past.starts
    }

    /// Takes down that it ended, and how.
    pub(super) fn ended(&self, how: impl Into<String>) {
        let mut past = self.past();
        past.guard = None;
        let current = past.starts;
        // A start that nobody called took nothing from anybody: how the one before ended is still what is to be told.
        if past.sessions.is_empty() || past.sessions.values().any(|last| *last == current) {
            past.end = how.into();
        }
    }

    /// Takes down what failed.
    pub(super) fn failed(&self, message: impl Into<String>) {
        let (time, message) = (SystemTime::now(), message.into());
        let mut past = self.past();
        past.guard = None;
        past.last_error = Some(LastError { time, message });
    }

    /// Takes down its phase.
    pub(super) fn set_phase(&self, phase: Phase) {
        self.past().phase = phase;
    }

    /// Takes down that a call of a session was sent to a start of it.
    pub(super) fn called(&self, session: &str, start: u64) {
        let mut past = self.past();
        past.calls += 1;
        past.last_call = Some(SystemTime::now());
        if session.is_empty() {
            return;
        }
        if let Some(last) = past.sessions.get_mut(session) {
            // A long call to an earlier start may end after one to this start has begun.
            *last = start.max(*last);
            return;
        }
        if past.sessions.len() >= MAX_SESSIONS {
            // Those that called this start have something to lose; the others lost it, and were not back for long.
            let current = past.starts;
            past.sessions.retain(|_, last| *last == current);
            if past.sessions.len() >= MAX_SESSIONS {
                past.sessions.clear();
            }
        }
        past.sessions.insert(session.to_owned(), start);
    }

    /// How the start ended that this session called last, when that was not this one: then what it had there is gone.
    pub(super) fn lost(&self, session: &str, start: u64) -> Option<String> {
        let past = self.past();
        let last = past.sessions.get(session)?;
        (*last < start).then(|| past.end.clone())
    }

    /// Whether a session ever called it.
    pub(super) fn was_called_by(&self, session: &str) -> bool {
        self.past().sessions.contains_key(session)
    }

    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        let past = self.past();
        Standing {
            phase: past.phase.clone(),
            starts: past.starts,
            calls: past.calls,
            last_call: past.last_call,
            guard: past.guard,
            last_error: past.last_error.clone(),
        }
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        // Nothing in here can be left half done, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{History, MAX_SESSIONS};

    #[test]
    fn only_who_called_an_earlier_start_lost_something() {
        let history = History::default();
        let first = history.started();
        assert_eq!(history.lost("mine", first), None);
        history.called("mine", first);
        assert_eq!(history.lost("mine", first), None);
        history.ended("it broke");
        let second = history.started();
        assert_eq!(history.lost("mine", second).as_deref(), Some("it broke"));
        assert_eq!(history.lost("other", second), None);
        history.called("mine", second);
        // The end of a call to the first start that took long.
        history.called("mine", first);
        assert_eq!(history.lost("mine", second), None);
        assert_eq!(history.standing().calls, 3);
    }

    #[test]
    fn a_start_that_nobody_called_does_not_hide_how_the_one_before_ended() {
        let history = History::default();
        history.called("mine", history.started());
        history.ended("its entry changed");
        history.started();
        history.ended("it was only listed");
        let lost = history.lost("mine", history.started());
        assert_eq!(lost.as_deref(), Some("its entry changed"));
    }

    #[test]
    fn sessions_without_a_name_are_not_taken_for_one() {
        let history = History::default();
        history.called("", history.started());
        assert_eq!(history.lost("", history.started()), None);
    }

    #[test]
    fn the_memory_of_sessions_is_bounded() {
        let history = History::default();
        let first = history.started();
        for number in 0..MAX_SESSIONS {
            history.called(&number.to_string(), first);
        }
        let second = history.started();
        history.called("new", second);
        assert_eq!(history.past().sessions.len(), 1);
        for number in 0..MAX_SESSIONS + 10 {
            history.called(&number.to_string(), second);
        }
        assert!(history.past().sessions.len() <= MAX_SESSIONS);
    }
}
