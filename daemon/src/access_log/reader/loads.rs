//! What a session was handed out, in the order in which it was.

use std::collections::HashSet;
use std::path::Path;

use skills::entry_id::EntryId;
use skills::problem::Problem;

use super::{Filter, Reader};
use crate::access_log::record::EventName;

/// The entries that were handed out to a session by whatever daemon, each once, at the place of its first time.
///
/// With a catalog those of another do not count: the same id is another definition there. A line of an earlier version names none,
/// and is taken for one of any.
///
/// # Errors
/// When the log can't be read.
pub fn loads(
    directory: &Path,
    session: &str,
    catalog: Option<&str>,
) -> Result<Vec<EntryId>, Problem> {
    let counts = |of: Option<&str>| match (catalog, of) {
        (Some(asked), Some(of)) => of == asked,
        _ => true,
    };
    let filter = Filter {
        session: Some(session.to_owned()),
        events: vec![EventName::Load],
        ..Filter::default()
    };
    let mut seen = HashSet::new();
    let lines = Reader::open(directory)?.lines(filter);
    Ok(lines
        .filter(|line| counts(line.record.catalog.as_deref()))
        .filter_map(|line| line.record.entry)
        .filter(|entry| seen.insert(entry.clone()))
        .collect())
}
