//! The ids of pinned subjects, and back.

use std::collections::HashMap;

use skills::catalog::{Entry, Snapshot, id_in_path};
use skills::entry_id::{EntryId, ServerName};
use skills::names::encode;
use skills::problem::Problem;

use super::subject::Subject;

/// The subject of an entry.
fn of_entry(entry: &Entry) -> Subject {
    match entry {
        Entry::Tool { server, tool } => Subject::tool(&server.name, tool),
        Entry::Skill(skill) => Subject::skill(skill),
    }
}

/// The id of each subject; a server is `<server>/`. One that is not on the shelf gets the id that it would have alone.
pub(super) fn of(snapshot: &Snapshot, subjects: &[&Subject]) -> Vec<EntryId> {
    if subjects.is_empty() {
        return Vec::new();
    }
    let entries = snapshot.entries.iter();
    let known: HashMap<Subject, &EntryId> =
        entries.map(|(id, entry)| (of_entry(entry), id)).collect();
    let id = |subject: &&Subject| match known.get(*subject) {
        Some(id) => (*id).clone(),
        None => alone(snapshot, subject),
    };
    subjects.iter().map(id).collect()
}

fn alone(snapshot: &Snapshot, subject: &Subject) -> EntryId {
    let directory = |server: &ServerName| {
        let shown = snapshot.server_file_name(server);
        shown.unwrap_or_else(|| encode(server.as_str()))
    };
    match subject {
        Subject::Server(server) => EntryId(format!("{}/", directory(server)).into()),
        Subject::Tool { server, name } => EntryId::tool(&directory(server), &encode(name)),
        Subject::Skill { source, found } => {
            let name = encode(found.file_name().unwrap_or_default());
            match source {
                Some(source) => EntryId::skill(&format!("{}:{name}", encode(source))),
                None => EntryId::skill(&name),
            }
        }
    }
}

/// What a user means by an id or a path in the mount: an entry, `<server>/` or its SERVER.md, or one of the subjects that are not on
/// the shelf.
pub(super) fn find<'a>(
    snapshot: &Snapshot,
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
            return Ok((id, Subject::Server(name.clone())));
        }
    }
    snapshot
        .find(id_or_path)
        .map(|(id, entry)| (id, of_entry(&entry)))
        .or_else(|problem| {
            let mut absent = absent.map(|subject| (alone(snapshot, subject), subject));
            let found = absent.find(|(known, _)| known.as_str() == id);
            found
                .map(|(id, subject)| (id, subject.clone()))
                .ok_or(problem)
        })
}
