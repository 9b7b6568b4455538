//! The definition of a tool as an agent reads it: `<tool>.md`.
//!
//! It costs an agent tokens, so it says everything once and as shortly as it can be said without loss.

mod command;
mod example;
mod notes;
mod schema;
mod typescript;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

pub use self::command::{call_with_file, example_arguments, example_call, quote};
use self::notes::tidy;
use self::typescript::declarations;
use crate::entry_id::EntryId;
use crate::json::Json;
use crate::summary::one_line;
use crate::tool::{Hints, Tool};

/// The longest result type that is shown, in bytes; a longer one is left to the raw schema.
const MAX_RESULT: usize = 2400;

/// Renders `<tool>.md`. `schema_path` is the path of the raw schema, relative to the mount point
/// (`.schemas/<server>/<tool>.json`).
pub fn render(tool: &Tool, id: &EntryId, schema_path: &str) -> String {
    let mut out = format!("# {id}");
    let title = tool.title.as_deref().map(one_line).unwrap_or_default();
    if !title.is_empty() && title != *tool.name {
        out.push_str(": ");
        out.push_str(&title);
    }
    // Before the first text of a stranger, who could otherwise hide or forge it.
    let (command, note) = match example_call(tool, id) {
        Some(command) => (command, ""),
        None => (
            call_with_file(id),
            " FILE holds the arguments as JSON; no example is short enough to show",
        ),
    };
    let ticks = "`".repeat(longest_run(&command, '`') + 1);
    // A code span may not touch the backticks of its own text.
    let space = if command.ends_with('`') { " " } else { "" };
    out.push_str(&format!("\n{ticks}{space}{command}{space}{ticks}{note}\n"));
    let description = tidy(&tool.description);
    if !description.is_empty() {
        out.push_str(&format!("\n{description}\n"));
        out.push_str(&closing_fence(&description));
    }

    let titles = |suffixes: &[&str]| -> Vec<String> {
        suffixes
            .iter()
            .map(|suffix| format!("{}{suffix}", tool.name))
            .collect()
    };
    let mut taken = BTreeSet::new();
    let schema = Json::parse(&tool.input_schema);
    let titles_said = titles(&[
        "",
        "Arguments",
        "Args",
        "Input",
        "Params",
        "Parameters",
        "Request",
        "Schema",
    ]);
    let mut types = declarations(&schema, "Arguments", &titles_said, &mut taken);
    let mut result_is_long = false;
    if let Some(schema) = &tool.output_schema {
        let titles = titles(&["", "Output", "DictOutput", "Result", "Response", "Schema"]);
        let result = declarations(&Json::parse(schema), "Result", &titles, &mut taken);
        result_is_long = result.len() > MAX_RESULT;
        // A result is an object in any case.
        if !result_is_long && result != "type Result = object\n" {
            types.push_str(&result);
        }
    }
    let fence = "`".repeat((longest_run(&types, '`') + 1).max(3));
    out.push_str(&format!("{fence}ts\n{types}{fence}\n"));

    let mut facts = hints(tool.hints);
    if tool.requires_task {
        facts.push("runs only as a task: a plain call is refused");
    }
    if !facts.is_empty() {
        out.push_str(&facts.join(", "));
        out.push_str(". ");
    }
    out.push_str(if result_is_long {
        "Schema and result type: "
    } else {
        "Schema: "
    });
    out.push_str(schema_path);
    out.push('\n');
    out
}

/// What the tool says of itself, but for what follows from the rest of it.
fn hints(hints: Hints) -> Vec<&'static str> {
    let read_only = match (hints.read_only, hints.destructive) {
        (Some(true), _) => Some("read-only"),
        (Some(false), None) => Some("writes"),
        (Some(false), Some(_)) | (None, _) => None,
    };
    let destructive = match hints.destructive {
        Some(true) => Some("destructive"),
        Some(false) if hints.read_only != Some(true) => Some("not destructive"),
        Some(false) | None => None,
    };
    let idempotent = hints.idempotent.map(|idempotent| {
        if idempotent {
            "idempotent"
        } else {
            "not idempotent"
        }
    });
    let open_world = hints
        .open_world
        .map(|open| if open { "open-world" } else { "closed-world" });
    [read_only, destructive, idempotent, open_world]
        .into_iter()
        .flatten()
        .collect()
}

/// The fence that a description opened and did not close, or all that follows would count as its code.
fn closing_fence(description: &str) -> String {
    // What would a line after it belong to?
    let followed = format!("{description}\n\nnext");
    let open = Parser::new(&followed)
        .into_offset_iter()
        .find(|(event, range)| {
            matches!(
                event,
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
            ) && range.end == followed.len()
        });
    let Some((_, range)) = open else {
        return String::new();
    };
    let block = followed[range].trim_start();
    let after = block.trim_start_matches(if block.starts_with('~') { '~' } else { '`' });
    format!("{}\n", &block[..block.len() - after.len()])
}

fn longest_run(text: &str, character: char) -> usize {
    text.split(|c| c != character)
        .map(|run| run.chars().count())
        .max()
        .unwrap_or(0)
}
