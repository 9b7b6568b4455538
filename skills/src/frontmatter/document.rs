//! A SKILL.md split into its frontmatter and its body.

use std::path::Path;

use crate::problem::{Problem, ProblemKind};

/// The only line that opens or closes a frontmatter.
const FENCE: &str = "---";

/// The two parts of a SKILL.md, without a byte order mark and with plain line feeds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// What stands between the fences. Its first line is line 2 of the file.
    pub(crate) yaml: String,
    /// What follows the closing fence.
    pub(crate) body: String,
    /// Whether bytes that are not UTF-8 were replaced.
    pub(crate) lossy: bool,
}

impl Document {
    /// The line of the file that the body begins on, counted from 1.
    pub(crate) fn body_line(&self) -> usize {
        // The two fences, and the line after them.
        self.yaml.matches('\n').count() + 3
    }

    /// Splits a SKILL.md; `file` is named in the error.
    ///
    /// # Errors
    /// [`ProblemKind::SkillSkipped`] when no frontmatter begins on the first line, or when it is never closed.
    pub(crate) fn split(bytes: &[u8], file: &Path) -> Result<Self, Problem> {
        let skipped = |line, message: String| {
            Problem::new(ProblemKind::SkillSkipped, message).at_file(file, line)
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let decoded = String::from_utf8_lossy(bytes);
        let lossy = matches!(decoded, std::borrow::Cow::Owned(_));
        // A lone carriage return ends a line, too: that keeps line numbers as editors show them.
        let text = decoded.replace("\r\n", "\n").replace('\r', "\n");

        let Some(rest) = after_opening(&text) else {
            return Err(match opening_elsewhere(&text) {
                _ if text.trim().is_empty() => skipped(None, "the file is empty".to_owned()),
                Some(line) => skipped(
                    Some(line),
                    format!("the frontmatter begins on line {line}, not on line 1"),
                )
                .hint("delete everything before the first `---`"),
                None => skipped(Some(1), "no frontmatter".to_owned()).hint(
                    "begin the file with a line `---`, `name:`, `description:` and a second line `---`",
                ),
            });
        };
        let Some((yaml, body)) = at_closing(rest) else {
            let almost = rest
                .lines()
                .position(|line| line.trim() == FENCE)
                .map(|index| index as u32 + 2);
            return Err(
                skipped(Some(1), "the frontmatter is never closed".to_owned()).hint(match almost {
                    Some(line) => format!("line {line} must be exactly `---`, without spaces"),
                    None => "end it with a line that is exactly `---`".to_owned(),
                }),
            );
        };
        Ok(Self {
            yaml: yaml.to_owned(),
            body: body.to_owned(),
            lossy,
        })
    }
}

/// The text after the opening fence. White space behind it is forgiven: nothing else can be meant.
fn after_opening(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (first.trim_end() == FENCE).then_some(rest)
}

/// The text before and after the first line that is exactly a fence.
fn at_closing(text: &str) -> Option<(&str, &str)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.strip_suffix('\n').unwrap_or(line) == FENCE {
            return Some((&text[..start], &text[end..]));
        }
        start = end;
    }
    None
}

/// The line of a fence that is followed by a `name:` or `description:`: a frontmatter with something before it.
fn opening_elsewhere(text: &str) -> Option<u32> {
    let lines: Vec<&str> = text.lines().collect();
    lines.windows(2).zip(1..).find_map(|(pair, line)| {
        let begins = pair[0].trim() == FENCE
            && (pair[1].starts_with("name:") || pair[1].starts_with("description:"));
        begins.then_some(line)
    })
}
