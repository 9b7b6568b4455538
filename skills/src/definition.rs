//! The definition of a tool as an agent reads it: `<tool>.md`.

use crate::entry_id::EntryId;
use crate::tool::Tool;

/// Renders `<tool>.md`. `schema_path` is the path of the raw schema, relative to the mount point
/// (`.schemas/<server>/<tool>.json`).
pub fn render(tool: &Tool, id: &EntryId, schema_path: &str) -> String {
    let _ = (tool, id, schema_path);
    todo!()
}

/// The exact command line that calls the tool with all required arguments, with example values, as shown in the definition
/// (`shelf call <id> --flag value …`), quoted for a POSIX shell.
pub fn example_call(tool: &Tool, id: &EntryId) -> String {
    let _ = (tool, id);
    todo!()
}
