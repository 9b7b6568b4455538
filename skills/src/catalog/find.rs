//! Finds an entry by what a user typed: an id, or a path in the mount.

use std::borrow::Cow;

use super::{Entry, EntryKind, Outline, Shown, Snapshot};
use crate::definition::quote;
use crate::entry_id::EntryId;
use crate::formats::names;
use crate::layout::bin;
use crate::names::nearest;
use crate::problem::{Problem, ProblemKind};
use crate::server::Phase;
use crate::summary::one_line;
use crate::tree::Node;

/// How many names a hint offers.
const SUGGESTIONS: usize = 5;

impl Snapshot {
    /// Finds an entry by its id, or by a path of the entry relative to the mount point (`mcp/<server>/<tool>.md`,
    /// `.schemas/<server>/<tool>.json`, `bin/<server>.<tool>`, `skills/<skill>` and everything below it), or by the name that
    /// providers know it by.
    ///
    /// They can't be confused: an id has one `/`, and so have only those paths that are ids themselves; such a name has none.
    ///
    /// # Errors
    /// [`ProblemKind::NotFound`](crate::problem::ProblemKind::NotFound) with the nearest ids, or
    /// [`ProblemKind::Server`](crate::problem::ProblemKind::Server) when it may be a tool of a server that did not tell its tools.
    pub fn find(&self, id_or_path: &str) -> Result<(EntryId, Entry), Problem> {
        let found = self.entries.get_key_value(id_or_path).or_else(|| {
            let id = self
                .id_of_path(id_or_path)
                .or_else(|| id_of_name(self, id_or_path))?;
            self.entries.get_key_value(id.as_str())
        });
        match found {
            Some((id, entry)) => Ok((id.clone(), entry.clone())),
            None => Err(not_found(self, id_or_path)),
        }
    }

    /// The id of the entry that a path of the tree belongs to.
    fn id_of_path(&self, path: &str) -> Option<String> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let path = path.trim_start_matches('/').trim_end_matches('/');
        let (top, below) = path.split_once('/')?;
        let node = self.tree.find(path.as_bytes())?;
        let id = match top {
            "mcp" => below.strip_suffix(".md")?.to_owned(),
            ".schemas" => below.strip_suffix(".json")?.to_owned(),
            "skills" => format!("skills/{}", below.split('/').next()?),
            // Not its name, which may have been cut.
            "bin" => match node {
                Node::File(file) => file.entry.as_ref()?.to_string(),
                Node::Directory(_) | Node::Link(_) => return None,
            },
            _ => return None,
        };
        Some(id)
    }
}

impl Outline {
    /// Finds an entry by its id, or by the name that providers know it by: [`Snapshot::find`] without the paths of files.
    ///
    /// # Errors
    /// Those of [`Snapshot::find`].
    pub fn find(&self, wanted: &str) -> Result<(EntryId, Entry), Problem> {
        let by_name = || {
            self.entries()
                .get_key_value(id_of_name(self, wanted)?.as_str())
        };
        match self.entries().get_key_value(wanted).or_else(by_name) {
            Some((id, entry)) => Ok((id.clone(), entry.clone())),
            None => Err(not_found(self, wanted)),
        }
    }
}

/// The id of the tool that has this name in provider formats.
fn id_of_name(shown: &dyn Shown, name: &str) -> Option<String> {
    let is_tool = |(id, entry): (_, &Entry)| (entry.kind() == EntryKind::Tool).then_some(id);
    let tools = shown.entries().iter().filter_map(is_tool);
    names::id_of(name, tools).map(EntryId::to_string)
}

/// The server of this name, as the mount shows it.
fn server_named(shown: &dyn Shown, wanted: &str) -> Option<String> {
    shown.sources().servers.keys().find_map(|server| {
        let name = shown.server_name(server)?;
        (name == wanted || server.as_str() == wanted).then_some(name)
    })
}

/// Says of a tool of a server whose tools are not known why that is so: it may well exist.
fn unknown_server(shown: &dyn Shown, id: &str) -> Option<Problem> {
    let group = match id.split_once('/') {
        Some((group, _)) => group,
        None => names::server_of(id)?,
    };
    let servers = &shown.sources().servers;
    let (name, (_, state)) = servers.iter().find(|(name, (server, _))| {
        server.definitions.is_none() && shown.server_name(name).as_deref() == Some(group)
    })?;
    let (why, hint) = match &state.phase {
        Phase::Failed(why) => (
            format!("the server failed: {why}"),
            "mend the server or its entry in the configuration; `shelf status` shows every server",
        ),
        Phase::Disabled => (
            "the server is disabled in the configuration".to_owned(),
            "enable it there",
        ),
        Phase::Cold | Phase::Starting | Phase::Ready => (
            "the server has not told its tools yet".to_owned(),
            "try again in a moment; `shelf status` shows every server",
        ),
    };
    let problem = Problem::new(ProblemKind::Server, why).at_server(name.as_str(), None);
    Some(problem.hint(hint))
}

fn not_found(shown: &dyn Shown, wanted: &str) -> Problem {
    let problem = Problem::new(
        ProblemKind::NotFound,
        format!("no entry `{}`", one_line(wanted)),
    );
    // A path is judged by the id that it would have.
    let id = &*id_in_path(wanted);
    if let Some(server) = server_named(shown, id.trim_end_matches('/')) {
        return problem.hint(format!(
            "that is a server; its tools: shelf list --server {}",
            quote(&server)
        ));
    }
    if let Some(unknown) = unknown_server(shown, id) {
        return unknown;
    }
    let near = nearest(id, shown.entries().keys().map(EntryId::as_str), SUGGESTIONS);
    if near.is_empty() {
        return problem.hint("`shelf list` prints every id");
    }
    let near: Vec<String> = near.iter().map(|id| format!("`{id}`")).collect();
    problem.hint(format!("the nearest are {}", near.join(", ")))
}

/// The id of the tool that a path would belong to if there were one; what is no path of a tool is left as it is.
pub fn id_in_path(path: &str) -> Cow<'_, str> {
    let relative = path.strip_prefix("./").unwrap_or(path);
    let relative = relative.trim_start_matches('/');
    match relative.split_once('/') {
        Some(("mcp", id)) => id.strip_suffix(".md").unwrap_or(id).into(),
        Some((".schemas", id)) => id.strip_suffix(".json").unwrap_or(id).into(),
        Some(("bin", name)) => bin::id_of(name).map_or(path.into(), Cow::Owned),
        _ => path.into(),
    }
}
