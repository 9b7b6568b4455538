//! Approvals: for exactly one call of one user, once, for a limited time; or for a tool as long as its definition stays.
//!
//! It knows neither rules nor who may approve. What waits is lost with the daemon, what was approved for good is not.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use skills::offers;
use skills::problem::{Problem, ProblemKind};

use super::remembered::Remembered;
use crate::instance::new_id;
use crate::protocol::{self, Always, Approval, ApprovalState, Decided};

/// How long what waits, an approval and a refusal last.
pub const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// How many calls may wait; beyond it the oldest gives way.
const MOST: usize = 256;

/// What an approval is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Whose call.
    pub uid: u32,
    /// The server's configured name.
    pub server: String,
    /// The tool's name as its server sent it, or the name of the file that lists what is offered.
    pub tool: String,
    /// The kind of what is asked for when it is no tool, which may have the same name.
    pub offered: Option<offers::Kind>,
    /// The hash of its definition.
    pub definition: [u8; 32],
    /// The hash of the arguments.
    pub arguments: [u8; 32],
}

/// What there is for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was approved, and this was the one time that it may be made; or its tool is approved for good.
    Approved,
    /// Somebody denied it.
    Denied,
    /// Nobody has decided.
    Undecided,
}

/// The approvals of one daemon.
#[derive(Debug)]
pub struct Approvals {
    known: Mutex<Vec<Known>>,
    remembered: Remembered,
}

#[derive(Debug)]
struct Known {
    key: Key,
    shown: Approval,
    since: Instant,
}

impl Known {
    /// Starts its time anew.
    fn renew(&mut self, now: Instant) {
        let time = Timestamp::now();
        self.since = now;
        self.shown.since = time;
        self.shown.until = time + LIFETIME;
    }
}

impl Approvals {
    /// Nothing waits, and what is approved for good is found there.
    pub fn new(remembered: Remembered) -> Self {
        Self {
            known: Mutex::default(),
            remembered,
        }
    }

    /// What there is for a call that is about to be made. An approval is used up by this.
    pub fn take(&self, key: &Key, now: Instant) -> Standing {
        let always = self.remembered.all().unwrap_or_else(|problem| {
            tracing::warn!(%problem, "nothing is approved for good");
            Vec::new()
        });
        if always.iter().any(|always| is_for(always, key)) {
            return Standing::Approved;
        }
        let mut known = self.known(now);
        let Some(position) = known.iter().position(|known| known.key == *key) else {
            return Standing::Undecided;
        };
        match known[position].shown.state {
            ApprovalState::Waiting => Standing::Undecided,
            ApprovalState::Denied => Standing::Denied,
            ApprovalState::Approved => {
                known.remove(position);
                Standing::Approved
            }
        }
    }

    /// Lets a call wait, unless it does already, and gives it an id.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn wait(&self, key: Key, shown: Approval, now: Instant) -> Result<String, Problem> {
        let mut known = self.known(now);
        if let Some(position) = known.iter().position(|known| known.key == key) {
            let mut same = known.remove(position);
            same.shown = Approval {
                id: same.shown.id,
                state: same.shown.state,
                ..shown
            };
            same.renew(now);
            let id = same.shown.id.clone();
            known.push(same);
            return Ok(id);
        }
        if known.len() >= MOST {
            known.remove(0);
        }
        let id = new_id()?;
        let mut new = Known {
            key,
            shown: Approval {
                id: id.clone(),
                ..shown
            },
            since: now,
        };
        new.renew(now);
        known.push(new);
        Ok(id)
    }

    /// Everything that has not been used up or forgotten.
    ///
    /// # Errors
    /// When what is approved for good can't be read.
    pub fn list(&self, now: Instant) -> Result<protocol::Approvals, Problem> {
        let always = self.remembered.all()?;
        let known = self.known(now);
        Ok(protocol::Approvals {
            waiting: known.iter().map(|known| known.shown.clone()).collect(),
            always,
        })
    }

    /// Approves a call that waits, `by` a user; once, or with every other call of its tool.
    ///
    /// # Errors
    /// When there is none of this id, or what is to last can't be written.
    pub fn approve(
        &self,
        id: &str,
        always: bool,
        by: u32,
        now: Instant,
    ) -> Result<(Approval, Decided), Problem> {
        let mut known = self.known(now);
        let position = known.iter().position(|known| known.shown.id == id);
        let position = position.ok_or_else(|| nothing(id))?;
        let mut decided = decided(&known[position].shown);
        if always {
            let approved = always_for(&known[position], by);
            self.remembered.change(|all| {
                // The definition of before is no longer needed.
                all.retain(|other| !is_same_tool(other, &approved));
                all.push(approved);
            })?;
            return Ok((known.remove(position).shown, decided));
        }
        let known = &mut known[position];
        known.shown.state = ApprovalState::Approved;
        known.renew(now);
        decided.until = Some(known.shown.until);
        Ok((known.shown.clone(), decided))
    }

    /// Denies a call that waits, or takes an approval back; also one for good. Gives what was denied where it is a call.
    ///
    /// # Errors
    /// When there is none of this id, or what lasts can't be changed.
    pub fn deny(&self, id: &str, now: Instant) -> Result<(Option<Approval>, Decided), Problem> {
        let mut known = self.known(now);
        if let Some(known) = known.iter_mut().find(|known| known.shown.id == id) {
            known.shown.state = ApprovalState::Denied;
            known.renew(now);
            return Ok((Some(known.shown.clone()), decided(&known.shown)));
        }
        drop(known);
        if !self.remembered.all()?.iter().any(|always| always.id == id) {
            return Err(nothing(id));
        }
        let taken = self.remembered.change(|all| {
            let position = all.iter().position(|always| always.id == id)?;
            Some(all.remove(position))
        })?;
        let taken = taken.ok_or_else(|| nothing(id))?;
        let decided = Decided {
            server: super::shown::name(&taken.server),
            tool: super::shown::name(&taken.tool),
            offered: taken.offered,
            until: None,
        };
        Ok((None, decided))
    }

    /// Forgets a call: it was decided where it was asked.
    pub fn forget(&self, key: &Key, now: Instant) {
        self.known(now).retain(|known| known.key != *key);
    }

    /// What is known by now, without what has run out.
    fn known(&self, now: Instant) -> MutexGuard<'_, Vec<Known>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| now.saturating_duration_since(known.since) < LIFETIME);
        known
    }
}

fn is_for(always: &Always, key: &Key) -> bool {
    always.uid == key.uid
        && always.server == key.server
        && always.tool == key.tool
        && always.offered == key.offered
        && always.definition == HEXLOWER.encode(&key.definition)
}

fn is_same_tool(one: &Always, other: &Always) -> bool {
    one.uid == other.uid
        && one.server == other.server
        && one.tool == other.tool
        && one.offered == other.offered
}

fn always_for(known: &Known, by: u32) -> Always {
    Always {
        id: known.shown.id.clone(),
        server: known.key.server.clone(),
        tool: known.key.tool.clone(),
        offered: known.key.offered,
        definition: HEXLOWER.encode(&known.key.definition),
        uid: known.key.uid,
        by,
        since: Timestamp::now(),
    }
}

fn decided(shown: &Approval) -> Decided {
    Decided {
        server: shown.server.clone(),
        tool: shown.tool.clone(),
        offered: shown.offered,
        until: None,
    }
}

fn nothing(id: &str) -> Problem {
    let id = super::shown::name(id);
    Problem::new(ProblemKind::NotFound, format!("nothing waits as `{id}`"))
        .hint("it may have run out, been used, or gone with its daemon; `shelf approvals` lists what waits")
}

#[cfg(test)]
mod tests;
