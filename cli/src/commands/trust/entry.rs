//! Trusting entries of a shelf: tools, skills, and what servers say of themselves.

use std::os::fd::AsFd;
use std::path::PathBuf;

use daemon::client::{ANSWER, Client};
use daemon::protocol::{DifferenceState, Differences, Trust};
use skills::problem::{Problem, ProblemKind};

use super::Arguments;
use crate::difference::{describe, visible};
use crate::environment::Environment;
use crate::error::{CommandResult, usage};
use crate::selection::target;
use crate::terminal::{self, Answer};
use crate::ui::Ui;
use crate::{interrupt, on_demand};

pub(super) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let targets = arguments.targets.iter();
    let targets = targets.map(|argument| target(argument, environment));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let path = targets.iter().find_map(|target| target.path.clone());
    let mut client = connect(arguments, environment, path, ui)?;
    let differences = client.differences(&Differences {
        entries: targets.into_iter().map(|target| target.entry).collect(),
        if_there: false,
        held: arguments.all,
    })?;
    let (known, unknown): (Vec<_>, Vec<_>) = differences
        .iter()
        .partition(|difference| differs(difference.state));
    for difference in unknown {
        ui.note(&describe(difference));
    }
    if known.is_empty() {
        ui.note("there is nothing to trust");
        return Ok(());
    }
    for difference in &known {
        ui.note(&visible(&describe(difference)));
    }
    confirm(arguments, known.len(), ui)?;
    for difference in known {
        let trusted = client.trust(&Trust {
            entry: difference.id.to_string(),
            hash: difference.hash.clone(),
        })?;
        ui.text(&format!("trusted {}\n", trusted.id))?;
    }
    Ok(())
}

/// The daemon that is meant; where none runs, one is started for the configuration in use, as for a call: it is the daemon that
/// knows whose word counts.
fn connect(
    arguments: &Arguments,
    environment: &Environment,
    path: Option<PathBuf>,
    ui: &Ui,
) -> Result<Client, Problem> {
    let which = &arguments.which;
    if let Some(client) = which.connect_if_running(environment, path.as_deref(), ANSWER)? {
        return Ok(client);
    }
    let interrupt = catch()?;
    on_demand::connect_to_any(which, environment, ANSWER, &interrupt, ui)
}

const fn differs(state: DifferenceState) -> bool {
    match state {
        DifferenceState::Changed | DifferenceState::NotTrusted | DifferenceState::Gone => true,
        DifferenceState::Unchanged | DifferenceState::Unknown => false,
    }
}

/// Asks whoever sits at the terminal. All but a clear yes is a no.
fn confirm(arguments: &Arguments, count: usize, ui: &Ui) -> CommandResult {
    if arguments.yes {
        return Ok(());
    }
    if !terminal::is_attended() {
        let problem = usage("nobody can be asked whether to trust this");
        return Err(problem
            .hint("read it, and say so with --yes; nothing was trusted")
            .into());
    }
    let interrupt = catch()?;
    terminal::forget_typed_ahead();
    let what = if count == 1 {
        "this".to_owned()
    } else {
        format!("these {count}")
    };
    ui.prompt(&format!("Trust {what}? [y]es; [N]o: "));
    let answer = terminal::line(&interrupt, interrupt.as_fd());
    match answer {
        Answer::Line(line) if is_yes(&line) => Ok(()),
        Answer::Line(_) => Err(Problem::new(ProblemKind::Refused, "nothing was trusted").into()),
        Answer::End | Answer::Over => {
            ui.note("\n");
            Err(Problem::new(ProblemKind::Interrupted, "nothing was trusted").into())
        }
    }
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn catch() -> Result<std::os::fd::OwnedFd, Problem> {
    interrupt::catch().map_err(|error| {
        Problem::new(
            ProblemKind::Internal,
            format!("signals can't be waited for: {error}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert!(is_yes(" Yes ") && is_yes("y"));
        for no in ["", "n", "yy", "a", "yes please", "y\u{200b}"] {
            assert!(!is_yes(no), "{no}");
        }
    }
}
