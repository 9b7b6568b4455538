//! The summary of an entry: one line for an index, and texts of strangers made safe to show.

mod distinct;
mod prose;
mod sentence;
mod visible;

#[cfg(test)]
mod tests;

pub(crate) use self::distinct::distinguish;
pub(crate) use self::visible::visible;
pub use self::visible::{is_invisible, spelt_out};

/// The longest summary, in characters.
pub const MAX_CHARACTERS: usize = 120;

/// The first sentence of a description on one line: Markdown, labels, emoji, headings, list numbers and control
/// characters (ANSI, zero-width, bidi) removed, at most [`MAX_CHARACTERS`], cut at a word.
pub fn summarize(description: &str) -> String {
    let mut summary = summarize_once(description);
    // What stripping lays bare may be a label or a mark again. This ends: a round only takes characters away, or puts an
    // ellipsis in the place of a colon.
    loop {
        let next = summarize_once(&summary);
        if next == summary {
            return summary;
        }
        summary = next;
    }
}

fn summarize_once(description: &str) -> String {
    let blocks = prose::blocks(&visible(description));
    let first = sentence::first(&blocks);
    let line = if first.is_empty() {
        one_line(description)
    } else {
        first
    };
    shorten(&line)
}

/// A text made safe for a terminal or an index: one line, control, ANSI, zero-width and bidi characters removed.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in visible(text).split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// At most [`MAX_CHARACTERS`] of a line: cut at a word where there is one in the second half, as scripts without spaces have none.
pub(crate) fn shorten(line: &str) -> String {
    let Some((limit, _)) = line.char_indices().nth(MAX_CHARACTERS - 1) else {
        return line.to_owned();
    };
    if line[limit..].chars().nth(1).is_none() {
        return line.to_owned();
    }
    let head = &line[..limit];
    let at_word = match head.rfind(' ') {
        Some(space) if space > limit / 2 && !line[limit..].starts_with(' ') => &head[..space],
        _ => head,
    };
    let kept = at_word.trim_end_matches(|c: char| c.is_whitespace() || ".,;:-–—([{/…".contains(c));
    format!("{kept}…")
}
