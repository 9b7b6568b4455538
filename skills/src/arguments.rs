//! The arguments of a call: from flags or JSON to an object that fits the tool's schema.
//!
//! Nothing is guessed. A flag is the exact name of a property; what its text means follows from the schema alone:
//!
//! * A text that the schema allows as a string is that string, whatever it looks like: no number, no `null`, no `true`.
//! * One exception: where an object (or an array) is allowed, a text that begins with `{` (or `[`) and is JSON is that object,
//!   also beside a string. Whether it fits is for the [`Validator`] to say. To send such a text as a string use JSON.
//! * Without a type in the schema everything is allowed, strings among it.
//! * A number must come out as it was written, else it is refused.
//! * An array is one JSON array, or a flag for each of its items.
//! * An object is JSON, or a flag for each of its members, named by dots.
//! * `@FILE` and `-` stand for the text of a file and of standard input, `@@` for a text that begins with `@`.
//!
//! A flag passes four steps: its words are found (`flags`), its name leads to a place in the arguments (`place`, `parameters`), its
//! words become texts (`texts`) and those a value (`value`).

mod flags;
pub mod form;
mod json;
pub mod nearest;
mod number;
mod parameters;
mod place;
mod schema;
pub mod suggestions;
mod texts;
mod validator;
mod value;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::flags::Flags;
use self::parameters::Parameters;
pub use self::texts::{Origin, Read, read_text};
pub use self::validator::{ResultValidator, Validator};
use crate::definition;
use crate::entry_id::EntryId;
use crate::problem::{Problem, ProblemKind};
use crate::tool::Tool;

/// Whether a call can send a value of JSON as it is written: no number of it has more digits than arrive.
pub(crate) fn is_sendable(json: &str) -> bool {
    json::is_exact(json)
}

/// Reads the flags after the id by the tool's schema: a string stays a string even when it looks like a number.
///
/// `--name value`, `--name=value`, for a boolean also `--name` and `--no-name`, for a member of an object `--name.member value`. `read` is
/// asked for what `@FILE` and `-` stand for.
///
/// # Errors
/// [`ProblemKind::Arguments`]: an unknown flag (with the nearest names), a
/// flag without its value, a value that its schema does not allow.
pub fn parse_flags(
    tool: &Tool,
    id: &EntryId,
    flags: &[String],
    read: &mut Read<'_>,
) -> Result<Map<String, Value>, Problem> {
    let root = schema::of(tool);
    let parameters = Parameters::of(&root);
    Flags::read(flags, &parameters)
        .and_then(|flags| flags.into_arguments(&root, read))
        .map_err(|refusal| {
            let message = format!("{}\n{}", refusal.message, parameters.table(id));
            let validator = Validator::new(tool).ok();
            refused(tool, id, validator.as_ref(), message, refusal.hint)
        })
}

/// Reads a call's arguments as JSON.
///
/// # Errors
/// [`ProblemKind::Arguments`]: not JSON, not an object, a key that stands twice, a number that could not be sent as it was written.
pub fn parse_json(text: &str) -> Result<Map<String, Value>, Problem> {
    let problem = |message: String| {
        Problem::new(ProblemKind::Arguments, message)
            .hint("arguments are one JSON object, such as '{\"name\": \"value\"}'")
    };
    match json::parse(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(other) => Err(problem(format!(
            "the arguments must be a JSON object, not {}",
            schema::Kind::of(&other).with_article()
        ))),
        Err(error) => Err(problem(format!(
            "the arguments can't be read as JSON: {error}"
        ))),
    }
}

/// Joins arguments that were given as JSON with those given as flags. Two objects of one name become one that has the members of both.
///
/// # Errors
/// [`ProblemKind::Arguments`] when both have one value: neither is taken to be meant.
pub fn merge(
    base: Map<String, Value>,
    flags: Map<String, Value>,
) -> Result<Map<String, Value>, Problem> {
    let mut merged = base;
    join(&mut merged, flags, "")?;
    Ok(merged)
}

fn join(
    base: &mut Map<String, Value>,
    more: Map<String, Value>,
    path: &str,
) -> Result<(), Problem> {
    for (name, value) in more {
        match (base.get_mut(&name), value) {
            (None, value) => {
                base.insert(name, value);
            }
            (Some(Value::Object(known)), Value::Object(value)) => {
                join(known, value, &format!("{path}{name}."))?;
            }
            (Some(_), _) => {
                return Err(Problem::new(
                    ProblemKind::Arguments,
                    format!("{path}{name} is given twice, as JSON and as a flag"),
                )
                .hint(format!(
                    "leave out one of the two: --{path}{name}, or it in the JSON"
                )));
            }
        }
    }
    Ok(())
}

/// Makes the problem of a refused call: what was wrong, then what to do, ending in a command that would work.
fn refused(
    tool: &Tool,
    id: &EntryId,
    validator: Option<&Validator>,
    message: String,
    remedy: Option<String>,
) -> Problem {
    let server = id.as_str().split_once('/').map_or("", |(server, _)| server);
    let example = match definition::example_call(tool, id) {
        // An example is made by rules that do not know all of a schema: what is shown to work has to fit it.
        Some(command) if validator.is_some_and(|known| example_fits(tool, known)) => {
            format!("a call that would work: {command}")
        }
        Some(_) => format!(
            "its definition says more: shelf show {}",
            definition::quote(id.as_str())
        ),
        None => format!(
            "no example is short enough to show, write the arguments as JSON into FILE: {}",
            definition::call_with_file(id)
        ),
    };
    Problem::new(ProblemKind::Arguments, message)
        .at_server(server, Some(&tool.name))
        .hint(match remedy {
            Some(remedy) => format!("{remedy}; {example}"),
            None => example,
        })
}

fn example_fits(tool: &Tool, validator: &Validator) -> bool {
    definition::example_arguments(tool).is_some_and(|arguments| validator.fits(&arguments))
}
