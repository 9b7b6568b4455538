//! What differs from what is trusted, and taking it over. Who may do that is not known here.

use std::collections::BTreeSet;

use skills::catalog::Snapshot;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};

use super::hash::Hash;
use super::subject::Subject;
use super::transition::{Held, Noticed, Pin, Version};
use super::{Pins, diff, ids};
use crate::protocol::{ChangedKind, Difference, DifferenceState, Differences, Trust, Trusted};

impl Pins {
    /// How entries differ from what they were.
    ///
    /// # Errors
    /// When one that is asked for is not there, or nothing is known under strict pins.
    pub fn differences(
        &self,
        snapshot: &Snapshot,
        asked: &Differences,
    ) -> Result<Vec<Difference>, Problem> {
        // What is served without having been recorded yet is a change, too.
        self.remember(&snapshot.sources);
        if let Some(problem) = self.fault() {
            return Err(problem);
        }
        let pins = self.state().ledger.shared();
        let mut wanted = Vec::new();
        for entry in &asked.entries {
            match ids::find(snapshot, entry, pins.keys()) {
                Ok(found) => wanted.push(found),
                Err(_) if asked.if_there => {}
                Err(problem) => return Err(problem),
            }
        }
        if asked.held {
            let held = pins.iter().filter(|(_, pin)| pin.held.is_some());
            let held: Vec<&Subject> = held.map(|(subject, _)| subject).collect();
            let ids = ids::of(snapshot, &held);
            wanted.extend(std::iter::zip(ids, held.into_iter().cloned()));
        }
        let mut told = BTreeSet::new();
        wanted.retain(|(_, subject)| told.insert(subject.clone()));
        let described = wanted.iter().map(|(id, subject)| match pins.get(subject) {
            Some(pin) => self.difference(id, subject, pin),
            None => unknown(id, subject),
        });
        Ok(described.collect())
    }

    fn difference(&self, id: &EntryId, subject: &Subject, pin: &Pin) -> Difference {
        let (state, before, now) = match (&pin.held, &pin.before) {
            (Some(Held::Changed(now)), _) => {
                (DifferenceState::NotTrusted, &pin.trusted, Some(now.hash))
            }
            (Some(Held::Gone(_)), _) => (DifferenceState::Gone, &pin.trusted, None),
            (None, Some(before)) => (DifferenceState::Changed, before, Some(pin.trusted.hash)),
            (None, None) => (
                DifferenceState::Unchanged,
                &pin.trusted,
                Some(pin.trusted.hash),
            ),
        };
        let files = if now == Some(before.hash) {
            Vec::new()
        } else {
            let versions = [Some(before.hash), now];
            diff::files(&self.0.store, subject, id.as_str(), versions)
        };
        Difference {
            id: id.clone(),
            kind: kind(subject),
            state,
            since: Some(before.since),
            hash: now.map(String::from),
            files,
        }
    }

    /// Trusts a version that was shown: exactly that one.
    ///
    /// # Errors
    /// When there is no such entry, or it is another version by now.
    pub fn trust(&self, snapshot: &Snapshot, asked: &Trust) -> Result<Trusted, Problem> {
        let mut state = self.state();
        state.ledger.refresh();
        let pins = state.ledger.pins();
        let (id, subject) = ids::find(snapshot, &asked.entry, pins.keys())?;
        let shown = asked.hash.as_ref().map(|hash| Hash::try_from(hash.clone()));
        let shown = shown.transpose().map_err(|why| {
            Problem::new(ProblemKind::Usage, why).hint("it stands in `shelf changes --diff --json`")
        })?;
        let trusted = state.ledger.update(|pins| {
            let pin = pins.get_mut(&subject).ok_or_else(|| changed_again(&id))?;
            let (now, version) = match &pin.held {
                Some(Held::Changed(version)) => (Some(version.hash), Some(version.clone())),
                Some(Held::Gone(_)) => (None, None),
                None => (Some(pin.trusted.hash), Some(pin.trusted.clone())),
            };
            if now != shown {
                return Err(changed_again(&id));
            }
            let from = pin.trusted.hash;
            match version {
                // Trusted from now on, not since it was first seen.
                Some(Version { hash, .. }) => {
                    let since = jiff::Timestamp::now();
                    pin.trusted = Version { hash, since };
                    pin.before = None;
                    pin.held = None;
                }
                None => drop(pins.remove(&subject)),
            }
            Ok((from, now))
        });
        let unusable = || {
            let problem = state.ledger.problem(true);
            problem
                .unwrap_or_else(|| Problem::new(ProblemKind::Unreadable, "the pins can't be used"))
        };
        let (from, now) = trusted.ok_or_else(unusable)??;
        state.ledger.tell_news();
        if let Some(to) = now.filter(|now| *now != from) {
            let noticed = Noticed::Changed {
                subject: subject.clone(),
                from,
                to,
            };
            if noticed.is_worth_a_line(&self.0.store) {
                state.noticed.push(noticed);
            }
        }
        Ok(Trusted { id })
    }
}

fn kind(subject: &Subject) -> ChangedKind {
    match subject {
        Subject::Server(_) => ChangedKind::Server,
        Subject::Tool { .. } => ChangedKind::Tool,
        Subject::Skill { .. } => ChangedKind::Skill,
    }
}

/// Of an entry of which nothing is remembered.
fn unknown(id: &EntryId, subject: &Subject) -> Difference {
    Difference {
        id: id.clone(),
        kind: kind(subject),
        state: DifferenceState::Unknown,
        since: None,
        hash: None,
        files: Vec::new(),
    }
}

fn changed_again(id: &EntryId) -> Problem {
    let message =
        format!("`{id}` is not what was shown: it changed again, and nothing was trusted");
    Problem::new(ProblemKind::Refused, message)
        .hint(format!("look at it once more: shelf trust {id}"))
}
