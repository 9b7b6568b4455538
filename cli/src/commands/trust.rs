//! `shelf trust`: what may be used that was merely found. It tells what is meant; how it is trusted is for the modules below.

mod listing;
mod project;

use std::path::PathBuf;

use clap::Args;
use daemon::instance;

use crate::environment::{Environment, absolute};
use crate::error::{CommandResult, usage};
use crate::ui::Ui;

/// Trust a project's own servers and skills, after a look at what they would start
///
/// A project is a directory with .mcp.json, .agents/skills or .claude/skills. Where you work in one (the nearest such directory, up to the root of its repository), its servers and skills come beside those of your own configuration, but only once it is trusted: until then nothing of it is read, run or mounted. --config and --skills are trusted as they are given.
///
/// Lists every server with its command line and every skill, starts nothing, and asks. Trusted is what was shown: the bytes of .mcp.json, which count no longer when the file is changed, and the directories with skills, in which skills may change. Variables (${TOKEN}) are filled in when a server is started. Command lines are shown whole; values of variables, headers and URLs that may be secrets as ***.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf trust .\n  shelf trust ~/src/app --yes\n  shelf trust . --json | jq -r '.servers[].command'\n  shelf trust --list\n  shelf trust --remove ~/src/app"
)]
pub(crate) struct Arguments {
    /// The project's directory
    #[arg(value_name = "DIR", required_unless_present = "list")]
    what: Option<PathBuf>,

    #[command(flatten)]
    project: project::Options,

    /// Print what would be started as JSON, and do not ask
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let (options, json) = (&arguments.project, arguments.json);
    let Some(what) = &arguments.what else {
        return project::list(json, environment, ui);
    };
    let directory = absolute(what)?;
    if options.remove {
        return project::remove(&directory, environment, ui);
    }
    let is_on_a_shelf = instance::containing(&environment.runtime(), &directory)?.is_some();
    if is_on_a_shelf || !directory.is_dir() {
        let message = format!("`{}` is no directory of a project", what.display());
        return Err(usage(message)
            .hint("name the directory that has .mcp.json, .agents/skills or .claude/skills")
            .into());
    }
    project::trust(&directory, options, json, environment, ui)
}
