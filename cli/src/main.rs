//! The `shelf` command.

mod commands;
mod daemon_process;
mod descriptors;
mod diagnostics;
mod difference;
mod duration;
mod environment;
mod error;
mod format;
mod interrupt;
mod known;
mod launch;
mod loaded;
mod masking;
mod on_demand;
mod project;
mod selection;
mod terminal;
mod ui;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The two processes that the command starts itself as. They come first: a new session has to be made before any
    // thread exists, and a guard has to stay small.
    match std::env::args_os().nth(1) {
        Some(first) if first == daemon::guard::COMMAND => daemon::guard::main(),
        Some(first) if first == launch::DAEMON => daemon_process::main(),
        _ => commands::main(),
    }
}
