//! The command line: one file a command, each with its arguments, whose comments are the help, and one function.

mod approvals;
mod approve;
mod asking;
mod brief;
mod call;
mod changes;
mod complete;
mod completions;
mod config;
mod deny;
mod eval;
mod lint;
mod list;
mod loaded;
mod log;
mod mirror;
mod mount;
mod prompt;
mod read;
mod search;
mod serve;
mod servers;
mod show;
mod sources;
mod status;
mod trust;
mod unmount;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::environment::Environment;
use crate::error::{CommandError, CommandResult};
use crate::ui::Ui;

/// Every MCP tool and every skill on one shelf
///
/// Toolshelf shows MCP tools and skills as a read-only directory of small text files: look with ls, grep and cat, then call what you found.
#[derive(Debug, Parser)]
#[command(
    name = "shelf",
    version,
    max_term_width = 100,
    after_help = "Example:\n  \
        shelf mount ~/tools --config .mcp.json --skills ~/.agents/skills\n  \
        shelf search take a screenshot\n  \
        grep -ri screenshot ~/tools/mcp\n  \
        shelf call everything/echo --message hello\n  \
        shelf unmount ~/tools"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Mount(mount::Arguments),
    Unmount(unmount::Arguments),
    Mirror(mirror::Arguments),
    Status(status::Arguments),
    Servers(servers::Arguments),
    Search(search::Arguments),
    List(list::Arguments),
    Show(show::Arguments),
    Call(call::Arguments),
    Read(read::Arguments),
    Prompt(prompt::Arguments),
    Approvals(approvals::Arguments),
    Approve(approve::Arguments),
    Deny(deny::Arguments),
    Trust(trust::Arguments),
    Brief(brief::Arguments),
    Serve(serve::Arguments),
    Changes(changes::Arguments),
    Loaded(loaded::Arguments),
    Log(log::Arguments),
    Eval(eval::Arguments),
    Lint(lint::Arguments),
    Config(config::Arguments),
    Completions(completions::Arguments),
    #[command(name = "__complete", hide = true)]
    Complete(complete::Arguments),
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let environment = Environment::read();
    let ui = Ui::new(environment.no_color());
    let result = match Arguments::try_parse() {
        Ok(arguments) => run(arguments.command, &environment, &ui),
        Err(error) => {
            return match ui.clap(&error) {
                Ok(()) => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
                Err(error) => ExitCode::from(CommandError::from(error).exit_code()),
            };
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ui.error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(command: Command, environment: &Environment, ui: &Ui) -> CommandResult {
    match command {
        Command::Mount(arguments) => mount::run(&arguments, environment, ui),
        Command::Unmount(arguments) => unmount::run(&arguments, environment, ui),
        Command::Mirror(arguments) => mirror::run(&arguments, environment, ui),
        Command::Status(arguments) => status::run(&arguments, environment, ui),
        Command::Servers(arguments) => servers::run(&arguments, environment, ui),
        Command::Search(arguments) => search::run(&arguments, environment, ui),
        Command::List(arguments) => list::run(&arguments, environment, ui),
        Command::Show(arguments) => show::run(&arguments, environment, ui),
        Command::Call(arguments) => call::run(&arguments, environment, ui),
        Command::Read(arguments) => read::run(&arguments, environment, ui),
        Command::Prompt(arguments) => prompt::run(&arguments, environment, ui),
        Command::Approvals(arguments) => approvals::run(&arguments, environment, ui),
        Command::Approve(arguments) => approve::run(&arguments, environment, ui),
        Command::Deny(arguments) => deny::run(&arguments, environment, ui),
        Command::Trust(arguments) => trust::run(&arguments, environment, ui),
        Command::Brief(arguments) => brief::run(&arguments, environment, ui),
        Command::Serve(arguments) => serve::run(&arguments, environment),
        Command::Changes(arguments) => changes::run(&arguments, environment, ui),
        Command::Loaded(arguments) => loaded::run(&arguments, environment, ui),
        Command::Log(arguments) => log::run(&arguments, environment, ui),
        Command::Eval(arguments) => eval::run(&arguments, environment, ui),
        Command::Lint(arguments) => lint::run(&arguments, environment, ui),
        Command::Config(arguments) => config::run(&arguments, environment, ui),
        Command::Completions(arguments) => completions::run(&arguments, ui),
        Command::Complete(arguments) => complete::run(&arguments, environment, ui),
    }
}
