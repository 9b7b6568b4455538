//! The ids of pinned subjects, and back.

use std::collections::HashMap;
use std::sync::Arc;

use skills::catalog::{Entry, Snapshot, id_in_path};
use skills::entry_id::{EntryId, ServerName};
use skills::names::{encode, with_suffix};
use skills::problem::Problem;
use skills::tool::Tool;

use super::Scope;
use super::subject::{PinnedServer, Subject};

/// The subject of an entry.
fn of_entry(scope: &Scope, entry: &Entry) -> Subject {
    match entry {
        Entry::Tool { server, tool } => Subject::tool(&scope.server(&server.name), tool),
        Entry::Skill(skill) => Subject::skill(skill),
    }
}

/// The id of each subject; a server is `<server>/`. One that is not on the shelf gets the id that it would have alone; `None` where it
/// is hidden: nothing that is hidden may be named.
pub(super) fn of(
    snapshot: &Snapshot,
    scope: &Scope,
    subjects: &[&Subject],
) -> Vec<Option<EntryId>> {
    if subjects.is_empty() {
        return Vec::new();
    }
    let entries = snapshot.entries.iter();
    let known: HashMap<Subject, &EntryId> = entries
        .map(|(id, entry)| (of_entry(scope, entry), id))
        .collect();
    let id = |subject: &&Subject| match known.get(*subject) {
        Some(id) => Some((*id).clone()),
        None => alone(snapshot, subject),
    };
    subjects.iter().map(id).collect()
}

/// The id of a subject that is not on the shelf, if it is not for being hidden.
fn alone(snapshot: &Snapshot, subject: &Subject) -> Option<EntryId> {
    let id = named(snapshot, subject);
    let hiding = &snapshot.sources.hiding;
    let is_hidden = match subject {
        Subject::Server(_) => false,
        Subject::Skill { .. } => hiding.skill(&id),
        Subject::Tool { server, name } => {
            let shown = snapshot.sources.servers.get(&server.name);
            let shown = shown.and_then(|(server, _)| server.definitions.as_ref());
            let mut tools = shown.into_iter().flat_map(|shown| &shown.tools);
            let tool = tools.find(|tool| *tool.name == **name).cloned();
            // Of a tool that nobody serves only its name can tell.
            let tool = tool.or_else(|| Some(Arc::new(bare_tool(&server.name, name)?)));
            tool.is_some_and(|tool| hiding.tool(&server.name, &id, &tool))
        }
    };
    (!is_hidden).then_some(id)
}

fn named(snapshot: &Snapshot, subject: &Subject) -> EntryId {
    let directory = |server: &PinnedServer| {
        let shown = snapshot.server_file_name(&server.name);
        shown.unwrap_or_else(|| encode(server.name.as_str()))
    };
    match subject {
        Subject::Server(server) => EntryId(format!("{}/", directory(server)).into()),
        Subject::Tool { server, name } => EntryId::tool(&directory(server), &encode(name)),
        Subject::Skill { source, found } => {
            let name = found.file_name().unwrap_or_default().to_string_lossy();
            let name = match source {
                Some(source) => format!("{source}:{name}"),
                None => name.into_owned(),
            };
            let id = EntryId::skill(&encode(&name));
            if snapshot.entries.contains_key(&id) {
                // Another one has it.
                return EntryId::skill(&with_suffix(&name, &found.to_string_lossy()));
            }
            id
        }
    }
}

/// What a user means by an id or a path in the mount: an entry, `<server>/` or its SERVER.md, or one of the subjects that are not on
/// the shelf.
pub(super) fn find<'a>(
    snapshot: &Snapshot,
    scope: &Scope,
    id_or_path: &str,
    absent: impl Iterator<Item = &'a Subject>,
) -> Result<(EntryId, Subject), Problem> {
    let id = id_in_path(id_or_path);
    let server = id.strip_suffix("/SERVER").or_else(|| id.strip_suffix('/'));
    if let Some(wanted) = server {
        let mut servers = snapshot.sources.servers.keys();
        let is_it = |name: &&ServerName| snapshot.server_file_name(name).as_deref() == Some(wanted);
        if let Some(name) = servers.find(is_it) {
            let id = EntryId(format!("{wanted}/").into());
            return Ok((id, Subject::Server(scope.server(name))));
        }
    }
    snapshot
        .find(id_or_path)
        .map(|(id, entry)| (id, of_entry(scope, &entry)))
        .or_else(|problem| {
            let mut absent = absent
                .filter(|subject| scope.sees(subject))
                .filter_map(|subject| Some((alone(snapshot, subject)?, subject)));
            let found = absent.find(|(known, _)| known.as_str() == id);
            found
                .map(|(id, subject)| (id, subject.clone()))
                .ok_or(problem)
        })
}

/// A tool of which nothing is known but its name.
fn bare_tool(server: &ServerName, name: &str) -> Option<Tool> {
    let json = serde_json::json!({ "name": name, "inputSchema": { "type": "object" } });
    let raw = serde_json::value::to_raw_value(&json).ok()?;
    Tool::parse(server, 0, raw.into()).ok()
}
