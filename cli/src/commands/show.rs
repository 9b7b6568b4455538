//! `shelf show`.

use std::ffi::OsString;

use clap::Args;
use daemon::protocol::{Description, EntryKind};
use skills::formats::{self, Occasion};

use crate::environment::Environment;
use crate::error::{CommandResult, usage};
use crate::format::{Format, FormatOptions, item, print};
use crate::known::Known;
use crate::selection::{Which, target};
use crate::ui::Ui;

/// Print a tool's definition or a skill's SKILL.md
///
/// Without a running shelf it is that of the configuration in use, as its server was listed last.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf show everything/echo\n  shelf show --schema everything/echo | jq .inputSchema\n  shelf show --format anthropic everything/echo"
)]
pub(crate) struct Arguments {
    /// Ids, or paths of entries in a mount
    #[arg(required = true, value_name = "ID")]
    entries: Vec<OsString>,

    /// Print the tool as its server sent it
    #[arg(long, conflicts_with_all = ["json", "format"])]
    schema: bool,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatOptions,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let format = arguments.format.chosen()?;
    if let Format::Definitions(format) = format {
        return definitions(arguments, format, environment, ui);
    }
    let mut usual = None;
    for (position, entry) in arguments.entries.iter().enumerate() {
        let target = target(entry, environment)?;
        let find = || Known::find(&arguments.which, environment, target.path.as_deref());
        let description = match &mut usual {
            // A path leads to a shelf of its own.
            _ if target.path.is_some() => find()?.describe(&target.entry)?,
            Some(known) => Known::describe(known, &target.entry)?,
            none => none.insert(find()?).describe(&target.entry)?,
        };
        if format == Format::Json {
            ui.json(&description)?;
        } else if arguments.schema {
            ui.text(&schema(&description)?)?;
        } else {
            if position > 0 {
                ui.data(b"\n")?;
            }
            ui.text(&description.text)?;
        }
    }
    Ok(())
}

/// Prints all entries as one text. Nothing is handed out before every entry is known to have a place in it.
fn definitions(
    arguments: &Arguments,
    format: formats::Format<'_>,
    environment: &Environment,
    ui: &Ui,
) -> CommandResult {
    let mut shelves: Vec<Known> = Vec::new();
    let mut usual = None;
    let mut found = Vec::with_capacity(arguments.entries.len());
    for entry in &arguments.entries {
        let target = target(entry, environment)?;
        let path = target.path.as_deref();
        let shelf = match usual {
            Some(shelf) if path.is_none() => shelf,
            _ => {
                shelves.push(Known::find(&arguments.which, environment, path)?);
                shelves.len() - 1
            }
        };
        if path.is_none() {
            usual = Some(shelf);
        }
        let description = shelves[shelf].glance(&target.entry)?;
        if !format.takes(description.kind) {
            let problem = usage(format!(
                "`{}` is a skill, and this format knows tools alone",
                description.id
            ));
            let hint = format!("read it: shelf show {}", description.id);
            return Err(problem.hint(hint).into());
        }
        found.push((shelf, description));
    }
    let mut items = Vec::with_capacity(found.len());
    for (shelf, description) in found {
        let known = &mut shelves[shelf];
        if description.kind == EntryKind::Tool {
            let id = description.id.to_string();
            for loaded in known.load(vec![id])? {
                items.push(item(loaded, None)?);
            }
        } else {
            items.push(item(description, known.place().as_deref())?);
        }
    }
    Ok(print(&items, format, Occasion::Show, ui)?)
}

fn schema(description: &Description) -> Result<String, skills::problem::Problem> {
    let Some(tool) = &description.tool else {
        return Err(usage(format!(
            "`{}` is a skill, it has no schema",
            description.id
        )));
    };
    let mut text = skills::json::pretty(&tool.raw);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}
