//! The arguments of a call, as the command line gives them.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use clap::Args as _;
use daemon::protocol::{Description, MAX_LINE};
use serde_json::{Map, Value};
use skills::arguments::parse_json;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::tool::Tool;

use super::Arguments;
use crate::error::usage;

/// Reads `--args`: a JSON object, `@file`, or `-` for standard input. Whoever writes there may take as long as the call.
pub(super) fn read(text: &str, timeout: Option<Duration>) -> Result<Map<String, Value>, Problem> {
    if text == "-" {
        let json = in_time(timeout, || load(std::io::stdin().lock()))?
            .map_err(|e| usage(format!("standard input can't be read: {e}")))?;
        return parse_json(&json);
    }
    let Some(file) = text.strip_prefix('@') else {
        return parse_json(text);
    };
    let path = PathBuf::from(file);
    let json = in_time(timeout, || File::open(path).and_then(load))?
        .map_err(|e| usage(format!("the arguments can't be read: {e}")).at_file(file, None))?;
    parse_json(&json).map_err(|problem| problem.at_file(file, None))
}

/// Reads no more than a request can hold.
pub(super) fn load(from: impl Read) -> io::Result<String> {
    let mut json = Vec::new();
    from.take(MAX_LINE as u64 + 1).read_to_end(&mut json)?;
    if json.len() > MAX_LINE {
        let limit = MAX_LINE / 1024 / 1024;
        return Err(io::Error::other(format!("there are more than {limit} MiB")));
    }
    String::from_utf8(json).map_err(io::Error::other)
}

/// Waits for a result, at most for so long; the process ends before a thread that is late.
pub(super) fn in_time<T: Send + 'static>(
    limit: Option<Duration>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let Some(limit) = limit else {
        return Ok(work());
    };
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    result.recv_timeout(limit).map_err(|_| {
        Problem::new(
            ProblemKind::TimedOut,
            format!("timed out after {limit:?}, while the arguments were read; nothing was sent"),
        )
    })
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
    use std::time::Duration;

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
        assert_eq!(read(r#"{"a": 1}"#, None).unwrap()["a"], 1);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"b": "x"}"#).unwrap();
        let argument = format!("@{}", file.path().display());
        assert_eq!(read(&argument, None).unwrap()["b"], "x");
    }

    #[test]
    fn what_is_no_object_is_refused_before_anything_is_sent() {
        for text in ["", "[]", "1", "{", "{} {}", "@/no/such/file"] {
            assert_eq!(read(text, None).unwrap_err().kind.exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn arguments_without_end_are_refused() {
        let problem = read("@/dev/zero", None).unwrap_err();
        assert_eq!(problem.kind.exit_code(), 2);
        assert!(problem.message.contains("more than 8 MiB"), "{problem}");
    }

    #[test]
    fn the_time_limit_holds_for_arguments_that_do_not_come() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let status = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(status.unwrap().success());
        let argument = format!("@{}", pipe.display());
        let problem = read(&argument, Some(Duration::from_millis(50))).unwrap_err();
        assert_eq!(problem.kind.exit_code(), 124, "{problem}");
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
