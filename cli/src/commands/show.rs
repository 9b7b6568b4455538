//! `shelf show`.

use std::ffi::OsString;

use clap::Args;
use daemon::protocol::Description;

use crate::environment::Environment;
use crate::error::{CommandResult, usage};
use crate::known::Known;
use crate::selection::{Which, target};
use crate::ui::Ui;

/// Print a tool's definition or a skill's SKILL.md
///
/// Without a running shelf it is that of the configuration in use, as its server was listed last.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf show everything/echo\n  shelf show --schema everything/echo | jq .inputSchema"
)]
pub(crate) struct Arguments {
    /// Ids, or paths of entries in a mount
    #[arg(required = true, value_name = "ID")]
    entries: Vec<OsString>,

    /// Print the tool as its server sent it
    #[arg(long)]
    schema: bool,

    #[command(flatten)]
    which: Which,

    /// Print one JSON object for each entry, a line each
    #[arg(long, conflicts_with = "schema")]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
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
        if arguments.json {
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
