//! `shelf mirror`.

use std::path::PathBuf;

use clap::Args;
use daemon::run::{Event, Output};

use super::sources::{Sources, announce};
use crate::environment::{Environment, absolute};
use crate::error::{CommandResult, usage};
use crate::ui::Ui;
use crate::{descriptors, diagnostics};

/// Write the shelf as plain files, for where FUSE cannot be had
///
/// Writes the tree of `shelf mount` into DIR, touches nothing there that it did not write, and ends. Reads of plain files can't be logged.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf mirror ./tools --once --config .mcp.json\n  cat ./tools/INDEX.md"
)]
pub(crate) struct Arguments {
    /// Where to write
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    sources: Sources,

    /// Write once and end
    #[arg(long)]
    once: bool,

    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    if !arguments.once {
        return Err(usage("keeping a mirror current is not supported yet")
            .hint(format!(
                "write it once, and again when you want it new: shelf mirror {} --once",
                arguments.directory.display()
            ))
            .into());
    }
    let output = Output::MirrorOnce {
        target: absolute(&arguments.directory)?,
    };
    let options = arguments.sources.options(environment, output)?;
    descriptors::withhold(&[]);
    diagnostics::print();
    let mut announced = Ok(());
    daemon::run::run(options, &mut |event| match event {
        Event::Progress { message } => ui.progress(&message),
        ready @ Event::Ready { .. } => announced = announce(&ready, arguments.json, ui),
    })?;
    announced
}
