//! What of a text can be seen: terminal escapes and invisible characters removed, line breaks unified; or spelt out.

use std::fmt::Write as _;

/// Removes terminal escapes, control characters and characters that show nothing or reorder text; line breaks and tabs
/// stay, every kind of line break as `\n`.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Most of a text is letters that need no look at all.
        let plain = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~'));
        let (plain, others) = rest.split_at(plain.count());
        out.push_str(plain);
        rest = others;
        let Some(character) = rest.chars().next() else {
            break;
        };
        let after = &rest[character.len_utf8()..];
        rest = match character {
            '\u{1b}' => after_escape(after),
            '\u{9b}' => after_control_sequence(after),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => after_control_string(after),
            '\r' if after.starts_with('\n') => after,
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.push('\n');
                after
            }
            '\t' => {
                out.push('\t');
                after
            }
            '\u{b}' | '\u{c}' => {
                out.push(' ');
                after
            }
            _ => {
                if !is_invisible(character) {
                    out.push(character);
                }
                after
            }
        };
    }
    out
}

/// The text with every character that shows nothing, or turns the direction of others, spelt out as `\u{202e}`: nothing in it deceives
/// the eye, and nothing is lost. It is on one line. In JSON a backslash that was written is doubled, so that nobody can write what looks
/// like this.
pub fn spelt_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_invisible(character) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// Whether a character shows nothing or reorders others: controls, Unicode's `Default_Ignorable_Code_Point`s (zero-width,
/// bidi, variation selectors, tags) and interlinear annotation.
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// What follows an escape sequence whose ESC has been read.
fn after_escape(text: &str) -> &str {
    match text.as_bytes().first() {
        Some(b'[') => after_control_sequence(&text[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => after_control_string(&text[1..]),
        _ => {
            let body = text.trim_start_matches(|c: char| matches!(c, ' '..='/'));
            match body.chars().next() {
                Some('0'..='~') => &body[1..],
                _ => text,
            }
        }
    }
}

/// CSI: parameters, intermediates, one final character. Without the final one, nothing is taken.
fn after_control_sequence(text: &str) -> &str {
    let body = text
        .trim_start_matches(|c: char| matches!(c, '0'..='?'))
        .trim_start_matches(|c: char| matches!(c, ' '..='/'));
    match body.chars().next() {
        Some('@'..='~') => &body[1..],
        _ => text,
    }
}

/// OSC, DCS and their kin up to BEL or ST. Without an end nothing is taken, or one escape would hide the rest.
fn after_control_string(text: &str) -> &str {
    let end = text.find(['\u{7}', '\u{9c}', '\u{1b}']);
    match end.map(|end| &text[end..]) {
        Some(end) if end.starts_with("\u{1b}\\") => &end[2..],
        Some(end) if end.starts_with('\u{7}') => &end[1..],
        Some(end) if end.starts_with('\u{9c}') => &end['\u{9c}'.len_utf8()..],
        _ => text,
    }
}
