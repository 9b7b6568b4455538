//! `shelf lint`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use daemon::mount_table;
use daemon::offline::OfflineShelf;
use skills::discovery::Limits;
use skills::lint::{Finding, Lint, Severity, lint, root};
use skills::problem::{Location, Problem, ProblemKind};
use skills::summary::spelt_out;

use crate::environment::Environment;
use crate::error::{CommandError, CommandResult};
use crate::selection::{InUse, Which};
use crate::ui::Ui;

/// Check skills by the Agent Skills specification
///
/// Loading forgives much; this says what. An error is what loading skips or can't take as it is written, and what the specification forbids. A
/// warning is what it advises against, or what is likely a mistake: fields that it does not know, a SKILL.md over 500 lines or 100 KiB, links to
/// files that are not there or lie outside of the skill, characters that can't be seen.
///
/// Each finding is a line `path:line: severity: what (what to do)`, in order. Exit code 1 when there are errors. It only reads: nothing is started,
/// written or logged.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf lint skills\n  shelf lint --strict skills/pdf/SKILL.md\n  shelf lint --json | jq -r '.findings[] | select(.severity == \"error\").location.file.path'"
)]
pub(crate) struct Arguments {
    /// Directories of skills, skills, or their SKILL.md files; without one the skills of the configuration in use
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Check the skills of this configuration
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    config: Option<PathBuf>,

    /// Fail when there are warnings, too
    #[arg(long)]
    strict: bool,

    /// Print all findings as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let found = if arguments.paths.is_empty() {
        configured(arguments, environment, ui)?
    } else {
        named(&arguments.paths)?
    };
    if arguments.json {
        ui.json(&found)?;
    } else {
        ui.text(&found.findings.iter().map(line).collect::<String>())?;
        ui.note(&sum(&found));
    }
    let errors = found.count(Severity::Error);
    if errors == 0 && found.skills == 0 {
        let problem = Problem::new(ProblemKind::NotFound, "there is no skill to check");
        return Err(problem
            .hint("name a directory of skills: shelf lint DIR")
            .into());
    }
    if errors > 0 || (arguments.strict && !found.findings.is_empty()) {
        return Err(CommandError::Findings);
    }
    Ok(())
}

/// The skills that the user named.
fn named(paths: &[PathBuf]) -> Result<Lint, Problem> {
    let roots = paths.iter().map(|path| root(path));
    let roots = roots.collect::<Result<Vec<_>, _>>()?;
    let mounts = mount_table::shelf_mounts().into_iter();
    let mounts: Vec<PathBuf> = mounts.map(|mount| mount.mount_point).collect();
    Ok(lint(&roots, Limits::default(), &mounts))
}

/// The skills of the configuration in use.
fn configured(arguments: &Arguments, environment: &Environment, ui: &Ui) -> Result<Lint, Problem> {
    let which = match &arguments.config {
        Some(config) => Which::serving(config),
        None => Which::default(),
    };
    which.tell_project(environment, ui);
    let InUse {
        config,
        skills,
        project,
    } = which.configuration(environment)?;
    let surroundings = environment.surroundings()?;
    let (config, project) = (config.as_deref(), project.as_deref());
    Ok(OfflineShelf::read(&surroundings, config, &skills, project)?.lint())
}

/// One finding, on one line whatever a stranger has named a file.
fn line(finding: &Finding) -> String {
    let problem = &finding.problem;
    let place = problem.location.as_ref().map(place);
    let mut line = format!(
        "{}{}: {}",
        place.unwrap_or_default(),
        finding.severity.as_str(),
        problem.message
    );
    if let Some(hint) = &problem.hint {
        // Writing to a string can't fail.
        let _ = write!(line, " ({hint})");
    }
    spelt_out(&line) + "\n"
}

/// Where it is, as editors and compilers write it.
fn place(location: &Location) -> String {
    let Location::File { path, line } = location else {
        return format!("{location}: ");
    };
    let path = path.strip_prefix(".").unwrap_or(path);
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    match line {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => format!("{}: ", path.display()),
    }
}

fn sum(found: &Lint) -> String {
    let counted = |count: usize, thing: &str| match count {
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    };
    format!(
        "{}: {}, {}",
        counted(found.skills, "skill"),
        counted(found.count(Severity::Error), "error"),
        counted(found.count(Severity::Warning), "warning")
    )
}
