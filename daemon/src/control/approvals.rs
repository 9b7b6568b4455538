//! Approvals over the socket: the wait of a call for one, and the methods by which others give or refuse it.
//!
//! It knows no rule. Whatever happens but a clear yes of somebody whose approvals count, the call is not made.

use std::time::{Duration, Instant};

use skills::catalog::Entry;
use skills::problem::{Problem, ProblemKind};

use super::Context;
use super::connection::Request;
use crate::access_log::{Event, Verdict};
use crate::gate::approvals::{Key, LIFETIME};
use crate::gate::rule::Target;
use crate::gate::{self, Call, Decision};
use crate::protocol::{Approval, Approvals, Approve, Confirmed, Decided, Deny, method};

/// What came of asking whoever calls.
enum Asked {
    /// They said so.
    Said(Confirmed),
    /// They can't be asked, or their word does not count.
    Unable,
    /// They did not answer in time.
    Silent(Duration),
    /// They left.
    Gone,
}

impl Context {
    /// Lets a call pass, asking whoever calls where that is to be asked; they may take `limit` to answer.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) async fn permit(
        &self,
        call: &Call<'_>,
        request: &Request,
        limit: Option<Duration>,
    ) -> Result<(), Problem> {
        let (key, mut approval) = match self.gate.authorize(call) {
            Decision::Allow => return Ok(()),
            Decision::Deny(problem) => return Err(problem),
            Decision::Ask(asked) => *asked,
        };
        let asked = if self.gate.is_approver(call.caller.uid) {
            ask(&approval, request, limit).await
        } else {
            Asked::Unable
        };
        let approvals = self.gate.approvals();
        let problem = match asked {
            Asked::Said(Confirmed::No) => gate::denied(&approval.rule),
            Asked::Said(confirmed) => {
                approval.id = approvals.wait(key.clone(), approval.clone(), Instant::now())?;
                let always = confirmed == Confirmed::Always;
                return self.confirmed(call, (&key, &approval), always).await;
            }
            Asked::Unable => {
                let id = approvals.wait(key, approval.clone(), Instant::now())?;
                waits(&approval, &id)
            }
            Asked::Silent(limit) => Problem::new(
                ProblemKind::Refused,
                format!(
                    "refused: nobody answered in {limit:?} what {} asks",
                    approval.rule
                ),
            ),
            Asked::Gone => Problem::new(
                ProblemKind::Interrupted,
                format!("interrupted while {} was asked", approval.rule),
            ),
        };
        if problem.kind == ProblemKind::Refused && matches!(asked, Asked::Said(_)) {
            self.log_verdict(call.caller, &approval, Verdict::Denied)
                .await;
        }
        Err(problem.at_server(call.server.as_str(), Some(call.target.name())))
    }

    /// Makes use of a yes. What changed while it was waited for is judged anew: it was not what was shown.
    async fn confirmed(
        &self,
        call: &Call<'_>,
        (key, approval): (&Key, &Approval),
        always: bool,
    ) -> Result<(), Problem> {
        let approvals = self.gate.approvals();
        let by = call.caller.uid;
        let approved = approvals.approve(&approval.id, always, by, Instant::now());
        if let Err(problem) = approved {
            approvals.forget(key, Instant::now());
            return Err(problem);
        }
        let verdict = if always {
            Verdict::Always
        } else {
            Verdict::Once
        };
        self.log_verdict(call.caller, approval, verdict).await;
        let snapshot = self.snapshots.current();
        let is_as_shown = match (call.target, snapshot.entries.get(call.id)) {
            (Target::Tool(shown), Some(Entry::Tool { tool, .. })) => tool.hash == shown.hash,
            (Target::Tool(_), _) => false,
            // There is no definition, and what is asked for is all in the arguments.
            (Target::Offers(kind), _) => {
                let hiding = &snapshot.sources.hiding;
                !hiding.offers(call.server, call.id, kind)
            }
        };
        let decision = match is_as_shown {
            true => self.gate.authorize(call),
            false => Decision::Deny(
                Problem::new(
                    ProblemKind::Refused,
                    "refused: its definition changed while an approval was waited for",
                )
                .at_server(call.server.as_str(), Some(call.target.name()))
                .hint("call it again"),
            ),
        };
        // Nothing of it is left for later where it was not needed.
        approvals.forget(key, Instant::now());
        match decision {
            Decision::Allow => Ok(()),
            Decision::Deny(problem) => Err(problem),
            Decision::Ask(asked) => Err(Problem::new(
                ProblemKind::Refused,
                format!(
                    "refused: the approval that {} asks for is gone",
                    asked.1.rule
                ),
            )
            .at_server(call.server.as_str(), Some(call.target.name()))),
        }
    }

    /// What waits, and what is approved for good.
    pub(super) fn approvals(&self) -> Result<Approvals, Problem> {
        self.gate.approvals().list(Instant::now())
    }

    /// Approves a call that waits.
    pub(super) async fn approve(
        &self,
        asked: Approve,
        request: &Request,
    ) -> Result<Decided, Problem> {
        let caller = &request.caller;
        self.only_approvers(caller.uid)?;
        let approvals = self.gate.approvals();
        let (approval, decided) =
            approvals.approve(&asked.id, asked.always, caller.uid, Instant::now())?;
        let verdict = if asked.always {
            Verdict::Always
        } else {
            Verdict::Once
        };
        self.log_verdict(caller, &approval, verdict).await;
        Ok(decided)
    }

    /// Denies a call that waits, or takes an approval back.
    pub(super) async fn deny(&self, asked: Deny, request: &Request) -> Result<Decided, Problem> {
        let caller = &request.caller;
        self.only_approvers(caller.uid)?;
        let (approval, decided) = self.gate.approvals().deny(&asked.id, Instant::now())?;
        if let Some(approval) = &approval {
            self.log_verdict(caller, approval, Verdict::Denied).await;
        }
        Ok(decided)
    }

    pub(super) fn only_approvers(&self, uid: u32) -> Result<(), Problem> {
        if self.gate.is_approver(uid) {
            return Ok(());
        }
        Err(Problem::new(
            ProblemKind::Refused,
            format!("the approvals of user {uid} do not count here"),
        )
        .hint("`approvers` of `[policy]` lists whose do; without it, it is the daemon's own user"))
    }

    async fn log_verdict(
        &self,
        caller: &crate::caller::Caller,
        approval: &Approval,
        verdict: Verdict,
    ) {
        let entry = approval.entry.clone();
        let event = Event::Approval { entry, verdict };
        self.log.record(caller.clone(), event).await;
    }
}

#[cfg(test)]
mod tests;

/// Asks whoever calls.
async fn ask(approval: &Approval, request: &Request, limit: Option<Duration>) -> Asked {
    let limit = limit.map_or(LIFETIME, |limit| limit.min(LIFETIME));
    let answer = tokio::select! {
        answer = request.questions.ask(method::CONFIRM, approval) => answer,
        () = tokio::time::sleep(limit) => return Asked::Silent(limit),
        () = request.cancelled.cancelled() => return Asked::Gone,
    };
    match answer {
        None => Asked::Gone,
        Some(Err(_)) => Asked::Unable,
        // What can't be read is no yes.
        Some(Ok(answer)) => {
            Asked::Said(serde_json::from_str(answer.get()).unwrap_or(Confirmed::No))
        }
    }
}

/// What a call ends with for which there is nobody to ask.
fn waits(approval: &Approval, id: &str) -> Problem {
    let minutes = LIFETIME.as_secs() / 60;
    Problem::new(
        ProblemKind::Refused,
        format!("waits for approval {id}, by {}", approval.rule),
    )
    .hint(format!(
        "when somebody has run `shelf approve {id}`, run the same command again, within {minutes} minutes"
    ))
}
