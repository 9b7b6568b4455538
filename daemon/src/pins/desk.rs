//! What differs from what is trusted, and taking it over. Who may do that is not known here.

use std::collections::BTreeSet;
use std::sync::Arc;

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
        let (pins, scope) = {
            let state = self.state();
            (state.ledger.shared(), Arc::clone(&state.scope))
        };
        let mut wanted = Vec::new();
        for entry in &asked.entries {
            match ids::find(snapshot, &scope, entry, pins.keys()) {
                Ok(found) => wanted.push(found),
                Err(_) if asked.if_there => {}
                Err(problem) => return Err(problem),
            }
        }
        if asked.held {
            let is_held =
                |(subject, pin): &(&Subject, &Pin)| pin.held.is_some() && scope.sees(subject);
            let held = pins.iter().filter(is_held);
            let held: Vec<&Subject> = held.map(|(subject, _)| subject).collect();
            let ids = ids::of(snapshot, &scope, &held);
            let shown = std::iter::zip(ids, held);
            wanted.extend(shown.filter_map(|(id, subject)| Some((id?, subject.clone()))));
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
        let trusted = pin.trusted.as_ref();
        let (state, before, now) = match (&pin.held, &pin.before) {
            (Some(Held::Changed(now)), _) => (DifferenceState::NotTrusted, trusted, Some(now.hash)),
            (Some(Held::Gone(_)), _) => (DifferenceState::Gone, trusted, None),
            (None, Some(before)) => (DifferenceState::Changed, Some(before), pin.trusted_hash()),
            (None, None) => (DifferenceState::Unchanged, trusted, pin.trusted_hash()),
        };
        let since = before.map(|before| before.since);
        let versions = [before.map(|before| before.hash), now];
        let files = if versions[0] == versions[1] {
            Vec::new()
        } else {
            diff::files(&self.0.store, subject, id.as_str(), versions)
        };
        Difference {
            id: id.clone(),
            kind: kind(subject),
            state,
            since,
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
        let (pins, scope) = (state.ledger.pins(), &state.scope);
        let (id, subject) = ids::find(snapshot, scope, &asked.entry, pins.keys())?;
        let shown = asked.hash.as_ref().map(|hash| Hash::try_from(hash.clone()));
        let shown = shown.transpose().map_err(|why| {
            Problem::new(ProblemKind::Usage, why).hint("it stands in `shelf changes --diff --json`")
        })?;
        let (from, now) = state.ledger.commit(|pins| {
            let pin = pins.get_mut(&subject).ok_or_else(|| changed_again(&id))?;
            let (now, version) = match &pin.held {
                Some(Held::Changed(version)) => (Some(version.hash), Some(version.clone())),
                Some(Held::Gone(_)) => (None, None),
                None => (pin.trusted_hash(), pin.trusted.clone()),
            };
            if now != shown {
                return Err(changed_again(&id));
            }
            if now.is_some_and(|now| !diff::is_kept(&self.0.store, &subject, now)) {
                return Err(not_kept(&id));
            }
            let from = pin.trusted_hash();
            let since = jiff::Timestamp::now();
            match version {
                // Trusted from now on, not since it was first seen.
                Some(Version { hash, .. }) => {
                    pin.trusted = Some(Version { hash, since });
                    pin.before = None;
                }
                // What it was stays known: should it come back as another, that is a change.
                None => pin.gone = Some(since),
            }
            pin.held = None;
            Ok((from, now))
        })??;
        state.ledger.tell_news();
        if let (Some(from), Some(to)) = (from, now)
            && from != to
        {
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

fn not_kept(id: &EntryId) -> Problem {
    let message = format!(
        "`{id}` can't be shown as it is now, so that it can't be trusted: it could not be kept"
    );
    Problem::new(ProblemKind::Refused, message).hint(
        "check the space on the disk of the state directory; it is kept when it is seen again",
    )
}

fn changed_again(id: &EntryId) -> Problem {
    let message =
        format!("`{id}` is not what was shown: it changed again, and nothing was trusted");
    Problem::new(ProblemKind::Refused, message)
        .hint(format!("look at it once more: shelf trust {id}"))
}
