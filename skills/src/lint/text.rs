//! Rules over the whole text of a SKILL.md.

use std::collections::BTreeMap;

use super::{Finding, Subject};

/// The specification, "Progressive disclosure": at most so many lines in a SKILL.md.
const MAX_LINES: u32 = 500;

/// The largest SKILL.md that is no burden, in bytes: a model reads it whole. The specification counts lines alone.
const MAX_BYTES: usize = 100 * 1024;

/// UTF-8's byte order mark.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The specification, "SKILL.md format": the file begins with the frontmatter. Clients that look for `---` there don't find it.
pub(super) fn byte_order_mark(subject: &Subject<'_>) -> Vec<Finding> {
    if !subject.skill.text.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        return Vec::new();
    }
    let message = "a byte order mark stands before the frontmatter, which not every client reads";
    vec![subject.warning(1, message, "save the file as UTF-8 without one")]
}

/// The specification, "Progressive disclosure": the file is kept under 500 lines.
pub(super) fn lines(subject: &Subject<'_>) -> Vec<Finding> {
    let document = &subject.document;
    let lines = document.body_line() - 1 + document.body.lines().count();
    if lines <= MAX_LINES as usize {
        return Vec::new();
    }
    let message = format!("the file has {lines} lines, more than {MAX_LINES}");
    let hint = "move what is not always needed to files of the skill";
    vec![subject.warning(MAX_LINES + 1, message, hint)]
}

/// No file of the specification's size comes near it.
pub(super) fn bytes(subject: &Subject<'_>) -> Vec<Finding> {
    let bytes = subject.skill.text.len();
    if bytes <= MAX_BYTES {
        return Vec::new();
    }
    let message = format!("the file has {bytes} bytes, more than {MAX_BYTES}");
    let hint = "move what is not always needed to files of the skill";
    vec![subject.warning(None, message, hint)]
}

/// Characters that nobody sees and a model reads, or that show a text in another order than it has. Once a line and character.
pub(super) fn hidden_characters(subject: &Subject<'_>) -> Vec<Finding> {
    let document = &subject.document;
    let yaml = document.yaml.lines().zip(2_u32..);
    let body_line = u32::try_from(document.body_line()).unwrap_or(u32::MAX);
    let body = document.body.lines().zip(body_line..);
    let lines = yaml.chain(body);
    lines
        .flat_map(|(line, number)| {
            hidden(line).into_iter().map(move |(character, count)| {
                let times = match count {
                    1 => String::new(),
                    count => format!(", {count} times"),
                };
                let message = format!(
                    "a character that can't be seen: U+{:04X}{times}",
                    u32::from(character)
                );
                subject.warning(number, message, "delete it")
            })
        })
        .collect()
}

/// The hidden characters of a line, each with how often it is there.
fn hidden(line: &str) -> BTreeMap<char, usize> {
    let mut found = BTreeMap::new();
    let mut before = None;
    let mut in_flag = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        in_flag = character == BLACK_FLAG || (in_flag && is_tag(character));
        let joins = matches!(character, '\u{200c}' | '\u{200d}')
            && before.is_some_and(is_joined)
            && characters.peek().copied().is_some_and(is_joined);
        if is_hidden(character) && !joins && !in_flag {
            *found.entry(character).or_default() += 1;
        }
        before = Some(character);
    }
    found
}

/// The flag that tags turn into that of a region.
const BLACK_FLAG: char = '\u{1f3f4}';

/// Whether a character is zero-width or turns the direction of text, is a tag (a hidden ASCII letter) or steers a terminal. Others that
/// show nothing by themselves belong to a script or an emoji (variation selectors, soft hyphens).
fn is_hidden(character: char) -> bool {
    is_tag(character)
        || (character.is_control() && !matches!(character, '\t' | '\u{c}'))
        || matches!(
            character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}

/// Whether a joiner beside it is part of how a script or an emoji is written.
fn is_joined(character: char) -> bool {
    !character.is_ascii() && !is_hidden(character)
}
