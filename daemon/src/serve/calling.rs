//! What `call_tool` does: a call of a tool, or a look at a skill.
//!
//! It knows nothing of JSON-RPC, and does not change what a server answers.

use std::os::fd::OwnedFd;

use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};

use super::tools::{CallArguments, SEARCH};
use super::{Connection, beside, searching};
use crate::protocol::{Call, Load, Progress};

/// What a call gave.
#[derive(Debug)]
pub(super) enum Called {
    /// The result object as the tool's server sent it, and what is to be known beside it.
    Result(Box<RawValue>),
    /// The text of a skill.
    Skill(String),
}

/// Calls.
///
/// # Errors
/// Why nothing was called, or what went wrong with it.
pub(super) fn call(
    connection: &mut dyn Connection,
    asked: CallArguments,
    interrupt: &OwnedFd,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Called, Problem> {
    // No server has this name: one that is configured so is shown under another.
    if asked.id.starts_with("skills/") {
        return read(connection, &asked).map(Called::Skill);
    }
    let call = Call {
        entry: asked.id,
        arguments: asked.arguments,
        timeout_ms: None,
    };
    match connection.call(&call, interrupt, on_progress) {
        Ok(reply) => Ok(Called::Result(beside::told(reply))),
        Err(problem) => Err(match problem.kind {
            ProblemKind::Arguments => with_schema(connection, &call.entry, problem),
            ProblemKind::NotFound => with_search(problem),
            ProblemKind::Daemon => {
                problem.hint("whether the tool ran is not known; nothing was repeated")
            }
            _ => problem,
        }),
    }
}

/// The text of a skill.
fn read(connection: &mut dyn Connection, asked: &CallArguments) -> Result<String, Problem> {
    if !asked.arguments.is_empty() {
        return Err(Problem::new(
            ProblemKind::Arguments,
            format!("`{}` is a skill, and takes no arguments", asked.id),
        ));
    }
    let load = Load {
        entries: vec![asked.id.clone()],
    };
    let mut loaded = connection.load(&load).map_err(with_search)?.entries;
    match loaded.pop() {
        Some(skill) if skill.id.as_str() == asked.id => Ok(skill.text),
        // A path below a skill leads to it as well, but is not what was asked for.
        Some(skill) => Err(
            Problem::new(ProblemKind::NotFound, format!("no entry `{}`", asked.id)).hint(format!(
                "it lies in the skill `{}`, of which only SKILL.md can be had here",
                skill.id
            )),
        ),
        None => Err(Problem::new(
            ProblemKind::Internal,
            format!("the daemon answered nothing for `{}`", asked.id),
        )),
    }
}

/// Puts the tool's schema in place of what would help on a command line: the table of its flags, and a command that would work.
fn with_schema(connection: &mut dyn Connection, id: &str, problem: Problem) -> Problem {
    let load = Load {
        entries: vec![id.to_owned()],
    };
    let loaded = connection.load(&load).ok();
    let schema = loaded
        .as_ref()
        .and_then(|loaded| searching::schema(loaded.entries.first()?));
    let Some(schema) = schema else {
        return problem;
    };
    let faults = match problem.message.split_once("\narguments of ") {
        Some((faults, _)) => faults,
        None => &problem.message,
    };
    Problem {
        message: format!("{faults}\n\ninputSchema: {schema}"),
        hint: None,
        ..problem
    }
}

/// Says how ids are found here, where the hint speaks of a command.
fn with_search(problem: Problem) -> Problem {
    if problem.kind != ProblemKind::NotFound {
        return problem;
    }
    let hint = match &problem.hint {
        Some(hint) if !hint.contains("shelf ") => format!("{hint}; {SEARCH} finds others"),
        _ => format!("{SEARCH} finds ids"),
    };
    problem.hint(hint)
}
