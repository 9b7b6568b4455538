//! `shelf servers remove`.

use clap::Args;
use daemon::config::edit;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};

use super::target::Target;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::ui::Ui;

/// Remove a server from your shelf.toml
///
/// The comment right above it goes with it, everything else stays as it is. A running shelf ends the server and leaves its tools out.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf servers remove everything\n  shelf servers remove github --config team/shelf.toml"
)]
pub(super) struct Arguments {
    /// What the server is called
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    target: Target,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let name = ServerName::new(&arguments.name);
    let path = arguments.target.path(environment)?;
    if !path.exists() {
        let message = format!("there is no server `{name}`: the file is not there");
        return Err(Problem::new(ProblemKind::NotFound, message)
            .at_file(path, None)
            .into());
    }
    let target = &arguments.target;
    target.edit(&path, false, environment, ui, |source| {
        edit::remove(&path, source, &name)
    })?;
    ui.note(&format!("removed `{name}` from {}", path.display()));
    Ok(())
}
