//! Calling tools.
//!
//! It knows nothing of the wire.

use std::os::fd::OwnedFd;
use std::time::Duration;

use skills::problem::Problem;

use super::question::{Asking, Question, nobody};
use super::{CANCELLATION, Client};
use crate::protocol::{Call, CallReply, Nothing, Progress, Refused, method};

impl Client {
    /// Calls a tool, with nobody to answer what the daemon may ask. `interrupt` becomes readable when the user no longer wants it: the call is then cancelled at the server too.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn call(
        &mut self,
        call: &Call,
        interrupt: Option<&OwnedFd>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<CallReply, Problem> {
        self.call_asking(call, interrupt, on_progress, &mut nobody)
    }

    /// Tells of a call that was refused before it was made, for the log.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn refused(&mut self, refused: &Refused) -> Result<(), Problem> {
        let Nothing {} = self.ask(method::REFUSED, refused)?;
        Ok(())
    }

    /// Calls a tool; `on_question` answers what the daemon asks before it makes the call, and what the server asks meanwhile.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn call_asking(
        &mut self,
        call: &Call,
        interrupt: Option<&OwnedFd>,
        on_progress: &mut dyn FnMut(Progress),
        on_question: &mut dyn FnMut(&Question<'_>) -> Asking,
    ) -> Result<CallReply, Problem> {
        // The daemon keeps the time. One that hangs would keep it for ever.
        let limit = call
            .timeout_ms
            .map(|limit| Duration::from_millis(limit) + CANCELLATION);
        let (progress, question) = (on_progress, on_question);
        self.exchange_asking(method::CALL, call, limit, interrupt, progress, question)
    }
}
