//! The arguments of a call, as the command line gives them.

use std::io::Read;
use std::sync::Arc;

use clap::Args as _;
use daemon::protocol::Description;
use serde_json::{Map, Value};
use skills::arguments::parse_json;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::tool::Tool;

use super::Arguments;
use crate::error::usage;

/// Reads `--args`: a JSON object, `@file`, or `-` for standard input.
pub(super) fn read(text: &str) -> Result<Map<String, Value>, Problem> {
    if text == "-" {
        let mut json = String::new();
        std::io::stdin()
            .lock()
            .read_to_string(&mut json)
            .map_err(|e| usage(format!("standard input can't be read: {e}")))?;
        return parse_json(&json);
    }
    let Some(file) = text.strip_prefix('@') else {
        return parse_json(text);
    };
    let json = std::fs::read_to_string(file)
        .map_err(|e| usage(format!("the arguments can't be read: {e}")).at_file(file, None))?;
    parse_json(&json).map_err(|problem| problem.at_file(file, None))
}

/// The tool behind a description.
pub(super) fn tool(description: &Description) -> Result<Tool, Problem> {
    let Some(tool) = &description.tool else {
        return Err(usage(format!(
            "`{}` is a skill, there is nothing to call",
            description.id
        ))
        .hint(format!("read it: shelf show {}", description.id)));
    };
    let server = ServerName::new(&tool.server);
    Tool::parse(&server, 0, Arc::from(tool.raw.clone()))
}

/// Whether the tool's schema names a parameter.
pub(super) fn has_parameter(tool: &Tool, name: &str) -> bool {
    serde_json::from_str::<Value>(tool.input_schema.get())
        .is_ok_and(|schema| schema["properties"].get(name).is_some())
}

/// The first option of ours among the tool's flags that the tool does not know.
pub(super) fn misplaced(tool: &Tool, flags: &[String]) -> Option<String> {
    let command = Arguments::augment_args(clap::Command::new("call"));
    let is_ours = |name: &str| command.get_arguments().any(|a| a.get_long() == Some(name));
    flags
        .iter()
        .filter_map(|flag| flag.strip_prefix("--"))
        .map(|flag| flag.split_once('=').map_or(flag, |(name, _)| name))
        .find(|name| is_ours(name) && !has_parameter(tool, name))
        .map(str::to_owned)
}

/// A result that is not of the kind that was asked for.
pub(super) fn another_kind(message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::ResultKind, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;
    use skills::entry_id::ServerName;
    use skills::tool::Tool;

    use super::{has_parameter, misplaced, read};

    fn tool(json: &str) -> Tool {
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        Tool::parse(&ServerName::new("test"), 0, Arc::from(raw)).unwrap()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn arguments_come_from_text_and_files() {
        assert_eq!(read(r#"{"a": 1}"#).unwrap()["a"], 1);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"b": "x"}"#).unwrap();
        let argument = format!("@{}", file.path().display());
        assert_eq!(read(&argument).unwrap()["b"], "x");
    }

    #[test]
    fn what_is_no_object_is_refused_before_anything_is_sent() {
        for text in ["", "[]", "1", "{", "{} {}", "@/no/such/file"] {
            assert_eq!(read(text).unwrap_err().kind.exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn only_options_that_the_tool_does_not_know_are_misplaced() {
        let schema = r#"{"name":"t","inputSchema":{"type":"object","properties":{"json":{}}}}"#;
        let tool = tool(schema);
        assert!(has_parameter(&tool, "json") && !has_parameter(&tool, "help"));
        assert_eq!(misplaced(&tool, &words(&["--json", "--mistyped"])), None);
        assert_eq!(
            misplaced(&tool, &words(&["--timeout=3s"])),
            Some("timeout".into())
        );
        assert_eq!(
            misplaced(&tool, &words(&["--json", "--config", "x"])),
            Some("config".into())
        );
    }
}
