//! `shelf mount`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use daemon::mount_table;
use daemon::run::Output;
use skills::problem::{Problem, ProblemKind};

use super::sources::{Place, Sources, start};
use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::ui::Ui;

/// Mount a shelf and return when it can be read
///
/// The daemon goes on in the background until `shelf unmount`. Servers are started only to be called, and to be listed: for the first time, when their entry changed, and when what is known of them is a day old.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf mount /mnt/tools --config .mcp.json --skills ~/.agents/skills\n  cat /mnt/tools/INDEX.md"
)]
pub(crate) struct Arguments {
    /// Where to mount; made when it is missing [default: ~/tools]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    sources: Sources,

    /// Stay in the foreground, as systemd and containers want it
    #[arg(long)]
    foreground: bool,

    /// Let other users read the mount; permissions are then checked by owner and mode
    ///
    /// Every one of them sees the names and summaries of all entries, also of skills whose files they may not read.
    #[arg(long)]
    allow_other: bool,

    /// Mount even over a directory that is not empty, and hide what it holds
    #[arg(long)]
    nonempty: bool,

    /// Print what was mounted as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let mount_point = match &arguments.directory {
        Some(directory) => absolute(directory)?,
        None => environment.default_mount_point()?,
    };
    make_directory(&mount_point)?;
    let output = Output::Mount {
        mount_point,
        allow_other: arguments.allow_other,
        nonempty: arguments.nonempty,
    };
    arguments.sources.tell_project(environment, ui);
    let options = arguments.sources.options(environment, output)?;
    let place = if arguments.foreground {
        Place::Here
    } else {
        Place::Background
    };
    start(options, place, arguments.json, ui)
}

/// Makes a directory that is missing. Anything else about it is for the mount to judge: only it can tell a stale mount.
fn make_directory(path: &Path) -> Result<(), Problem> {
    if mount_table::containing(path).is_some() {
        // To look would mean to wait for a daemon that may hang.
        return Ok(());
    }
    match path.symlink_metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => std::fs::create_dir_all(path).map_err(|e| {
            Problem::new(
                ProblemKind::Mount,
                format!("the mount point can't be made: {e}"),
            )
            .at_file(path, None)
        }),
        _ => Ok(()),
    }
}
