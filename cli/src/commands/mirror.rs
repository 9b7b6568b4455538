//! `shelf mirror`.

use std::path::PathBuf;

use clap::Args;
use daemon::run::Output;

use super::sources::{Place, Sources, start};
use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::ui::Ui;

/// Write the shelf as plain files and keep them current, for where FUSE cannot be had
///
/// Writes the tree of `shelf mount` into DIR and touches nothing there that it did not write. The daemon goes on in the background until
/// `shelf unmount DIR`; the files stay. Reads of plain files can't be logged.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf mirror ./tools --config .mcp.json\n  cat ./tools/INDEX.md\n  shelf unmount ./tools"
)]
pub(crate) struct Arguments {
    /// Where to write
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    sources: Sources,

    /// Write once and end
    #[arg(long, conflicts_with = "foreground")]
    once: bool,

    /// Stay in the foreground, as systemd and containers want it
    #[arg(long)]
    foreground: bool,

    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let target = absolute(&arguments.directory)?;
    let output = if arguments.once {
        Output::MirrorOnce { target }
    } else {
        Output::Mirror { target }
    };
    let options = arguments.sources.options(environment, output)?;
    let place = if arguments.once || arguments.foreground {
        Place::Here
    } else {
        Place::Background
    };
    start(options, place, arguments.json, ui)
}
