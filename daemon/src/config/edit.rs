//! Changes a `shelf.toml` and keeps what else is in it: comments, order and form.
//!
//! It must not know who asks for the change. A result that our own reader does not take is never written.

mod table;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;

use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use toml_edit::{DocumentMut, Item};

use super::definition::Definition;
use super::{Config, Transport, node, reader};

pub use self::write::{Written, edit, is_editable};

/// The tables that servers stand in.
const SECTIONS: [&str; 2] = ["servers", "mcpServers"];

/// Adds servers to a configuration's text.
///
/// # Errors
/// When one of this name is there, or the result would not be read as it is meant.
pub fn add(
    path: &Path,
    source: &str,
    servers: &[(ServerName, Definition)],
) -> Result<String, Problem> {
    let before = read(path, source)?;
    let mut text = source.to_owned();
    for (name, definition) in servers {
        let document = parse(path, &text)?;
        if let Some(server) = before.servers.get(name) {
            let message = format!("there is a server `{name}` already");
            return Err(Problem::new(ProblemKind::Usage, message)
                .at_file(path, Some(server.line))
                .hint(format!("remove it first: shelf servers remove {name}")));
        }
        text = with(document, text, name, definition);
    }
    let after = check(path, &before, &text)?;
    for (name, _) in servers {
        let server = after.servers.get(name);
        if server.is_none_or(|server| matches!(server.transport, Transport::Invalid(_))) {
            let message = format!("a server `{name}` that is added here would not be read");
            return Err(Problem::new(ProblemKind::Configuration, message)
                .at_file(path, None)
                .hint("servers are tables [servers.NAME]; shelf config check says what is wrong with the file"));
        }
    }
    Ok(text)
}

/// Removes a server from a configuration's text, with the comment right above it.
///
/// # Errors
/// When there is none of this name, or the result would not be read.
pub fn remove(path: &Path, source: &str, name: &ServerName) -> Result<String, Problem> {
    let before = read(path, source)?;
    let mut document = parse(path, source)?;
    let mut removed = false;
    for section in SECTIONS {
        removed |= table::remove(&mut document, section, name.as_str());
    }
    if !removed {
        let names: Vec<_> = before.servers.keys().map(ServerName::as_str).collect();
        let message = format!("there is no server `{name}`");
        let hint = match names.is_empty() {
            true => "it has no servers".to_owned(),
            false => format!("it has: {}", names.join(", ")),
        };
        return Err(Problem::new(ProblemKind::NotFound, message)
            .at_file(path, None)
            .hint(hint));
    }
    let text = document.to_string();
    check(path, &before, &text)?;
    Ok(text)
}

/// What our own reader says of a server as it would be written.
pub(super) fn problems_of(name: &ServerName, definition: &Definition) -> Vec<Problem> {
    let text = table::alone(name.as_str(), definition);
    match reader::read(Path::new("shelf.toml"), &text) {
        Ok(config) => config.problems,
        Err(fault) => vec![super::problem(Path::new("shelf.toml"), fault)],
    }
}

/// The text with a server more. It stands at the end, where it changes nothing that is there; only in a table that is written on
/// one line has it to stand in that.
fn with(
    mut document: DocumentMut,
    text: String,
    name: &ServerName,
    definition: &Definition,
) -> String {
    if let Some(Item::Value(value)) = document.get_mut(SECTIONS[0])
        && let Some(servers) = value.as_inline_table_mut()
    {
        let server = table::table(definition).into_inline_table();
        servers.insert(name.as_str(), server.into());
        servers.fmt();
        return document.to_string();
    }
    let mut added = table::alone(name.as_str(), definition);
    let mut text = text;
    if !text.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        added.insert(0, '\n');
    }
    if text.contains("\r\n") {
        added = added.replace('\n', "\r\n");
    }
    text + &added
}

fn parse(path: &Path, source: &str) -> Result<DocumentMut, Problem> {
    source.parse().map_err(|error: toml_edit::TomlError| {
        let offset = error.span().map_or(0, |span| span.start);
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        Problem::new(ProblemKind::Configuration, message)
            .at_file(path, Some(node::line_at(source, offset)))
    })
}

fn read(path: &Path, source: &str) -> Result<Config, Problem> {
    reader::read(path, source).map_err(|fault| super::problem(path, fault))
}

/// Refuses a text that is wrong where it was not before; what it says now.
fn check(path: &Path, before: &Config, text: &str) -> Result<Config, Problem> {
    let mut after = read(path, text)?;
    let mut known: Vec<_> = before
        .problems
        .iter()
        .map(|problem| &problem.message)
        .collect();
    for problem in std::mem::take(&mut after.problems) {
        match known
            .iter()
            .position(|message| **message == problem.message)
        {
            Some(place) => drop(known.swap_remove(place)),
            None => {
                // The line is one of a text that nobody will see.
                return Err(Problem {
                    location: None,
                    ..problem
                }
                .at_file(path, None));
            }
        }
    }
    Ok(after)
}
