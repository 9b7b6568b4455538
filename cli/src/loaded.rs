//! What a session was handed out already, by the log of every daemon: no daemon need run.

use daemon::access_log::reader::loads;
use daemon::caller::own_session;
use skills::entry_id::EntryId;
use skills::problem::Problem;

use crate::environment::Environment;
use crate::error::usage;
use crate::known::Known;

/// The entries that a session was handed out, each once, in the order of their first time; without a name, those of the session
/// that this command belongs to. What was handed out from another catalog than the one that is meant does not count.
pub(crate) fn loaded_ids(
    environment: &Environment,
    session: Option<&str>,
    known: &mut Known,
) -> Result<Vec<EntryId>, Problem> {
    let session = match session {
        Some(session) => session.to_owned(),
        None => own_session(environment.session().as_deref()).ok_or_else(|| {
            usage("it can't be told which session this is").hint(
                "name it: set SHELF_SESSION, or give --session SESSION; `shelf log` shows the names",
            )
        })?,
    };
    let catalog = known.catalog();
    loads(&environment.access_log()?, &session, catalog.as_deref())
}
