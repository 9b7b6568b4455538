//! Asking what waits for an approval or is not trusted, and deciding on it.
//!
//! It knows nothing of the wire.

use skills::problem::Problem;

use super::Client;
use crate::protocol::{
    Approvals, Approve, Decided, Deny, Difference, Differences, Nothing, Trust, Trusted, method,
};

impl Client {
    /// Asks for what waits for an approval.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn approvals(&mut self) -> Result<Approvals, Problem> {
        self.ask(method::APPROVALS, &Nothing {})
    }

    /// Approves a call that waits.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn approve(&mut self, approve: &Approve) -> Result<Decided, Problem> {
        self.ask(method::APPROVE, approve)
    }

    /// Denies a call that waits, or takes an approval back.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn deny(&mut self, deny: &Deny) -> Result<Decided, Problem> {
        self.ask(method::DENY, deny)
    }

    /// Asks how entries differ from what they were.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn differences(&mut self, differences: &Differences) -> Result<Vec<Difference>, Problem> {
        self.ask(method::DIFFERENCES, differences)
    }

    /// Trusts what a difference showed; it is published when this returns.
    ///
    /// # Errors
    /// What the daemon answers: that it is another version by now.
    pub fn trust(&mut self, trust: &Trust) -> Result<Trusted, Problem> {
        self.ask(method::TRUST, trust)
    }
}
