//! An MCP tool as the server sent it.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::entry_id::ServerName;
use crate::json::{self, Json};
use crate::problem::{Problem, ProblemKind};

#[cfg(test)]
mod tests;

/// What a user can do about a tool that its server describes wrongly.
const REPORT_HINT: &str = "the server's other tools work; report this one to the server's authors";

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
        let json = Json::parse(&raw);
        let Some(name) = json
            .get("name")
            .and_then(Json::string)
            .filter(|name| !name.is_empty())
        else {
            let message = format!("tool number {} of the list has no name", position + 1);
            return Err(Problem::new(ProblemKind::MalformedTool, message)
                .at_server(server.as_str(), None)
                .hint(REPORT_HINT));
        };
        let input_schema = match json.get("inputSchema") {
            Some(schema) if schema.members().is_some() => owned(schema),
            other => {
                let fault = other.map_or("is missing", |_| "is not an object");
                return Err(Problem::new(
                    ProblemKind::MalformedTool,
                    format!("inputSchema {fault}"),
                )
                .at_server(server.as_str(), Some(&name))
                .hint(REPORT_HINT));
            }
        };
        let text = |value: Option<&Json<'_>>| value.and_then(Json::string).map(String::from);
        let annotations = json.get("annotations");
        let hint = |name| annotations?.get(name)?.bool();
        let annotated_title = || text(annotations.and_then(|said| said.get("title")));
        Ok(Self {
            name: name.into(),
            title: text(json.get("title")).or_else(annotated_title),
            description: text(json.get("description")).unwrap_or_default(),
            input_schema,
            output_schema: json
                .get("outputSchema")
                .filter(|schema| schema.members().is_some())
                .map(owned),
            hints: Hints {
                read_only: hint("readOnlyHint"),
                destructive: hint("destructiveHint"),
                idempotent: hint("idempotentHint"),
                open_world: hint("openWorldHint"),
            },
            requires_task: text(
                json.get("execution")
                    .and_then(|said| said.get("taskSupport")),
            )
            .is_some_and(|support| support == "required"),
            hash: *blake3::hash(json::canonical(&raw).as_bytes()).as_bytes(),
            raw: Arc::clone(&raw),
        })
    }
}

/// The value as JSON of its own.
fn owned(json: &Json<'_>) -> Box<RawValue> {
    RawValue::from_string(json.raw().to_owned()).expect("a value inside valid JSON is valid JSON")
}
