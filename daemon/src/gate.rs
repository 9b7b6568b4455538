//! The one gate before every server, and before what the socket lists. It allows all: there is no policy yet.
//!
//! The tree is not filtered here: a policy that hides entries belongs to the catalog's writer, which then never has them.

use skills::catalog::Entry;
use skills::entry_id::EntryId;
use skills::problem::Problem;

use crate::caller::Caller;

/// A call that somebody asks for.
#[derive(Debug)]
pub struct Call<'a> {
    /// The tool.
    pub id: &'a EntryId,
    /// Who asks.
    pub caller: &'a Caller,
    /// The arguments, already checked against the schema.
    pub arguments: &'a serde_json::Map<String, serde_json::Value>,
}

/// What the gate says to a call.
#[derive(Debug)]
pub enum Decision {
    /// It may go on.
    Allow,
    /// It may not, and why.
    Deny(Problem),
}

/// Whether the call may go to the server.
pub fn authorize(_call: &Call<'_>) -> Decision {
    Decision::Allow
}

/// Whether the entry is shown at all.
pub fn visible(_entry: &Entry) -> bool {
    true
}
