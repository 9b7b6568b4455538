//! `shelf loaded`.

use std::collections::HashMap;
use std::fmt::Write as _;

use clap::Args;
use daemon::protocol::{ListFilter, ListedEntry};
use serde::Serialize;
use skills::entry_id::EntryId;

use super::list::wanted;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::format::{Format, FormatOptions, hand_out_again};
use crate::known::Known;
use crate::loaded::loaded_ids;
use crate::selection::Which;
use crate::ui::Ui;

/// List what a session was handed out, in that order: id — summary
///
/// To resume or fork a conversation, or when it was compacted: what was loaded into it is in the log, each entry at its first time, and is shown as it is now. No shelf need run, and what is listed again is not logged again.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf loaded --session run-7\n  shelf loaded --format anthropic\n  shelf loaded --json | jq -r '.entries[].id'"
)]
pub(crate) struct Arguments {
    /// The session, as `shelf log` names it [default: SHELF_SESSION, else the one that this command runs in]
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatOptions,
}

/// What is printed as JSON.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Replay {
    /// The entries that are there, in the order in which they were handed out.
    entries: Vec<ListedEntry>,
    /// Those that are gone since.
    gone: Vec<EntryId>,
}

impl Replay {
    fn new(ids: Vec<EntryId>, listed: Vec<ListedEntry>) -> Self {
        let listed = listed.into_iter().map(|entry| (entry.id.clone(), entry));
        let mut listed: HashMap<EntryId, ListedEntry> = listed.collect();
        let mut replay = Self::default();
        for id in ids {
            match listed.remove(&id) {
                Some(entry) => replay.entries.push(entry),
                None => replay.gone.push(id),
            }
        }
        replay
    }

    fn lines(&self) -> String {
        self.entries.iter().fold(String::new(), |mut text, entry| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{} — {}", entry.id, entry.summary);
            text
        })
    }
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let format = arguments.format.chosen()?;
    let mut known = Known::find(&arguments.which, environment, None)?;
    let ids = loaded_ids(environment, arguments.session.as_deref(), &mut known)?;
    let listed = if ids.is_empty() {
        Vec::new()
    } else {
        known.list(&ListFilter::default())?.entries
    };
    let replay = Replay::new(ids, listed);
    match format {
        Format::Json => return ui.json(&replay),
        Format::Text => ui.text(&replay.lines())?,
        Format::Definitions(format) => {
            let again: Vec<_> = replay.entries.iter().map(wanted).collect();
            hand_out_again(&mut known, &again, format, ui)?;
        }
    }
    for id in &replay.gone {
        ui.note(&format!("{id} — gone"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use daemon::protocol::{EntryKind, ListedEntry};
    use skills::entry_id::EntryId;

    use super::Replay;

    #[test]
    fn what_was_handed_out_is_told_in_that_order_and_what_is_gone_apart() {
        let listed = |id: &str| ListedEntry {
            id: EntryId(id.into()),
            kind: EntryKind::Tool,
            summary: format!("Says {id}."),
            pinned: false,
        };
        let ids = ["s/b", "s/gone", "s/a"].map(|id| EntryId(id.into()));
        let replay = Replay::new(ids.to_vec(), ["s/a", "s/b", "s/c"].map(listed).to_vec());
        assert_eq!(replay.lines(), "s/b — Says s/b.\ns/a — Says s/a.\n");
        assert_eq!(replay.gone, [EntryId("s/gone".into())]);
    }
}
