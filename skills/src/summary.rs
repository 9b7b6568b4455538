//! The summary of an entry: one line for an index.

/// The longest summary, in characters.
pub const MAX_CHARACTERS: usize = 120;

/// The first sentence of a description on one line: Markdown, labels, emoji, headings, list numbers and control
/// characters (ANSI, zero-width, bidi) removed, at most [`MAX_CHARACTERS`], cut at a word.
pub fn summarize(description: &str) -> String {
    let _ = description;
    todo!()
}

/// A text made safe for a terminal or an index: one line, control, ANSI, zero-width and bidi characters removed.
pub fn one_line(text: &str) -> String {
    let _ = text;
    todo!()
}
