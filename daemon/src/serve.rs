//! An MCP server on a pair of pipes with two tools, `search_tools` and `call_tool`, behind which the whole shelf stands.
//!
//! The list of tools never changes, so neither does what a client sends ahead of every conversation. The protocol is
//! spoken by hand, a message a line, because what a tool answers has to pass through as the bytes that its server sent. This
//! module knows neither sockets nor how a daemon is found: that is a [`Shelf`]'s.

mod beside;
mod calling;
mod dispatch;
mod eras;
mod instructions;
mod lines;
mod message;
mod results;
mod running;
mod searching;
mod tools;
mod writer;

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use skills::problem::Problem;

use crate::client::Client;
use crate::protocol::{
    Answer, Call, CallReply, Describe, Description, ListFilter, Listing, Load, Loaded, Progress,
    Search, ServerPhase, ServerStatus, Status,
};
use dispatch::Server;
use lines::{Line, Lines};

/// How long servers that were never listed may take before the client is told that their tools are not known yet: well below what
/// clients allow for their first request.
const FIRST_LISTING: Duration = Duration::from_secs(3);

/// How long to wait between two looks at them.
const INTERVAL: Duration = Duration::from_millis(50);

/// Where connections to a daemon come from. One that has ended is found or started again with the next connection.
pub trait Shelf: Send + Sync {
    /// Connects to the daemon. `interrupt` becomes readable when nobody waits for it any more.
    ///
    /// # Errors
    /// Why there is no daemon.
    fn connect(&self, interrupt: &OwnedFd) -> Result<Box<dyn Connection>, Problem>;
}

/// What is asked of a daemon, one request after the other: as [`Client`] does it.
#[allow(clippy::missing_errors_doc, reason = "they are those of the client")]
pub trait Connection {
    /// Asks for the state of the daemon.
    fn status(&mut self) -> Result<Status, Problem>;
    /// Asks for the entries that pass the filter.
    fn list(&mut self, filter: &ListFilter) -> Result<Listing, Problem>;
    /// Asks for what answers some words.
    fn search(&mut self, search: &Search) -> Result<Answer, Problem>;
    /// Asks for an entry in full, and waits for its server if that has not said its tools yet.
    fn describe(&mut self, entry: &Describe) -> Result<Description, Problem>;
    /// Asks for entries that are handed out.
    fn load(&mut self, load: &Load) -> Result<Loaded, Problem>;
    /// Calls a tool.
    fn call(
        &mut self,
        call: &Call,
        interrupt: &OwnedFd,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<CallReply, Problem>;
}

impl Connection for Client {
    fn status(&mut self) -> Result<Status, Problem> {
        Self::status(self)
    }

    fn list(&mut self, filter: &ListFilter) -> Result<Listing, Problem> {
        Self::list(self, filter)
    }

    fn search(&mut self, search: &Search) -> Result<Answer, Problem> {
        Self::search(self, search)
    }

    fn describe(&mut self, entry: &Describe) -> Result<Description, Problem> {
        self.describe_when_known(entry, None)
    }

    fn load(&mut self, load: &Load) -> Result<Loaded, Problem> {
        Self::load(self, load)
    }

    fn call(
        &mut self,
        call: &Call,
        interrupt: &OwnedFd,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<CallReply, Problem> {
        Self::call(self, call, Some(interrupt), on_progress)
    }
}

/// Serves a client until its input ends; what still runs then is cancelled. `version` is that of this program.
///
/// # Errors
/// Why there is no daemon at the start: whoever configured the server has to see that. Later it is the answer to a request.
pub fn serve(
    input: impl BufRead,
    output: impl Write + Send + 'static,
    shelf: Arc<dyn Shelf>,
    version: &str,
) -> Result<(), ServeError> {
    let instructions = instructions::of(&at_start(&*shelf)?);
    let server = Server::new(Box::new(output), shelf, version, instructions);
    let mut lines = Lines::new(input);
    let ended = loop {
        match lines.next() {
            Ok(Some(Line::Whole(line))) => server.receive(line),
            Ok(Some(Line::TooLong)) => server.refuse_line(),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.into()),
        }
        if server.is_deaf() {
            break Ok(());
        }
    };
    server.end();
    ended
}

/// The state from which the client is told what there is. Where servers are just being asked for the first time they are given a
/// moment, because that is told once.
fn at_start(shelf: &dyn Shelf) -> Result<Status, Problem> {
    let (never, _held) = io::pipe().map_err(running::no_pipe)?;
    let never = never.into();
    let deadline = Instant::now() + FIRST_LISTING;
    loop {
        // Each time anew, so that a daemon which ends meanwhile is no failure.
        let status = shelf.connect(&never)?.status()?;
        let is_awaited = |server: &ServerStatus| {
            server.tools.is_none()
                && matches!(server.state, ServerPhase::Cold | ServerPhase::Starting)
        };
        if !status.servers.iter().any(is_awaited) || Instant::now() >= deadline {
            return Ok(status);
        }
        thread::sleep(INTERVAL);
    }
}

/// Why serving ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There was no daemon.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// The input could not be read.
    #[error("the client's messages can't be read: {0}")]
    Input(#[from] io::Error),
}
