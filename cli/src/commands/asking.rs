//! What `shelf read` and `shelf prompt` have in common with a call: the shelf, the limits, and how the answer is printed.
//!
//! It knows neither resources nor prompts.

use std::path::Path;
use std::time::Duration;

use daemon::client::{ANSWER, Attendant, Client, Question};
use daemon::protocol::CallReply;
use skills::problem::Problem;

use super::call::answers::Answers;
use super::call::content::Content;
use super::call::files::Place;
use super::call::limit::{Limit, MaxOutput};
use super::call::{milliseconds, output, question, results};
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;
use crate::{interrupt, on_demand};

/// How something is asked of a server.
pub(super) struct Asking<'a> {
    /// How long it may take.
    pub(super) timeout: Option<Duration>,
    /// Whether the whole answer is printed as it was sent.
    pub(super) json: bool,
    /// Where what is no text goes.
    pub(super) out: Option<&'a Path>,
    /// How much is printed.
    pub(super) max_output: Option<MaxOutput>,
    /// Which shelf.
    pub(super) which: &'a Which,
}

impl Asking<'_> {
    /// Asks, with a daemon that is started where none runs, and prints the answer as `read` understands it.
    pub(super) fn run(
        &self,
        environment: &Environment,
        ui: &Ui,
        read: fn(&CallReply) -> Result<Content, Problem>,
        ask: impl FnOnce(&mut Client, Option<u64>, Attendant<'_>) -> Result<CallReply, Problem>,
    ) -> CommandResult {
        let limit = Limit::chosen(self.max_output, environment, results(environment))?;
        let format = match self.out {
            _ if self.json => output::Format::Json,
            Some(place) => output::Format::Text(Place::chosen(place)),
            None => output::Format::Text(Place::Private(results(environment))),
        };
        if let output::Format::Text(place) = &format {
            place.check(ui.out_is_terminal())?;
        }
        let interrupt = interrupt::catch()?;
        let patience = self.timeout.map_or(ANSWER, |limit| limit.min(ANSWER));
        let mut client =
            on_demand::connect(self.which, environment, None, patience, &interrupt, ui)?;
        let attendant = Attendant {
            interrupt: Some(&interrupt),
            on_progress: &mut |progress| ui.progress(&output::progress(&progress)),
            on_question: &mut |asked: &Question<'_>| {
                question::answer(asked, &Answers::default(), &interrupt, ui)
            },
        };
        let reply = ask(&mut client, self.timeout.map(milliseconds), attendant)?;
        for warning in output::warnings(&reply) {
            ui.warning(&warning);
        }
        output::print_as(&reply, read, &format, &limit, ui)
    }
}
