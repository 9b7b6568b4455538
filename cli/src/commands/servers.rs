//! `shelf servers`: one file for what each subcommand does.

mod add;
mod control;
mod import;
mod list;
mod log;
mod remove;
mod target;

use clap::{Args, Subcommand};
use daemon::protocol::Order;

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::ui::Ui;

/// Show how the servers do, stop or restart one, read what it wrote, or change which there are
///
/// A server is started by the first call of one of its tools and stopped when it has been idle. Without a subcommand the servers are listed.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  shelf servers\n  shelf servers restart github\n  shelf servers log github -f\n  shelf servers import\n  shelf servers add everything -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    list: list::Options,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Options),
    /// Stop a server and start it again, whatever failed before; calls under way fail
    #[command(after_help = "Example:\n  shelf servers restart github")]
    Restart(control::Arguments),
    /// Stop a server; calls under way fail, and the next one starts it
    #[command(after_help = "Example:\n  shelf servers stop github")]
    Stop(control::Arguments),
    Log(log::Arguments),
    Import(import::Arguments),
    Add(add::Arguments),
    Remove(remove::Arguments),
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    match &arguments.action {
        None => list::run(&arguments.list, environment, ui),
        Some(Action::List(options)) => list::run(options, environment, ui),
        Some(Action::Restart(arguments)) => {
            control::run(arguments, Order::Restart, environment, ui)
        }
        Some(Action::Stop(arguments)) => control::run(arguments, Order::Stop, environment, ui),
        Some(Action::Log(arguments)) => log::run(arguments, environment, ui),
        Some(Action::Import(arguments)) => import::run(arguments, environment, ui),
        Some(Action::Add(arguments)) => add::run(arguments, environment, ui),
        Some(Action::Remove(arguments)) => remove::run(arguments, environment, ui),
    }
}
