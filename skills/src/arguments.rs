//! The arguments of a call: from flags or JSON to an object that fits the tool's schema.

use serde_json::{Map, Value};

use crate::entry_id::EntryId;
use crate::problem::Problem;
use crate::tool::Tool;

/// Reads the flags after the id by the tool's schema: a string stays a string even when it looks like a number.
///
/// # Errors
/// [`ProblemKind::Arguments`](crate::problem::ProblemKind::Arguments): an unknown flag (with the nearest names), a
/// flag without its value, a value that its schema does not allow.
pub fn parse_flags(
    tool: &Tool,
    id: &EntryId,
    flags: &[String],
) -> Result<Map<String, Value>, Problem> {
    let _ = (tool, id, flags);
    todo!()
}

/// A tool's schema made ready for checking; the daemon keeps one a tool.
#[derive(Debug)]
pub struct Validator(());

impl Validator {
    /// Compiles the tool's `inputSchema`. Never fetches a `$ref` from the network.
    ///
    /// # Errors
    /// [`ProblemKind::MalformedTool`](crate::problem::ProblemKind::MalformedTool) when the schema itself can't be used.
    pub fn new(tool: &Tool) -> Result<Self, Problem> {
        let _ = tool;
        todo!()
    }

    /// Checks arguments before anything is sent.
    ///
    /// # Errors
    /// [`ProblemKind::Arguments`](crate::problem::ProblemKind::Arguments): every fault with its place, the tool's
    /// arguments, and as the hint a command that would work.
    pub fn check(
        &self,
        tool: &Tool,
        id: &EntryId,
        arguments: &Map<String, Value>,
    ) -> Result<(), Problem> {
        let _ = (tool, id, arguments);
        todo!()
    }
}
