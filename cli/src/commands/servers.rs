//! `shelf servers`.

mod add;
mod import;
mod remove;
mod target;

use clap::{Args, Subcommand};

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::ui::Ui;

/// Take over, add and remove the servers of your configuration
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf servers import\n  shelf servers add everything -- npx -y @modelcontextprotocol/server-everything\n  shelf servers remove everything"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Import(import::Arguments),
    Add(add::Arguments),
    Remove(remove::Arguments),
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    match &arguments.command {
        Command::Import(arguments) => import::run(arguments, environment, ui),
        Command::Add(arguments) => add::run(arguments, environment, ui),
        Command::Remove(arguments) => remove::run(arguments, environment, ui),
    }
}
