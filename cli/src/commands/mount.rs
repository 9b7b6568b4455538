//! `shelf mount`.

use std::fs;
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
    let made = Made::directory(&mount_point)?;
    let result = mount(arguments, mount_point, environment, ui);
    if result.is_err() {
        made.remove();
    }
    result
}

fn mount(
    arguments: &Arguments,
    mount_point: PathBuf,
    environment: &Environment,
    ui: &Ui,
) -> CommandResult {
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

/// The directories that were made for a mount point, each after those in it.
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Made {
    /// Makes a directory that is missing, with those above it. Anything else about it is for the mount to judge: only it can tell a
    /// stale mount.
    fn directory(path: &Path) -> Result<Self, Problem> {
        let mut made = Self::default();
        if mount_table::containing(path).is_some() {
            // To look would mean to wait for a daemon that may hang.
            return Ok(made);
        }
        let is_missing = |path: &&Path| {
            let found = path.symlink_metadata();
            found.is_err_and(|e| e.kind() == ErrorKind::NotFound)
        };
        let missing: Vec<_> = path.ancestors().take_while(is_missing).collect();
        for directory in missing.into_iter().rev() {
            match fs::create_dir(directory) {
                Ok(()) => made.0.insert(0, directory.to_owned()),
                // Somebody else's, by now.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => {
                    made.remove();
                    let message = format!("the mount point can't be made: {e}");
                    return Err(Problem::new(ProblemKind::Mount, message).at_file(path, None));
                }
            }
        }
        Ok(made)
    }

    /// Removes them again, as far as they are empty.
    fn remove(self) {
        for directory in self.0 {
            let _ = fs::remove_dir(directory);
        }
    }
}
