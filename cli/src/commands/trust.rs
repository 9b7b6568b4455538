//! `shelf trust`: takes over what changed on a shelf, or what was merely found in a project. It tells which of the two is meant; how it is
//! trusted is for the modules below.

mod entry;
mod listing;
mod project;
mod values;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use daemon::instance;
use skills::problem::{Problem, ProblemKind};

use crate::environment::{Environment, absolute};
use crate::error::{CommandError, CommandResult, usage};
use crate::selection::Which;
use crate::ui::Ui;

/// Trust what changed on the shelf, or a project's own servers and skills: show it, ask, and use it from then on
///
/// An ID: with `pin = "strict"` in the configuration a tool or a skill that changed is served as it was trusted last until this is said. Exactly what is shown is trusted: when it changes again meanwhile, nothing is, and the exit code is 5. What a server says of itself is SERVER/. Without `pin = "strict"` it only makes the present version the one that shelf changes --diff compares with. It counts only from the users that may approve calls, by default the one that the daemon runs as.
///
/// A DIR, which begins with / or a dot, or has no /: a project, which is a directory with .mcp.json, .agents/skills or .claude/skills. Where you work in one (the nearest such directory, up to the root of its repository), its servers and skills come beside those of your own configuration, but only once it is trusted: until then nothing of it is read, run or mounted. --config and --skills are trusted as they are given.
///
/// Of a project every server is listed with its command line and every skill; nothing is started. Trusted is what was shown: the bytes of .mcp.json, which count no longer when the file is changed, and the directories with skills, in which skills may change. Variables (${TOKEN}) are filled in when a server is started. All of it is shown whole, but as *** what is written out under the name of a secret (API_KEY, Authorization) and a password in a URL.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf trust github/create_issue\n  shelf trust github/ skills/pdf\n  shelf trust --all\n  shelf trust .\n  shelf trust ~/src/app --yes\n  shelf trust . --json | jq -r '.servers[].command'\n  shelf trust --list\n  shelf trust --remove ~/src/app"
)]
pub(crate) struct Arguments {
    /// Ids, or paths of entries in a mount; or the directory of a project
    #[arg(value_name = "ID|PATH|DIR", required_unless_present_any = ["all", "list"])]
    targets: Vec<OsString>,

    /// Everything on the shelf that changed and is not trusted
    #[arg(long, conflicts_with_all = ["targets", "list", "remove", "json"])]
    all: bool,

    /// Do not ask; needed where there is no terminal
    #[arg(long, conflicts_with_all = ["list", "remove"])]
    yes: bool,

    /// List the projects that are trusted, and what in them has changed since
    #[arg(long, conflicts_with_all = ["targets", "remove"])]
    list: bool,

    /// Trust the project no longer: a running shelf drops its servers and skills
    #[arg(long, conflicts_with = "json")]
    remove: bool,

    /// Print what a project would start as JSON, and do not ask
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    if arguments.list {
        return project::list(arguments.json, environment, ui);
    }
    let project = project(&arguments.targets, arguments.remove, environment)?;
    match project {
        Some(directory) if arguments.remove => project::remove(&directory, environment, ui),
        Some(directory) => {
            project::trust(&directory, arguments.yes, arguments.json, environment, ui)
        }
        None if arguments.json || arguments.remove => {
            let option = if arguments.json { "--json" } else { "--remove" };
            Err(usage(format!("{option} is about projects"))
                .hint("name the directory of one, as ./DIR or from the root")
                .into())
        }
        None => entry::run(arguments, environment, ui)
            .map_err(|error| meant_directory(error, &arguments.targets)),
    }
}

/// The directory of a project, when one is named: an argument that can be a path, and does not lie on a shelf.
fn project(
    targets: &[OsString],
    is_removed: bool,
    environment: &Environment,
) -> Result<Option<PathBuf>, Problem> {
    for target in targets {
        if !is_removed && !leads_somewhere(target) {
            continue;
        }
        let directory = absolute(Path::new(target))?;
        if instance::containing(&environment.runtime(), &directory)?.is_some() {
            continue;
        }
        if targets.len() > 1 {
            return Err(
                usage("a project is trusted by itself").hint("name one directory at a time")
            );
        }
        // One that is gone can still be taken back.
        if !is_removed && !directory.is_dir() {
            let message = format!(
                "`{}` is neither on a shelf nor a directory",
                target.display()
            );
            return Err(usage(message)
                .hint("name the directory that has .mcp.json, .agents/skills or .claude/skills"));
        }
        return Ok(Some(directory));
    }
    Ok(None)
}

/// Whether an argument can be a directory: an id begins neither with `/` nor with a dot, and has a `/`.
fn leads_somewhere(target: &OsStr) -> bool {
    let bytes = target.as_bytes();
    matches!(bytes, [b'/' | b'.', ..]) || (!bytes.contains(&b'/') && Path::new(target).is_dir())
}

/// Says how a directory is named, where one was meant that reads like an id.
fn meant_directory(error: CommandError, targets: &[OsString]) -> CommandError {
    let directory = targets.iter().find(|target| Path::new(target).is_dir());
    match (error, directory) {
        (CommandError::Problem(problem), Some(directory))
            if problem.kind == ProblemKind::NotFound =>
        {
            let hint = format!(
                "for the project in that directory: shelf trust ./{}",
                directory.display()
            );
            problem.hint(hint).into()
        }
        (error, _) => error,
    }
}
