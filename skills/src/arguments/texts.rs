//! Where the text of a flag comes from: the word itself, a file, or standard input.
//!
//! It says what a word asks for; reading it is the caller's.

use std::borrow::Cow;
use std::io;

use crate::problem::{Problem, ProblemKind};

/// What a word asks to be read in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// `-`: all of standard input.
    StandardInput,
    /// `@FILE`: all of a file.
    File(&'a str),
}

/// Reads what a word asks for.
pub type Read<'r> = dyn FnMut(Origin<'_>) -> io::Result<String> + 'r;

/// The text of a flag.
#[derive(Debug)]
pub(super) struct Text<'w> {
    pub(super) text: Cow<'w, str>,
    /// Whether it was read from somewhere, where a last line break may belong to the file and not to the value.
    pub(super) is_read: bool,
}

/// Reads the text that a word stands for. `@@` begins a text that itself begins with `@`.
///
/// # Errors
/// The sentence that says why not, without the flag's name, and what would help.
pub(super) fn text<'w>(
    word: &'w str,
    read: &mut Read<'_>,
) -> Result<Text<'w>, (String, Option<String>)> {
    let origin = match word.strip_prefix('@') {
        _ if word == "-" => Origin::StandardInput,
        Some(text) if text.starts_with('@') => return Ok(written(text)),
        Some(file) => Origin::File(file),
        None => return Ok(written(word)),
    };
    match (read(origin), origin) {
        (Ok(text), _) => Ok(Text {
            text: text.into(),
            is_read: true,
        }),
        (Err(error), Origin::StandardInput) => Err((
            format!("is to be read from standard input: {error}"),
            Some("the text - itself can be given with --args".to_owned()),
        )),
        (Err(error), Origin::File(file)) => Err((
            format!("is to be read from the file {file:?}: {error}"),
            Some("a text that begins with @ is written with @@".to_owned()),
        )),
    }
}

/// Reads the text that a word stands for, for a value that is nothing but a text.
///
/// # Errors
/// As [`parse_flags`](super::parse_flags), under the name that the value is given by.
pub fn read_text(name: &str, word: &str, read: &mut Read<'_>) -> Result<String, Problem> {
    match text(word, read) {
        Ok(text) => Ok(text.text.into_owned()),
        Err((why, hint)) => {
            let problem = Problem::new(ProblemKind::Arguments, format!("{name} {why}"));
            Err(hint.into_iter().fold(problem, Problem::hint))
        }
    }
}

fn written(text: &str) -> Text<'_> {
    Text {
        text: text.into(),
        is_read: false,
    }
}
