//! `shelf serve`.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use daemon::client::ANSWER;
use daemon::serve::{Connection, ServeError, Shelf, serve};
use rustix::process::{WaitOptions, wait};
use skills::problem::Problem;

use crate::environment::Environment;
use crate::error::{CommandError, CommandResult};
use crate::on_demand;
use crate::selection::Which;
use crate::ui::Ui;

/// Serve the whole shelf to an MCP client, as two tools on standard input and output
///
/// search_tools finds tools and skills, call_tool calls one or reads a skill: the client's list of tools stays short and never changes. Standard
/// output is the protocol alone, which is spoken in all its revisions up to 2026-07-28.
///
/// It uses the shelf that runs. Where none does, one is started for the configuration in use, else for the skills that clients share; it
/// is mounted nowhere and ends when it has been idle, and the next request starts it again. Serving ends with standard input,
/// within a second, and cancels the calls that still run.
///
/// In the log each process is a session of its own, unless SHELF_SESSION names one.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  # in the client's configuration\n  \
        {\"mcpServers\": {\"shelf\": {\"command\": \"shelf\", \"args\": [\"serve\", \"--config\", \"/path/to/mcp.json\"]}}}")]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> CommandResult {
    let shelf = OnDemand {
        which: arguments.which.clone(),
        environment: environment.clone().in_session(&session()),
        connecting: Mutex::new(()),
    };
    let input = io::stdin().lock();
    serve(
        input,
        io::stdout(),
        Arc::new(shelf),
        env!("CARGO_PKG_VERSION"),
    )
    .map_err(|error| match error {
        ServeError::Problem(problem) => CommandError::Problem(problem),
        ServeError::Input(_) => CommandError::Other(error.into()),
    })
}

/// A name that no other process has: a client runs one for each of its conversations, from one and the same terminal.
fn session() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let started = now.map_or(0, |since| since.as_secs());
    format!("serve-{}@{started}", std::process::id())
}

/// The daemon that is meant, started where none runs.
struct OnDemand {
    which: Which,
    environment: Environment,
    /// Held while one is looked for, and so while one is started.
    connecting: Mutex<()>,
}

impl Shelf for OnDemand {
    fn connect(&self, interrupt: &OwnedFd) -> Result<Box<dyn Connection>, Problem> {
        let _connecting = self
            .connecting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A daemon that this process started and that has ended since was its child, and no other is there now.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let (which, environment) = (&self.which, &self.environment);
        let ui = Ui::new(true);
        let client = on_demand::connect_to_any(which, environment, ANSWER, interrupt, &ui)?;
        Ok(Box::new(client))
    }
}
