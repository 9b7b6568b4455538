//! `shelf trust`.

mod entry;

use std::ffi::OsString;

use clap::Args;

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;

/// Take over what changed: show it, ask, and serve it from then on
///
/// With `pin = "strict"` in the configuration a tool or a skill that changed is served as it was trusted last until this is said. Exactly what is shown is trusted: when it changes again meanwhile, nothing is, and the exit code is 5. What a server says of itself is SERVER/. Without `pin = "strict"` it only makes the present version the one that shelf changes --diff compares with. It counts only from the users that may approve calls, by default the one that the daemon runs as.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf trust github/create_issue\n  shelf trust github/ skills/pdf\n  shelf trust --all"
)]
pub(crate) struct Arguments {
    /// Ids, or paths of the entries in a mount
    #[arg(value_name = "ID|PATH", required_unless_present = "all")]
    targets: Vec<OsString>,

    /// Everything that changed and is not trusted
    #[arg(long, conflicts_with = "targets")]
    all: bool,

    /// Do not ask; needed where there is no terminal
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    // Whatever is named lies on a shelf; a directory that lies in none is refused by that.
    entry::run(arguments, environment, ui)
}
