//! `shelf approve`.

use clap::Args;
use daemon::protocol::Approve;

use super::approvals::subject;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;

/// Approve a call that waits; whoever wants it runs its command again
///
/// An approval is for exactly that call (the tool's definition, the arguments) of that user, once, for ten minutes. With --always it is for every call of the tool by that user, whatever the arguments, until the tool's definition changes; shelf deny takes it back. It counts only from the users that the policy names, by default the one that the daemon runs as.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf approvals\n  shelf approve k3v9qa2c\n  shelf approve --always k3v9qa2c"
)]
pub(crate) struct Arguments {
    /// The id that the waiting call was told, or shelf approvals
    #[arg(value_name = "ID")]
    id: String,

    /// Approve every call of this tool, as long as its definition stays
    #[arg(long)]
    always: bool,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let mut client = arguments.which.connect(environment, None)?;
    let decided = client.approve(&Approve {
        id: arguments.id.clone(),
        always: arguments.always,
    })?;
    let extent = match decided.until {
        Some(until) => format!("once, until {}", until.strftime("%H:%M:%S UTC")),
        None if decided.offered.is_some() => {
            format!("for good; take it back with shelf deny {}", arguments.id)
        }
        None => format!(
            "for good, until its definition changes; take it back with shelf deny {}",
            arguments.id
        ),
    };
    let what = subject(decided.offered, &decided.tool, &decided.server);
    Ok(ui.text(&format!("approved {what}, {extent}\n"))?)
}
