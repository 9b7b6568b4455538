//! `shelf deny`.

use clap::Args;
use daemon::protocol::Deny;

use super::approvals::subject;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;

/// Deny a call that waits for an approval, or take an approval back
///
/// The same call is refused at once for the next ten minutes, then it may be asked for again. What was approved with --always is asked about again from now on. To refuse a tool for good, write it into `deny` of the configuration's [policy].
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shelf deny k3v9qa2c")]
pub(crate) struct Arguments {
    /// The id that the waiting call was told, or shelf approvals
    #[arg(value_name = "ID")]
    id: String,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let mut client = arguments.which.connect(environment, None)?;
    let decided = client.deny(&Deny {
        id: arguments.id.clone(),
    })?;
    let what = subject(decided.offered, &decided.tool, &decided.server);
    Ok(ui.text(&format!("denied {what}\n"))?)
}
