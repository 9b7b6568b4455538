//! `--format`: in which form a command prints entries, and how their definitions get there.
//!
//! It knows what is asked of the daemon, not how a form is written: that is `skills::formats`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use daemon::protocol::{Description, EntryKind};
use skills::entry_id::{EntryId, ServerName};
use skills::formats::{self, Content, Item, Occasion};
use skills::problem::Problem;
use skills::tool::Tool;

use crate::error::{CommandResult, usage};
use crate::known::Known;
use crate::ui::Ui;

/// In which form entries are printed.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FormatOptions {
    /// Print in this form; README.md, "Formats", has an example of each
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Name>,

    /// Print JSON, short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// With --format openai, answer the tool_search_call of this id
    #[arg(long, value_name = "ID", requires = "format")]
    call_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// For people and shells
    Text,
    /// What shelf knows of the entries
    Json,
    /// For a prompt: tools with their schemas, skills as <available_skills>
    Xml,
    /// Deferred tools for the Messages API, with tool_reference blocks
    Anthropic,
    /// Functions for the Responses API, with --call-id as tool_search_output
    Openai,
    /// The tools as their servers sent them
    Mcp,
}

/// A form, with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format<'a> {
    /// The command's own text.
    Text,
    /// The command's own JSON.
    Json,
    /// Whole definitions.
    Definitions(formats::Format<'a>),
}

impl FormatOptions {
    /// The form that was asked for.
    pub(crate) fn chosen(&self) -> Result<Format<'_>, Problem> {
        let name = self
            .format
            .unwrap_or(if self.json { Name::Json } else { Name::Text });
        let call_id = self.call_id.as_deref();
        if call_id.is_some() && name != Name::Openai {
            return Err(usage("--call-id belongs to --format openai"));
        }
        Ok(match name {
            Name::Text => Format::Text,
            Name::Json => Format::Json,
            Name::Xml => Format::Definitions(formats::Format::Xml),
            Name::Anthropic => Format::Definitions(formats::Format::Anthropic),
            Name::Openai => Format::Definitions(formats::Format::OpenAi { call_id }),
            Name::Mcp => Format::Definitions(formats::Format::Mcp),
        })
    }
}

/// An entry to give out.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Its id.
    pub(crate) id: EntryId,
    /// What it is.
    pub(crate) kind: EntryKind,
    /// Whether it is known to be pinned.
    pub(crate) pinned: bool,
}

/// Prints entries in a form that has whole definitions; those that the model gets to read are handed out to this session.
pub(crate) fn hand_out(
    known: &mut Known,
    wanted: &[Wanted],
    format: formats::Format<'_>,
    occasion: Occasion<'_>,
    ui: &Ui,
) -> CommandResult {
    let descriptions = descriptions(known, wanted, format, occasion)?;
    give(known, descriptions, wanted.len(), format, occasion, ui)
}

/// Prints entries that this session was handed out before, and tells nobody.
pub(crate) fn hand_out_again(
    known: &mut Known,
    wanted: &[Wanted],
    format: formats::Format<'_>,
    ui: &Ui,
) -> CommandResult {
    let taken = wanted.iter().filter(|entry| format.takes(entry.kind));
    let descriptions = taken.map(|entry| known.glance(entry.id.as_str()));
    let descriptions = descriptions.collect::<Result<Vec<_>, _>>()?;
    give(
        known,
        descriptions,
        wanted.len(),
        format,
        Occasion::Show,
        ui,
    )
}

fn give(
    known: &mut Known,
    descriptions: Vec<Description>,
    wanted: usize,
    format: formats::Format<'_>,
    occasion: Occasion<'_>,
    ui: &Ui,
) -> CommandResult {
    let has_skills = descriptions
        .iter()
        .any(|description| description.skill.is_some());
    let mount_point = if has_skills { known.place() } else { None };
    let left_out = wanted - descriptions.len();
    let items = descriptions
        .into_iter()
        .map(|description| item(description, mount_point.as_deref()))
        .collect::<Result<Vec<_>, _>>()?;
    print(&items, format, occasion, ui)?;
    if left_out > 0 {
        ui.note(&formats::without_skills(left_out));
    }
    Ok(())
}

/// Prints entries in a form that has whole definitions.
pub(crate) fn print(
    items: &[Item],
    format: formats::Format<'_>,
    occasion: Occasion<'_>,
    ui: &Ui,
) -> io::Result<()> {
    let rendered = formats::render(format, occasion, items);
    ui.text(&rendered.text)?;
    for note in &rendered.notes {
        ui.note(note);
    }
    Ok(())
}

/// What the form has a place for, in the order that was asked for.
fn descriptions(
    known: &mut Known,
    wanted: &[Wanted],
    format: formats::Format<'_>,
    occasion: Occasion<'_>,
) -> Result<Vec<Description>, Problem> {
    let taken: Vec<_> = wanted
        .iter()
        .filter(|entry| format.takes(entry.kind))
        .collect();
    // Of a skill its description alone is given, which is no reading of it.
    let is_read = |entry: &Wanted| {
        entry.kind == EntryKind::Tool && format.shows_model(occasion, entry.pinned)
    };
    let read = taken.iter().filter(|entry| is_read(entry));
    let mut loaded = known
        .load(read.map(|entry| entry.id.to_string()).collect())?
        .into_iter();
    let mut all = Vec::with_capacity(taken.len());
    for entry in taken {
        let description = match is_read(entry) {
            true => loaded.next(),
            false => None,
        };
        all.push(match description {
            Some(description) => description,
            None => known.glance(entry.id.as_str())?,
        });
    }
    Ok(all)
}

/// An entry as it was described. A skill is located in the mount where there is one, since reads are logged there.
pub(crate) fn item(description: Description, mount_point: Option<&Path>) -> Result<Item, Problem> {
    let content = match (description.tool, description.skill) {
        (Some(tool), _) => Content::Tool {
            tool: Box::new(Tool::parse(
                &ServerName::new(&tool.server),
                0,
                Arc::from(tool.raw),
            )?),
            about: tool.about,
        },
        (None, Some(skill)) => {
            let mounted = mount_point
                .zip(skill.file.file_name())
                .map(|(mount, file)| mount.join(description.id.as_str()).join(file));
            Content::Skill {
                description: skill.description,
                location: mounted.unwrap_or(skill.file),
            }
        }
        (None, None) => {
            return Err(usage(format!(
                "`{}` has no definition to give",
                description.id
            )));
        }
    };
    Ok(Item {
        id: description.id,
        pinned: description.pinned,
        content,
    })
}
