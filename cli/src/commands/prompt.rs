//! `shelf prompt`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use daemon::protocol::GetPrompt;
use serde_json::{Map, Value};
use skills::arguments::{Read, read_text};
use skills::problem::Problem;

use super::asking::Asking;
use super::call::content::Content;
use super::call::limit::{self, MaxOutput};
use super::call::sources::Sources;
use crate::duration;
use crate::environment::Environment;
use crate::error::{CommandResult, usage};
use crate::selection::Which;
use crate::ui::Ui;

/// Ask a server for a prompt and print it
///
/// mcp/SERVER/PROMPTS.md lists what there is, with the arguments of each and the command that asks for it.
///
/// Where no shelf runs, one is started for the configuration in use. It is mounted nowhere and ends when it has been idle.
///
/// Standard output is only the prompt: the text of its message; where there are several, each after a line with its role, user: or assistant:.
/// Images, audio and blobs are written to files, whose paths go to standard error, and which are kept for a week.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf prompt everything simple-prompt\n  shelf prompt everything args-prompt --arg city=Lisbon\n  shelf prompt --arg text=@notes.txt notes summarize"
)]
pub(crate) struct Arguments {
    /// An argument of the prompt; can be given several times. @FILE and - as a value stand for the text of a file and of standard input, @@ for a
    /// text that begins with @
    #[arg(long = "arg", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    arguments: Vec<String>,

    /// Give up after this long, and cancel the request at the server [default: the server's own setting]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    timeout: Option<Duration>,

    /// Print the whole result as the server sent it
    #[arg(long, conflicts_with = "out")]
    json: bool,

    /// Write images, audio and blobs there: a file for the only one, a directory, or - for standard output
    #[arg(long, value_name = "FILE|DIR|-")]
    out: Option<PathBuf>,

    /// Print only the first lines of a longer prompt, and write the whole to a file whose path goes to standard error: 4096, 64K, 1M, or none
    /// for no limit [default: SHELF_MAX_OUTPUT, else none]. What --json prints is printed whole or not at all
    #[arg(long, value_name = "SIZE", value_parser = limit::parse)]
    max_output: Option<MaxOutput>,

    #[command(flatten)]
    which: Which,

    /// The server
    #[arg(value_name = "SERVER")]
    server: String,

    /// The prompt's name
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let started = Instant::now();
    let mut sources = Sources::new(arguments.timeout, None);
    let values = values(&arguments.arguments, &mut |origin| sources.read(origin))?;
    let asking = Asking {
        timeout: arguments
            .timeout
            .map(|limit| limit.saturating_sub(started.elapsed())),
        json: arguments.json,
        out: arguments.out.as_deref(),
        max_output: arguments.max_output,
        which: &arguments.which,
    };
    asking.run(
        environment,
        ui,
        Content::of_prompt,
        |client, timeout_ms, attendant| {
            let prompt = GetPrompt {
                server: arguments.server.clone(),
                name: arguments.name.clone(),
                arguments: values,
                timeout_ms,
            };
            client.prompt(&prompt, attendant)
        },
    )
}

/// Reads `NAME=VALUE`; the name ends at the first `=`.
fn values(words: &[String], read: &mut Read<'_>) -> Result<Map<String, Value>, Problem> {
    let mut values = Map::new();
    for word in words {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            let problem = usage(format!("--arg {word} has no value"));
            return Err(problem.hint("an argument is NAME=VALUE"));
        };
        let text = read_text(&format!("--arg {name}"), value, read)?;
        if values.insert(name.to_owned(), text.into()).is_some() {
            return Err(usage(format!("--arg {name} is given twice")));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use skills::arguments::Origin;

    use super::values;

    fn read(words: &[&str]) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut source = |origin: Origin<'_>| Ok(format!("{origin:?}"));
        let values = values(&words, &mut source).map(Value::Object);
        values.map_err(|problem| {
            assert_eq!(problem.kind.exit_code(), 2);
            problem.message
        })
    }

    #[test]
    fn arguments_are_names_and_texts() {
        let expected = json!({"a": "1", "b": "x=y", "c": "", "d": "-5", "e": "@x"});
        assert_eq!(read(&["a=1", "b=x=y", "c=", "d=-5", "e=@@x"]), Ok(expected));
        let expected = json!({"a": "File(\"notes\")", "b": "StandardInput"});
        assert_eq!(read(&["a=@notes", "b=-"]), Ok(expected));
        for (words, said) in [
            (&["a"][..], "--arg a has no value"),
            (&["=x"], "--arg =x has no value"),
            (&["a=1", "a=2"], "--arg a is given twice"),
        ] {
            assert_eq!(read(words), Err(said.to_owned()));
        }
    }
}
