//! JSON whose bytes are kept: numbers, escapes, key order and duplicate keys as they were written.
//!
//! It knows nothing of schemas or tools.

mod tree;

#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

pub use self::tree::{Json, JsonString, MAX_DEPTH, Node};

/// Levels beyond this are not indented further, so that hostile nesting can't make the text grow with its square.
const MAX_INDENT: usize = 64;

/// Re-indents by two spaces; every token stays as it was written.
pub fn pretty(raw: &RawValue) -> String {
    let text = raw.get();
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    let mut depth = 0_usize;
    let mut opened = false;
    for token in tokens(text) {
        let closes = matches!(token, "}" | "]");
        if closes {
            depth -= 1;
        }
        // An empty object or array stays on its line.
        if opened != closes {
            break_line(&mut out, depth);
        }
        opened = false;
        match token {
            "{" | "[" => {
                out.push_str(token);
                depth += 1;
                opened = true;
            }
            "," => {
                out.push(',');
                break_line(&mut out, depth);
            }
            ":" => out.push_str(": "),
            _ => out.push_str(token),
        }
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
}

/// The canonical form: no white space, keys sorted at every level by what they say; numbers, escapes and duplicate keys as written.
///
/// Keys that say the same keep their order however each is spelt: which of them counts depends on it ([`Json::get`]). What is nested deeper than [`MAX_DEPTH`] keeps the order of its keys.
pub fn canonical(raw: &RawValue) -> String {
    let mut out = String::with_capacity(raw.get().len());
    write_canonical(&Json::parse(raw), &mut out);
    out
}

fn write_canonical(json: &Json<'_>, out: &mut String) {
    match json.node() {
        Node::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_cached_key(|(key, _)| key.decode());
            out.push('{');
            for (position, (key, value)) in sorted.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                out.push_str(key.raw());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Node::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Node::Deep => out.extend(tokens(json.raw())),
        Node::String(_) | Node::Number | Node::Bool(_) | Node::Null => out.push_str(json.raw()),
    }
}

/// The tokens of a valid JSON text: strings, numbers and words whole, punctuation one by one.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_ascii_start();
    std::iter::from_fn(move || {
        let first = *rest.as_bytes().first()?;
        let length = match first {
            b'"' => string_length(rest),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => word_length(rest),
        };
        let (token, after) = rest.split_at(length);
        rest = after.trim_ascii_start();
        Some(token)
    })
}

/// The length of the string that the text begins with, its quotes included.
fn string_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut position = 1;
    while position < bytes.len() {
        match bytes[position] {
            b'"' => return position + 1,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    bytes.len()
}

/// The length of the number or word that the text begins with.
fn word_length(text: &str) -> usize {
    text.bytes()
        .position(|byte| byte.is_ascii_whitespace() || b"{}[],:\"".contains(&byte))
        .unwrap_or(text.len())
}
