//! Turns the variables of other clients into ours: `${VAR}`, `${VAR:-default}`, and `$${` for a literal `${`.
//!
//! What a client leaves as it is must reach the server as it is, so it is escaped. What only that client can know is refused.

use std::collections::BTreeMap;
use std::path::Path;

use super::Client;
use crate::config::expansion::is_name;

/// A value that VS Code asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) description: Option<String>,
    pub(super) default: Option<String>,
}

/// What variables may stand for besides the environment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning<'a> {
    pub(super) client: Client,
    pub(super) project: Option<&'a Path>,
    pub(super) inputs: &'a BTreeMap<String, Input>,
}

/// What a reference becomes.
enum Piece {
    /// A reference of ours, without `${` and `}`.
    Variable(String),
    /// Text that stands for itself.
    Text(String),
    /// No reference at all for that client.
    AsWritten,
}

impl Meaning<'_> {
    /// The text in our syntax; `notes` takes what the user has to know.
    ///
    /// # Errors
    /// Why it can't be written in our syntax.
    pub(super) fn translate(self, text: &str, notes: &mut Vec<String>) -> Result<String, String> {
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(['$', '{']) {
            push_text(&mut written, &rest[..start]);
            rest = &rest[start..];
            let length = self.reference(rest).map_or(0, str::len);
            let (reference, after) = rest.split_at(length);
            let piece = if length == 0 {
                Piece::AsWritten
            } else {
                self.piece(reference, notes)?
            };
            match piece {
                Piece::Variable(name) => {
                    if written.ends_with('$') {
                        return Err(format!("a `$` right before `${{{name}}}` can't be written"));
                    }
                    written.push_str(&format!("${{{name}}}"));
                    rest = after;
                }
                Piece::Text(text) => {
                    push_text(&mut written, &text);
                    rest = after;
                }
                Piece::AsWritten => {
                    let (first, after) = rest.split_at(1);
                    push_text(&mut written, first);
                    rest = after;
                }
            }
        }
        push_text(&mut written, rest);
        Ok(written)
    }

    /// What may be a reference at the start of a text, which begins with `$` or `{`.
    fn reference(self, text: &str) -> Option<&str> {
        let in_braces = |open: &str| {
            text.strip_prefix(open)?;
            Some(&text[..=text.find('}')?])
        };
        match self.client {
            Client::ClaudeDesktop | Client::Codex | Client::Zed => None,
            Client::ClaudeCode | Client::Cursor | Client::VsCode | Client::Windsurf => {
                in_braces("${")
            }
            Client::OpenCode => in_braces("{"),
            Client::Gemini => in_braces("${").or_else(|| {
                let name = text.strip_prefix('$')?;
                let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let end = name.find(|letter| !is_part(letter)).unwrap_or(name.len());
                is_name(&name[..end]).then_some(&text[..=end])
            }),
        }
    }

    fn piece(self, reference: &str, notes: &mut Vec<String>) -> Result<Piece, String> {
        let inner = reference
            .trim_start_matches('$')
            .trim_start_matches('{')
            .trim_end_matches('}');
        match self.client {
            Client::ClaudeCode
                if self.project.is_some() && is_variable(inner, "CLAUDE_PROJECT_DIR") =>
            {
                self.workspace(inner).map(Piece::Text)
            }
            Client::ClaudeCode | Client::Gemini => Ok(shell_like(inner)),
            Client::OpenCode => match inner.split_once(':') {
                Some(("env", name)) if is_name(name) => Ok(Piece::Variable(name.to_owned())),
                Some(("file", _)) => Err(no_equal(reference)),
                _ => Ok(Piece::AsWritten),
            },
            Client::Cursor | Client::VsCode | Client::Windsurf => {
                self.editor_like(reference, inner, notes)
            }
            Client::ClaudeDesktop | Client::Codex | Client::Zed => Ok(Piece::AsWritten),
        }
    }

    /// The variables of VS Code, of which the others know a part.
    fn editor_like(
        self,
        reference: &str,
        inner: &str,
        notes: &mut Vec<String>,
    ) -> Result<Piece, String> {
        let (kind, name) = inner.split_once(':').unwrap_or((inner, ""));
        Ok(match (kind, name) {
            ("env", name) if is_name(name) => Piece::Variable(name.to_owned()),
            ("userHome", _) => Piece::Variable("HOME".to_owned()),
            ("pathSeparator" | "/", _) => Piece::Text("/".to_owned()),
            ("workspaceFolder" | "workspaceRoot" | "cwd", _) => Piece::Text(self.workspace(inner)?),
            ("workspaceFolderBasename", _) => {
                let workspace = self.workspace(inner)?;
                let name = Path::new(&workspace).file_name().unwrap_or_default();
                Piece::Text(name.to_string_lossy().into_owned())
            }
            ("input", id) if !id.is_empty() => self.input(id, notes),
            ("env" | "file" | "command" | "config" | "input", _) => {
                return Err(no_equal(reference));
            }
            _ => Piece::AsWritten,
        })
    }

    fn workspace(self, variable: &str) -> Result<String, String> {
        let Some(project) = self.project else {
            return Err(format!(
                "`${{{variable}}}` is the project that is open, and these settings belong to none"
            ));
        };
        let path = project.to_str().map(str::to_owned);
        path.ok_or_else(|| format!("the path of {} is not UTF-8", project.display()))
    }

    /// Nobody is asked here: what would be asked for is a variable.
    fn input(self, id: &str, notes: &mut Vec<String>) -> Piece {
        let mut name: String = id
            .chars()
            .map(|letter| match letter.to_ascii_uppercase() {
                letter if letter.is_ascii_alphanumeric() => letter,
                _ => '_',
            })
            .collect();
        if !is_name(&name) {
            name.insert_str(0, "INPUT_");
        }
        let input = self.inputs.get(id).cloned().unwrap_or_default();
        let description = input.description.map(|text| format!(" ({text})"));
        notes.push(format!(
            "asks for `{id}`{}: set {name} in the environment of `shelf mount`",
            description.unwrap_or_default()
        ));
        match input.default {
            Some(default) if !default.is_empty() && !default.contains(['$', '{', '}']) => {
                Piece::Variable(format!("{name}:-{default}"))
            }
            _ => Piece::Variable(name),
        }
    }
}

/// Adds text that stands for itself.
fn push_text(written: &mut String, text: &str) {
    for letter in text.chars() {
        // `$${` is a literal `${`.
        if letter == '{' && written.ends_with('$') {
            written.push('$');
        }
        written.push(letter);
    }
}

/// `VAR` and `VAR:-default`, as we write them.
fn shell_like(inner: &str) -> Piece {
    let name = inner.split_once(":-").map_or(inner, |(name, _)| name);
    if is_name(name) {
        Piece::Variable(inner.to_owned())
    } else {
        Piece::AsWritten
    }
}

fn is_variable(inner: &str, name: &str) -> bool {
    inner.split_once(":-").map_or(inner, |(name, _)| name) == name
}

fn no_equal(reference: &str) -> String {
    format!("`{reference}` has no equal here")
}
