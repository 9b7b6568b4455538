//! `shelf list`.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use daemon::protocol::{EntryKind, ListFilter, ListedEntry, Listing};
use skills::formats::Occasion;
use skills::problem::{Problem, ProblemKind};

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::format::{Format, FormatOptions, Wanted, hand_out};
use crate::known::Known;
use crate::selection::Which;
use crate::ui::Ui;

/// List the entries, one line each: id — summary
///
/// Without a running shelf they are those of the configuration in use, as its servers were listed last.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf list --server everything\n  shelf list --kind skill --json | jq -r '.entries[].id'\n  shelf list --format openai --server everything"
)]
pub(crate) struct Arguments {
    /// List only the tools of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// List only tools, or only skills
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<Kind>,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Kind {
    Tool,
    Skill,
}

impl From<Kind> for EntryKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Tool => Self::Tool,
            Kind::Skill => Self::Skill,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let filter = ListFilter {
        server: arguments.server.clone(),
        kind: arguments.kind.map(EntryKind::from),
    };
    let format = arguments.format.chosen()?;
    arguments.which.tell_project(environment, ui);
    let mut known = Known::find_any(&arguments.which, environment)?;
    let listing = known.list(&filter)?;
    known.tell_unreadable(ui);
    match format {
        Format::Json => ui.json(&listing)?,
        Format::Text => ui.text(&lines(&listing))?,
        Format::Definitions(format) => {
            let wanted: Vec<_> = listing.entries.iter().map(wanted).collect();
            hand_out(&mut known, &wanted, format, Occasion::List, ui)?;
        }
    }
    if format != Format::Json {
        for server in &listing.unknown {
            ui.note(&format!("{server} — not known yet, {}", known.remedy()));
        }
    }
    let filtered = filter != ListFilter::default();
    if filtered && listing.entries.is_empty() && listing.unknown.is_empty() {
        return Err(Problem::new(ProblemKind::NotFound, "no entry matches").into());
    }
    Ok(())
}

pub(super) fn wanted(entry: &ListedEntry) -> Wanted {
    Wanted {
        id: entry.id.clone(),
        kind: entry.kind,
        pinned: entry.pinned,
    }
}

fn lines(listing: &Listing) -> String {
    let mut text = String::new();
    for entry in &listing.entries {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{} — {}", entry.id, entry.summary);
    }
    text
}
