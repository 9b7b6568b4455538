//! `shelf changes`.

use std::collections::HashMap;
use std::fmt::Write as _;

use clap::Args;
use daemon::protocol::{Change, ChangeList, Changes, ListFilter, Revision};
use skills::formats::Occasion;

use super::list::wanted;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::format::{Format, FormatOptions, hand_out};
use crate::known::Known;
use crate::selection::Which;
use crate::ui::Ui;

/// List which definitions were added (+), changed (~) and removed (-), oldest first
///
/// The last line is the revision to ask from the next time, so that the answers, one after the other, are a list that only grows: what follows the tools appends to it, and never rewrites what it has. A server that is first seen is followed by its tools. The formats that have definitions give those of what came or changed and is there now, which are handed out to this session; what went and the revision are then lines of standard error. When the journal no longer reaches back to REV, standard error says so (`complete` is false in JSON), and the list has to be taken anew. A journal belongs to a configuration and the `--skills` given beside it; without a running shelf it is the one without `--skills`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf changes\n  shelf changes --since 31-k3v9qa2c\n  shelf changes --since 31-k3v9qa2c --format anthropic\n  shelf changes --json | jq -r .revision"
)]
pub(crate) struct Arguments {
    /// List only what changed after this revision, which an earlier answer ended with; 0 is before everything
    ///
    /// Without it everything that is kept is listed.
    #[arg(long, value_name = "REV")]
    since: Option<Revision>,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatOptions,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let asked = Changes {
        since: arguments.since.clone(),
    };
    let format = arguments.format.chosen()?;
    let mut known = Known::find(&arguments.which, environment, None)?;
    let list = known.changes(&asked)?;
    if !list.complete {
        ui.warning("a part of what changed is no longer kept");
        ui.hint(&format!(
            "take the list anew (shelf list), and ask from revision {} the next time",
            list.revision
        ));
    }
    match format {
        Format::Json => ui.json(&list)?,
        Format::Text => ui.text(&lines(&list))?,
        Format::Definitions(format) => {
            let net = list.net();
            let listed = known.list(&ListFilter::default())?.entries;
            let listed: HashMap<_, _> = listed.iter().map(|entry| (&entry.id, entry)).collect();
            let renewed = net.renewed.iter().filter_map(|id| listed.get(id));
            let renewed: Vec<_> = renewed.map(|entry| wanted(entry)).collect();
            hand_out(&mut known, &renewed, format, Occasion::Show, ui)?;
            for id in &net.removed {
                ui.note(&format!("- {id}"));
            }
            ui.note(&format!("revision {}", list.revision));
        }
    }
    Ok(())
}

fn lines(list: &ChangeList) -> String {
    let mut text = String::new();
    for change in &list.changes {
        line(&mut text, change);
    }
    // Writing to a string can't fail.
    let _ = writeln!(text, "revision {}", list.revision);
    text
}

fn line(text: &mut String, change: &Change) {
    let _ = write!(text, "{} {}", change.change.sign(), change.id);
    if let Some(tools) = change.tools {
        let unit = if tools == 1 { "tool" } else { "tools" };
        let _ = write!(text, " {tools} {unit}");
    }
    if let Some(summary) = &change.summary {
        let _ = write!(text, " — {summary}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use daemon::protocol::{Change, ChangeKind, ChangeList, ChangedKind, Revision};
    use jiff::Timestamp;
    use skills::entry_id::EntryId;

    use super::lines;

    #[test]
    fn the_revision_comes_last() {
        let revision = Revision {
            number: 3,
            journal: "k3v9qa2c".into(),
        };
        let change = |change, id: &str, kind, summary: Option<&str>, tools| Change {
            revision: revision.clone(),
            time: Timestamp::UNIX_EPOCH,
            change,
            id: EntryId(id.into()),
            kind,
            summary: summary.map(str::to_owned),
            tools,
        };
        use ChangedKind::{Server, Skill, Tool};
        let list = ChangeList {
            changes: vec![
                change(ChangeKind::Added, "git/", Server, None, Some(1)),
                change(
                    ChangeKind::Added,
                    "git/log",
                    Tool,
                    Some("Reads the log."),
                    None,
                ),
                change(ChangeKind::Changed, "git/", Server, None, None),
                change(ChangeKind::Removed, "skills/pdf", Skill, None, None),
            ],
            complete: true,
            revision: revision.clone(),
        };
        assert_eq!(
            lines(&list),
            "+ git/ 1 tool\n+ git/log — Reads the log.\n~ git/\n- skills/pdf\nrevision 3-k3v9qa2c\n"
        );
        let nothing = ChangeList {
            changes: Vec::new(),
            ..list
        };
        assert_eq!(lines(&nothing), "revision 3-k3v9qa2c\n");
    }
}
