//! File names for names that come from strangers (SEMANTICS 16).
//!
//! It knows nothing of servers, tools or skills: what wants a name is a name and a source.

mod allotment;
mod nearest;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use data_encoding::BASE32_NOPAD;
use percent_encoding::percent_decode_str;

use crate::summary::is_invisible;

pub(crate) use allotment::{Allotted, Claim, Taken, Ties, allot};
pub(crate) use nearest::nearest;

/// The longest file name, in bytes, with room for `.json` and the collision suffix.
pub const MAX_BYTES: usize = 240;

/// What stands for the empty name: a `%` without its digits, which no other name becomes.
const EMPTY: &str = "%";

/// How many base32 letters a suffix has.
const LETTERS: usize = 6;

/// Encodes a name so that it can stand as one path component: `/`, NUL, control characters, a leading `.` or `-`, `%` and
/// `~` percent-encoded, reversibly; an over-long name is cut and given `~` and a hash. Never empty, `.` or `..`, and never an
/// option where a command takes a file or an id.
///
/// Characters that break a line or can't be seen (C1, U+2028, U+2029, bidi, zero-width) are encoded as well, and so are bytes
/// that are no UTF-8.
pub fn encode(name: impl AsRef<OsStr>) -> String {
    let name = name.as_ref().as_bytes();
    if name.is_empty() {
        return EMPTY.to_owned();
    }
    let encoded = escape(name);
    if encoded.len() <= MAX_BYTES {
        return encoded;
    }
    format!(
        "{}~{}",
        cut(&encoded, MAX_BYTES - 1 - LETTERS),
        letters(b"", name, LETTERS)
    )
}

/// The name that [`encode`] was given; `None` for what it can't have made, or when the name was cut or is no UTF-8.
pub fn decode(file_name: &str) -> Option<String> {
    if file_name == EMPTY {
        return Some(String::new());
    }
    let name = percent_decode_str(file_name).decode_utf8().ok()?;
    (encode(&*name) == file_name && !file_name.contains('~')).then(|| name.into_owned())
}

/// The encoded name with the collision suffix: `~` and six base32 letters of a hash of source and original name.
pub fn with_suffix(name: &str, source: &str) -> String {
    suffixed(name.as_ref(), source.as_ref(), LETTERS)
}

/// [`with_suffix`] with a hash of any length; the name gives way, never the hash.
fn suffixed(name: &OsStr, source: &OsStr, count: usize) -> String {
    let encoded = encode(name);
    format!(
        "{}~{}",
        cut(&encoded, MAX_BYTES + LETTERS - count),
        letters(source.as_bytes(), name.as_bytes(), count)
    )
}

fn escape(name: &[u8]) -> String {
    let mut encoded = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if encoded.is_empty() && matches!(character, '.' | '-') || must_encode(character) {
                escape_bytes(&mut encoded, character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                encoded.push(character);
            }
        }
        escape_bytes(&mut encoded, chunk.invalid());
    }
    encoded
}

fn escape_bytes(encoded: &mut String, bytes: &[u8]) {
    for byte in bytes {
        write!(encoded, "%{byte:02X}").expect("writing to a string can't fail");
    }
}

/// Whether a character can't stand in a file name, has a meaning of its own in our names, or hides what a terminal or a
/// reader would see.
fn must_encode(character: char) -> bool {
    matches!(character, '/' | '%' | '~') || is_invisible(character)
}

/// The longest beginning of at most `max` bytes that ends neither inside a character nor inside an escape.
fn cut(encoded: &str, max: usize) -> &str {
    if encoded.len() <= max {
        return encoded;
    }
    let mut end = max;
    while !encoded.is_char_boundary(end) {
        end -= 1;
    }
    let inside_escape = encoded.as_bytes()[..end]
        .iter()
        .rev()
        .take(2)
        .position(|byte| *byte == b'%');
    &encoded[..inside_escape.map_or(end, |digits| end - digits - 1)]
}

/// The first `count` letters of the hash of a source and a name.
fn letters(source: &[u8], name: &[u8], count: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    // The length keeps (`ab`, `c`) and (`a`, `bc`) apart.
    hasher.update(&(source.len() as u64).to_le_bytes());
    hasher.update(source);
    hasher.update(name);
    let mut letters = BASE32_NOPAD
        .encode(hasher.finalize().as_bytes())
        .to_ascii_lowercase();
    letters.truncate(count);
    letters
}
