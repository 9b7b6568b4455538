//! `shelf mirror`.

use std::path::PathBuf;

use clap::Args;
use daemon::run::{Event, Options, Output};

use super::sources::{Place, Sources, run_here, start, summary};
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
    arguments.sources.tell_project(environment, ui);
    if arguments.once {
        let output = Output::MirrorOnce { target };
        let options = arguments.sources.options(environment, output)?;
        return write_once(options, arguments.json, ui);
    }
    let output = Output::Mirror { target };
    let options = arguments.sources.options(environment, output)?;
    let place = if arguments.foreground {
        Place::Here
    } else {
        Place::Background
    };
    start(options, place, arguments.json, ui)
}

fn write_once(options: Options, json: bool, ui: &Ui) -> CommandResult {
    let mut written = None;
    let whole = run_here(options, ui, |ready| written = Some(ready));
    if let Some(written) = &written {
        report(written, whole.is_ok(), json, ui)?;
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
