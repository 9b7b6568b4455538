//! `shelf mirror`.

use std::path::PathBuf;

use clap::Args;
use daemon::run::{Event, Output};

use super::sources::{Sources, summary};
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
    let mut written = None;
    let whole = daemon::run::run(options, &mut |event| match event {
        Event::Progress { message } => ui.progress(&message),
        ready @ Event::Ready { .. } => written = Some(ready),
    });
    if let Some(written) = &written {
        report(written, whole.is_ok(), arguments.json, ui)?;
    }
    Ok(whole?)
}

/// Says what was written. No daemon remains that could be asked, so it is all said here.
fn report(written: &Event, whole: bool, json: bool, ui: &Ui) -> CommandResult {
    let Event::Ready {
        mount_point,
        entries,
        problems,
        elapsed_ms,
        pending,
    } = written
    else {
        return Ok(());
    };
    if json {
        return ui.json(written);
    }
    if whole {
        ui.text(&summary(mount_point.as_deref(), *entries, *elapsed_ms))?;
    }
    if !pending.is_empty() {
        ui.warning(&format!(
            "left out, since they did not answer in time: {}",
            pending.join(", ")
        ));
        ui.hint("mirror again, and give them longer with --wait");
    }
    for problem in problems {
        ui.warning(&problem.to_string());
        if let Some(hint) = &problem.hint {
            ui.hint(hint);
        }
    }
    Ok(())
}
