//! `shelf changes`.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Args;
use daemon::protocol::{
    Change, ChangeKind, ChangeList, Changes, Difference, Differences, ListFilter, Revision,
};
use serde::Serialize;
use skills::entry_id::EntryId;
use skills::formats::Occasion;

use super::list::wanted;
use crate::difference::{describe, visible};
use crate::environment::Environment;
use crate::error::{CommandResult, usage};
use crate::format::{Format, FormatOptions, hand_out};
use crate::known::Known;
use crate::selection::{Which, target};
use crate::ui::Ui;

/// List which definitions were added (+), changed (~), removed (-) and held back (?), oldest first
///
/// The last line is the revision to ask from the next time, so that the answers, one after the other, are a list that only grows: what follows the tools appends to it, and never rewrites what it has. A server that is first seen is followed by its tools. The formats that have definitions give those of what came or changed and is there now, which are handed out to this session; what went and the revision are then lines of standard error. When the journal no longer reaches back to REV, standard error says so (`complete` is false in JSON), and the list has to be taken anew. With --diff each entry that changed is followed by its last change as a unified diff: of a definition as JSON with its keys sorted, of a skill file by file; JSON has them as `differences`. With `pin = "strict"` a change that nobody has trusted yet is held back (?), and its diff is from the trusted version to the present one. A journal belongs to a configuration and the `--skills` given beside it; without a running shelf it is the one without `--skills`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf changes\n  shelf changes --since 31-k3v9qa2c\n  shelf changes --since 31-k3v9qa2c --format anthropic\n  shelf changes --diff\n  shelf changes --diff github/create_issue skills/pdf\n  shelf changes --json | jq -r .revision"
)]
pub(crate) struct Arguments {
    /// List only what changed after this revision, which an earlier answer ended with; 0 is before everything
    ///
    /// Without it everything that is kept is listed.
    #[arg(long, value_name = "REV")]
    since: Option<Revision>,

    /// Show how what changed differs from what it was before
    #[arg(long)]
    diff: bool,

    /// With --diff, only these entries, whether they changed or not; a server itself is SERVER/
    #[arg(value_name = "ID|PATH", requires = "diff")]
    entries: Vec<OsString>,

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
    if arguments.diff && matches!(format, Format::Definitions(_)) {
        return Err(usage("--diff has no other forms than text and json").into());
    }
    let targets = arguments.entries.iter();
    let targets = targets.map(|argument| target(argument, environment));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let path = targets.iter().find_map(|target| target.path.as_deref());
    let mut known = Known::find(&arguments.which, environment, path)?;
    let mut list = known.changes(&asked)?;
    let entries: Vec<String> = targets.into_iter().map(|target| target.entry).collect();
    let differences = match arguments.diff {
        true => Some(differences(&mut known, &mut list, entries)?),
        false => None,
    };
    if !list.complete {
        ui.warning("a part of what changed is no longer kept");
        ui.hint(&format!(
            "take the list anew (shelf list), and ask from revision {} the next time",
            list.revision
        ));
    }
    match format {
        Format::Json => ui.json(&Answer { list, differences })?,
        Format::Text => {
            let text = lines(&list, &differences.unwrap_or_default());
            if arguments.diff && ui.out_is_terminal() {
                ui.text(&visible(&text))?;
            } else {
                ui.text(&text)?;
            }
        }
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

/// The answer as JSON.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    list: ChangeList,
    /// With `--diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<Difference>>,
}

/// How the entries that are asked for differ, to which the list is then confined; else those that changed.
fn differences(
    known: &mut Known,
    list: &mut ChangeList,
    entries: Vec<String>,
) -> Result<Vec<Difference>, skills::problem::Problem> {
    if entries.is_empty() {
        return known.differences(&Differences {
            entries: changed(list),
            if_there: true,
            held: false,
        });
    }
    let differences = known.differences(&Differences {
        entries,
        if_there: false,
        held: false,
    })?;
    let asked: HashSet<&EntryId> = differences.iter().map(|one| &one.id).collect();
    list.changes.retain(|change| asked.contains(&change.id));
    Ok(differences)
}

/// The entries whose last change is one that has two sides.
fn changed(list: &ChangeList) -> Vec<String> {
    let mut last: HashMap<&EntryId, ChangeKind> = HashMap::new();
    for change in &list.changes {
        last.insert(&change.id, change.change);
    }
    let has_sides = |kind: &ChangeKind| matches!(kind, ChangeKind::Changed | ChangeKind::Held);
    let changed = last.iter().filter(|(_, kind)| has_sides(kind));
    let mut ids: Vec<String> = changed.map(|(id, _)| id.to_string()).collect();
    ids.sort();
    ids
}

/// The changes, the last one of an entry with its difference.
fn lines(list: &ChangeList, differences: &[Difference]) -> String {
    let mut text = String::new();
    let mut differences: HashMap<&EntryId, &Difference> =
        differences.iter().map(|one| (&one.id, one)).collect();
    let mut last = HashMap::new();
    for (at, change) in list.changes.iter().enumerate() {
        last.insert(&change.id, at);
    }
    for (at, change) in list.changes.iter().enumerate() {
        line(&mut text, change);
        if last.get(&change.id) == Some(&at)
            && let Some(difference) = differences.remove(&change.id)
        {
            text.push_str(&describe(difference));
        }
    }
    let mut others: Vec<_> = differences.into_values().collect();
    others.sort_by_key(|difference| &difference.id);
    for difference in others {
        text.push_str(&describe(difference));
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
    if change.change == ChangeKind::Held {
        text.push_str(" (held back)");
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
                change(ChangeKind::Held, "skills/doc", Skill, None, None),
            ],
            complete: true,
            revision: revision.clone(),
        };
        assert_eq!(
            lines(&list, &[]),
            "+ git/ 1 tool\n+ git/log — Reads the log.\n~ git/\n- skills/pdf\n? skills/doc (held back)\nrevision 3-k3v9qa2c\n"
        );
        let nothing = ChangeList {
            changes: Vec::new(),
            ..list
        };
        assert_eq!(lines(&nothing, &[]), "revision 3-k3v9qa2c\n");
    }
}
