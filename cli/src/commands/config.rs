//! `shelf config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use daemon::config::{Config, DEFAULT};
use serde_json::json;
use skills::problem::{Problem, ProblemKind};

use crate::environment::{Environment, absolute};
use crate::error::{CommandError, CommandResult};
use crate::ui::Ui;

/// Explain and check configurations
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf config check\n  shelf config default > ~/.config/toolshelf/shelf.toml"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
    Default(Default),
}

/// Say what is wrong with a configuration, all at once, with file and line
///
/// Nothing of it is started. Whatever is wrong is exit code 2. A variable that is not set here, and a directory of skills that is not there, is a warning: it may be there for the shelf.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf config check\n  shelf config check .mcp.json --json | jq -r '.problems[].message'"
)]
struct Check {
    /// The configuration, by default your own
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print what is wrong as JSON
    #[arg(long)]
    json: bool,
}

/// Print a configuration that explains every setting and changes none
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf config default > ~/.config/toolshelf/shelf.toml\n  shelf config default | grep -B2 timeout"
)]
struct Default {}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    match &arguments.command {
        Command::Check(arguments) => check(arguments, environment, ui),
        Command::Default(Default {}) => Ok(ui.data(DEFAULT.as_bytes())?),
    }
}

fn check(arguments: &Check, environment: &Environment, ui: &Ui) -> CommandResult {
    let given = match &arguments.file {
        Some(file) => Some(absolute(file)?),
        None => environment.default_config(),
    };
    let Some(path) = given else {
        let problem = Problem::new(
            ProblemKind::NotFound,
            "you have no configuration of your own",
        );
        return Err(problem
            .hint("shelf config check FILE checks another; shelf config default prints one to start from")
            .into());
    };
    let (config, problems, warnings) = match Config::load(&path) {
        Ok(mut config) => {
            config.expand_home(environment.variables());
            let warnings = config.warnings(environment.variables());
            let problems = std::mem::take(&mut config.problems);
            (config, problems, warnings)
        }
        Err(problem) => (Config::default(), vec![problem], Vec::new()),
    };
    let counts = format!(
        "{}, {}",
        count(config.servers.len(), "server", "servers"),
        count(config.skills.len(), "skill directory", "skill directories"),
    );
    if arguments.json {
        ui.json(&json!({
            "file": path.to_string_lossy(),
            "servers": config.servers.len(),
            "skills": config.skills.len(),
            "problems": problems,
            "warnings": warnings,
        }))?;
    } else {
        for problem in &problems {
            ui.error(&CommandError::Problem(problem.clone()));
        }
        for warning in &warnings {
            ui.warning(&warning.to_string());
            if let Some(hint) = &warning.hint {
                ui.hint(hint);
            }
        }
    }
    if !problems.is_empty() {
        return Err(CommandError::Shown(ProblemKind::Configuration));
    }
    if !arguments.json {
        let verdict = match warnings.len() {
            0 => "nothing wrong".to_owned(),
            warnings => count(warnings, "warning", "warnings"),
        };
        ui.text(&format!("{}: {counts}, {verdict}\n", path.display()))?;
    }
    Ok(())
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
