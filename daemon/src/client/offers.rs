//! Reading resources and asking for prompts.
//!
//! It knows nothing of the wire.

use std::os::fd::OwnedFd;
use std::time::Duration;

use serde::Serialize;
use skills::problem::Problem;

use super::question::{Asking, Question};
use super::{CANCELLATION, Client};
use crate::protocol::{CallReply, GetPrompt, ListOffers, ListedOffers, Progress, Read, method};

/// Who hears of what happens while a request is under way.
pub struct Attendant<'a> {
    /// Becomes readable when the user no longer wants it: it is then cancelled at the server too.
    pub interrupt: Option<&'a OwnedFd>,
    /// Is told how far it is.
    pub on_progress: &'a mut dyn FnMut(Progress),
    /// Answers what the daemon asks before it goes on.
    pub on_question: &'a mut dyn FnMut(&Question<'_>) -> Asking,
}

impl Client {
    /// Reads a resource.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn read(&mut self, read: &Read, attendant: Attendant<'_>) -> Result<CallReply, Problem> {
        self.attended(method::READ, read, read.timeout_ms, attendant)
    }

    /// Asks for a prompt.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn prompt(
        &mut self,
        prompt: &GetPrompt,
        attendant: Attendant<'_>,
    ) -> Result<CallReply, Problem> {
        self.attended(method::PROMPT, prompt, prompt.timeout_ms, attendant)
    }

    /// Asks what a server offers beside its tools, as it was listed last.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn offers(&mut self, asked: &ListOffers) -> Result<ListedOffers, Problem> {
        self.ask(method::OFFERS, asked)
    }

    fn attended(
        &mut self,
        method: &str,
        asked: &impl Serialize,
        timeout_ms: Option<u64>,
        attendant: Attendant<'_>,
    ) -> Result<CallReply, Problem> {
        // The daemon keeps the time. One that hangs would keep it for ever.
        let limit = timeout_ms.map(|limit| Duration::from_millis(limit) + CANCELLATION);
        let Attendant {
            interrupt,
            on_progress,
            on_question,
        } = attendant;
        self.exchange_asking(method, asked, limit, interrupt, on_progress, on_question)
    }
}
