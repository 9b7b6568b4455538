//! How an entry differs from what it was, as text for people. It knows nothing of commands.

use std::fmt::Write as _;

use daemon::protocol::{Difference, DifferenceState, FileDifference};
use skills::summary::{is_invisible, spelt_out};

/// The difference of one entry, file by file.
pub(crate) fn describe(difference: &Difference) -> String {
    let id = &difference.id;
    let since = difference
        .since
        .map(|since| since.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_default();
    let mut text = match difference.state {
        DifferenceState::Unchanged => format!("  {id} is as it was on {since}\n"),
        DifferenceState::Unknown => format!("  nothing is remembered of {id} yet\n"),
        DifferenceState::Changed => format!("  {id} before, since {since}, and now\n"),
        DifferenceState::NotTrusted if difference.since.is_none() => {
            format!("  {id} is new, would take the name of a trusted skill, and is not served\n")
        }
        DifferenceState::NotTrusted => {
            format!("  {id} as it is trusted and served, since {since}, and as it is\n")
        }
        DifferenceState::Gone => {
            format!("  {id} is gone; trusted since {since}, and served all the same\n")
        }
    };
    for each in &difference.files {
        file(&mut text, id.as_str(), each);
    }
    text
}

fn file(text: &mut String, id: &str, file: &FileDifference) {
    let name = match &file.path {
        // Else a name could forge lines.
        Some(path) => format!("{id}/{}", spelt_out(path)),
        None => id.to_owned(),
    };
    // Writing to a string can't fail.
    if let Some([before, now]) = file.modes {
        let _ = writeln!(text, "mode of {name}: {before:o}, now {now:o}");
    }
    match &file.diff {
        Some(diff) => {
            text.push_str(diff);
            if !diff.is_empty() && !diff.ends_with('\n') {
                text.push('\n');
            }
        }
        None => {
            let why = if file.is_kept {
                "binary or long file differs"
            } else {
                "differs, and was not kept"
            };
            let size = |size: Option<u64>| {
                size.map_or_else(|| "absent".to_owned(), |size| format!("{size} bytes"))
            };
            let _ = match file.sizes {
                [None, None] => writeln!(text, "{why}: {name}"),
                sizes => {
                    let [before, now] = sizes.map(size);
                    writeln!(text, "{why}: {name}, {before}, now {now}")
                }
            };
        }
    }
}

/// The text with what a terminal would hide, or obey, spelt out: nobody trusts what they can't see.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_invisible(character) && !matches!(character, '\n' | '\t') {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use daemon::protocol::{ChangedKind, Difference, DifferenceState, FileDifference};
    use jiff::Timestamp;
    use skills::entry_id::EntryId;

    use super::{describe, visible};

    #[test]
    fn files_are_told_as_well_as_they_can_be() {
        let file = |path: &str, is_kept, diff: Option<&str>| FileDifference {
            path: Some(path.to_owned()),
            sizes: [Some(3), None],
            modes: None,
            is_kept,
            diff: diff.map(str::to_owned),
        };
        let difference = Difference {
            id: EntryId("skills/pdf".into()),
            kind: ChangedKind::Skill,
            state: DifferenceState::NotTrusted,
            since: Some(Timestamp::UNIX_EPOCH),
            hash: None,
            files: vec![
                FileDifference {
                    modes: Some([0o444, 0o555]),
                    ..file("a", true, Some("-x\n+y\n"))
                },
                file("b", true, None),
                file("c", false, None),
            ],
        };
        let expected =
            "  skills/pdf as it is trusted and served, since 1970-01-01 00:00:00 UTC, and as it is
mode of skills/pdf/a: 444, now 555
-x
+y
binary or long file differs: skills/pdf/b, 3 bytes, now absent
differs, and was not kept: skills/pdf/c, 3 bytes, now absent
";
        assert_eq!(describe(&difference), expected);
    }

    #[test]
    fn nothing_is_hidden() {
        let text = "+a\u{1b}[2K\r\u{202e}b\u{200b}\tc\n";
        assert_eq!(visible(text), "+a\\u{1b}[2K\\u{d}\\u{202e}b\\u{200b}\tc\n");
    }
}
