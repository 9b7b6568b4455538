//! The one gate before every server: every call asks it, and goes on only when it says so.
//!
//! It judges by the policy, and where that wants an approval by what was approved. It asks nobody itself. Entries that the policy
//! hides never get here: the catalog's writer leaves them out of the tree ([`Policy::hidden`]).

pub mod approvals;
pub mod policy;
pub mod remembered;
pub mod rule;
pub(crate) mod shown;
mod unmatched;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use serde_json::{Map, Value};
use skills::catalog::Snapshot;
use skills::entry_id::{EntryId, ServerName};
use skills::json;
use skills::problem::{Problem, ProblemKind};

use self::approvals::{Approvals, Key, Standing};
use self::policy::{Policy, Ruling};
use self::remembered::Remembered;
use self::rule::{Subject, Target};
use crate::caller::Caller;
use crate::protocol::{self, Approval, ApprovalState};

/// A call that somebody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The id of the tool, or of what the server offers of a kind.
    pub id: &'a EntryId,
    /// Its server's configured name.
    pub server: &'a ServerName,
    /// What is asked of it.
    pub target: Target<'a>,
    /// Who asks.
    pub caller: &'a Caller,
    /// The arguments, already checked against the schema; of a resource its URI, of a prompt its name and its arguments.
    pub arguments: &'a Map<String, Value>,
}

/// What the gate says to a call.
#[derive(Debug)]
pub enum Decision {
    /// It may go on.
    Allow,
    /// It may not, and why.
    Deny(Problem),
    /// It may when somebody approves it: what is to be shown to them, and what the approval is for.
    Ask(Box<(Key, Approval)>),
}

/// The policy in force, and the approvals.
#[derive(Debug)]
pub struct Gate {
    policy: ArcSwap<Policy>,
    approvals: Approvals,
    /// The daemon's own user.
    owner: u32,
}

impl Gate {
    /// A gate that lets everything pass until it is given a policy.
    pub fn new(owner: u32, remembered: Remembered) -> Self {
        Self {
            policy: ArcSwap::default(),
            approvals: Approvals::new(remembered),
            owner,
        }
    }

    /// Puts a policy in force: the next call is judged by it.
    pub fn set_policy(&self, policy: Policy) {
        self.policy.store(Arc::new(policy));
    }

    /// The approvals.
    pub const fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Judges a call. An approval that it lets it pass by is used up.
    pub fn authorize(&self, call: &Call<'_>) -> Decision {
        let policy = self.policy.load();
        let subject = Subject {
            id: call.id,
            target: Some((call.server, call.target)),
        };
        let rule = match policy.judge(&subject) {
            Ruling::Allowed => return Decision::Allow,
            Ruling::Refused(problem) => return Decision::Deny(located(problem, call)),
            Ruling::Ask(rule) => rule.to_string(),
        };
        let key = match key(call) {
            Ok(key) => key,
            Err(problem) => return Decision::Deny(located(problem, call)),
        };
        match self.approvals.take(&key, Instant::now()) {
            Standing::Approved => Decision::Allow,
            Standing::Denied => Decision::Deny(located(denied(&rule), call)),
            Standing::Undecided => Decision::Ask(Box::new((key, approval(call, rule)))),
        }
    }

    /// What is to be said of its rules, beside the faults of the configuration.
    pub fn problems(&self, snapshot: &Snapshot) -> Vec<Problem> {
        unmatched::problems(&self.policy.load(), snapshot)
    }

    /// Whether a user's approvals count. Root is no exception: an agent in a container often is root.
    pub fn is_approver(&self, uid: u32) -> bool {
        match &self.policy.load().approvers {
            Some(approvers) => approvers.contains(&uid),
            None => uid == self.owner,
        }
    }

    /// What the policy is worth to a user: those who could change it, or approve their own calls, are only advised by it.
    pub fn standing(&self, uid: u32) -> protocol::Policy {
        if self.policy.load().is_empty() {
            protocol::Policy::None
        } else if uid == self.owner || uid == 0 || self.is_approver(uid) {
            protocol::Policy::Advisory
        } else {
            protocol::Policy::Enforced
        }
    }
}

/// What happens to a call that somebody said no to.
pub(crate) fn denied(rule: &str) -> Problem {
    let message = format!("refused: the approval that {rule} asks for was denied");
    Problem::new(ProblemKind::Refused, message)
}

fn located(problem: Problem, call: &Call<'_>) -> Problem {
    problem.at_server(call.server.as_str(), Some(call.target.name()))
}

fn key(call: &Call<'_>) -> Result<Key, Problem> {
    let arguments = serde_json::value::to_raw_value(call.arguments).map_err(|error| {
        let message = format!("the arguments can't be written: {error}");
        Problem::new(ProblemKind::Internal, message)
    })?;
    Ok(Key {
        uid: call.caller.uid,
        server: call.server.as_str().to_owned(),
        tool: call.target.name().to_owned(),
        offered: call.target.offered(),
        definition: call.target.definition(),
        arguments: *blake3::hash(json::canonical(&arguments).as_bytes()).as_bytes(),
    })
}

fn approval(call: &Call<'_>, rule: String) -> Approval {
    let (arguments, more) = shown::arguments(call.arguments);
    let now = Timestamp::now();
    Approval {
        id: String::new(),
        entry: call.id.clone(),
        server: shown::name(call.server.as_str()),
        tool: shown::name(call.target.name()),
        offered: call.target.offered(),
        arguments,
        more,
        rule,
        uid: call.caller.uid,
        pid: call.caller.pid,
        command: shown::name(&call.caller.command),
        session: shown::name(&call.caller.session),
        since: now,
        until: now,
        state: ApprovalState::Waiting,
    }
}
