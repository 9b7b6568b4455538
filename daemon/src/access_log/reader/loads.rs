//! What a session was handed out, in the order in which it was.

use std::collections::HashSet;
use std::path::Path;

use skills::entry_id::EntryId;
use skills::problem::Problem;

use super::{Filter, Reader};
use crate::access_log::record::EventName;

/// The entries that were handed out to a session by whatever daemon, each once, at the place of its first time.
///
/// # Errors
/// When the log can't be read.
pub fn loads(directory: &Path, session: &str) -> Result<Vec<EntryId>, Problem> {
    let filter = Filter {
        session: Some(session.to_owned()),
        events: vec![EventName::Load],
        ..Filter::default()
    };
    let mut seen = HashSet::new();
    let lines = Reader::open(directory)?.lines(filter);
    Ok(lines
        .filter_map(|line| line.record.entry)
        .filter(|entry| seen.insert(entry.clone()))
        .collect())
}
