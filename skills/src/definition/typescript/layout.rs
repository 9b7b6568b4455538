//! How types and their comments are laid out as text.

use crate::definition::notes::{Notes, string_literal};

/// The longest object that stays on one line, in bytes.
const MAX_INLINE: usize = 72;

/// A type, and what it can't say.
pub(super) struct Type {
    /// The members of the union, none of which is a bare union itself.
    pub(super) members: Vec<String>,
    pub(super) notes: Notes,
}

impl Type {
    /// A type of one word that has nothing to note.
    pub(super) fn plain(word: &str) -> Self {
        Self {
            members: vec![word.to_owned()],
            notes: Notes::default(),
        }
    }

    pub(super) fn code(&self) -> String {
        self.members.join("|")
    }

    /// The code as a part of a larger one, with its comment where it is read before what it is about.
    pub(super) fn commented(&self) -> String {
        let code = match self.members.as_slice() {
            [one] => one.clone(),
            _ => format!("({})", self.code()),
        };
        match code.split_once('\n') {
            Some((first, rest)) if !has_comment(first) => {
                format!("{first}{}\n{rest}", self.notes.line_comment())
            }
            _ => code + &self.notes.inline_comment(),
        }
    }

    /// The code so that an operator can be put to it.
    pub(super) fn operand(&self) -> String {
        let code = self.code();
        if self.members.len() > 1 || code.contains(" & ") || code.contains("/*") {
            format!("({code})")
        } else {
            code
        }
    }
}

/// A type that is all of the parts at once.
pub(super) fn intersection(mut parts: Vec<Vec<String>>) -> Vec<String> {
    parts.dedup();
    match parts.len() {
        0 => vec!["unknown".to_owned()],
        1 => parts.remove(0),
        _ => {
            let operands: Vec<_> = parts
                .into_iter()
                .map(|members| match members.as_slice() {
                    [one] => one.clone(),
                    _ => format!("({})", members.join("|")),
                })
                .collect();
            vec![operands.join(" & ")]
        }
    }
}

/// A property's name, quoted where it is no identifier.
pub(super) fn member_name(name: &str) -> String {
    let identifier = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if identifier {
        name.to_owned()
    } else {
        string_literal(name)
    }
}

/// An object type, on one line when it is short and has nothing to note.
pub(super) fn braces(members: &[(String, Notes)], depth: usize) -> String {
    if members.is_empty() {
        return "{}".to_owned();
    }
    let plain = members
        .iter()
        .all(|(code, notes)| notes.is_empty() && !code.contains(['\n', '/']));
    let codes: Vec<&str> = members.iter().map(|(code, _)| code.as_str()).collect();
    let inline = format!("{{{}}}", codes.join(", "));
    if plain && inline.len() <= MAX_INLINE {
        return inline;
    }
    let indent = " ".repeat(depth + 1);
    let lines: String = members
        .iter()
        .map(|(code, notes)| with_comment(&indent, code, notes))
        .collect();
    format!("{{\n{lines}{}}}", " ".repeat(depth))
}

/// The lines of a declaration or member; the comment stands at the end of the first, or above where that has one already.
pub(super) fn with_comment(indent: &str, code: &str, notes: &Notes) -> String {
    let comment = notes.line_comment();
    match code.split_once('\n') {
        Some((first, _)) if has_comment(first) && !comment.is_empty() => {
            format!("{indent}{}\n{indent}{code}\n", comment.trim_start())
        }
        Some((first, rest)) => format!("{indent}{first}{comment}\n{rest}\n"),
        None => format!("{indent}{code}{comment}\n"),
    }
}

fn has_comment(line: &str) -> bool {
    line.contains(" //") || line.contains(" /*")
}
