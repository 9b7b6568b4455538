//! An MCP tool as the server sent it.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::entry_id::ServerName;
use crate::problem::Problem;

/// A tool's hints about itself (MCP `ToolAnnotations`), `None` where the server said nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`; false when unsaid.
    pub read_only: Option<bool>,
    /// `destructiveHint`; true when unsaid.
    pub destructive: Option<bool>,
    /// `idempotentHint`; false when unsaid.
    pub idempotent: Option<bool>,
    /// `openWorldHint`; true when unsaid.
    pub open_world: Option<bool>,
}

/// One tool: the bytes that the server sent, and what was read from them.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name as the server sent it.
    pub name: Arc<str>,
    /// `title`, else `annotations.title`.
    pub title: Option<String>,
    /// The whole description, as sent; empty where there was none.
    pub description: String,
    /// The `inputSchema` as sent.
    pub input_schema: Box<RawValue>,
    /// The `outputSchema` as sent.
    pub output_schema: Option<Box<RawValue>>,
    /// What the tool says of itself; untrusted.
    pub hints: Hints,
    /// Whether a plain call is refused (`execution.taskSupport: "required"`).
    pub requires_task: bool,
    /// The whole Tool object as the server sent it.
    pub raw: Arc<RawValue>,
    /// The hash of the canonical JSON: equal for definitions that differ in key order or white space alone.
    pub hash: [u8; 32],
}

impl Tool {
    /// Reads one element of a `tools/list` result.
    ///
    /// # Errors
    /// [`ProblemKind::MalformedTool`](crate::problem::ProblemKind::MalformedTool) naming the server and the
    /// tool (or its position) when there is no usable name or `inputSchema`. A hint of the wrong type is
    /// not an error: it counts as unsaid.
    pub fn parse(
        server: &ServerName,
        position: usize,
        raw: Arc<RawValue>,
    ) -> Result<Self, Problem> {
        let _ = (server, position, raw);
        todo!()
    }
}
