use std::sync::Arc;

use serde_json::value::RawValue;

use super::Tool;
use crate::entry_id::ServerName;
use crate::problem::{Problem, ProblemKind};

fn parse(text: &str) -> Result<Tool, Problem> {
    let raw: Arc<RawValue> = RawValue::from_string(text.to_owned()).unwrap().into();
    Tool::parse(&ServerName::new("files"), 3, raw)
}

#[test]
fn a_tool_keeps_the_bytes_that_were_sent() {
    let text = r#"{ "x-vendor": 1e3, "name": "read", "title": "Read", "description": "Reads.",
        "inputSchema": {"type": "object", "properties": {"n": {"default": 0.1000}}},
        "outputSchema": {"type":"object"}, "execution": {"taskSupport": "required"},
        "annotations": {"title": "Other", "readOnlyHint": true, "openWorldHint": false} }"#;
    let tool = parse(text).unwrap();
    assert_eq!(tool.raw.get(), text);
    assert_eq!(
        (&*tool.name, tool.title.as_deref(), &*tool.description),
        ("read", Some("Read"), "Reads.")
    );
    assert_eq!(
        tool.input_schema.get(),
        r#"{"type": "object", "properties": {"n": {"default": 0.1000}}}"#
    );
    assert_eq!(tool.output_schema.unwrap().get(), r#"{"type":"object"}"#);
    assert_eq!(
        (
            tool.hints.read_only,
            tool.hints.destructive,
            tool.hints.open_world
        ),
        (Some(true), None, Some(false))
    );
    assert!(tool.requires_task);
}

#[test]
fn fields_of_a_wrong_type_count_as_unsaid() {
    let tool = parse(
        r#"{"name":"t","title":5,"description":null,"inputSchema":{},"outputSchema":true,"execution":"required",
            "annotations":{"title":"Kept","readOnlyHint":"yes","destructiveHint":1,"idempotentHint":null}}"#,
    )
    .unwrap();
    assert_eq!(tool.title.as_deref(), Some("Kept"));
    assert_eq!(
        (tool.description.as_str(), tool.hints),
        ("", super::Hints::default())
    );
    assert!(tool.output_schema.is_none() && !tool.requires_task);
    assert!(parse(r#"{"name":"t","inputSchema":{},"annotations":[]}"#).is_ok());
}

#[test]
fn a_malformed_tool_is_a_problem_that_names_it() {
    for (text, shown) in [
        (
            r#"{"inputSchema":{}}"#,
            "files: tool number 4 of the list has no name",
        ),
        (
            r#"{"name":"","inputSchema":{}}"#,
            "files: tool number 4 of the list has no name",
        ),
        ("[]", "files: tool number 4 of the list has no name"),
        (r#"{"name":"t"}"#, "files/t: inputSchema is missing"),
        (
            r#"{"name":"t","inputSchema":[]}"#,
            "files/t: inputSchema is not an object",
        ),
        (
            r#"{"name":"t","inputSchema":null}"#,
            "files/t: inputSchema is not an object",
        ),
    ] {
        let problem = parse(text).unwrap_err();
        assert_eq!(
            (problem.kind, problem.to_string().as_str()),
            (ProblemKind::MalformedTool, shown)
        );
        assert!(problem.hint.is_some());
    }
}

#[test]
fn the_hash_is_blind_to_key_order_and_white_space_alone() {
    let hash = |text: &str| parse(text).unwrap().hash;
    let one = hash(r#"{"name":"t","inputSchema":{"a":1,"b":2}}"#);
    assert_eq!(
        one,
        hash(r#"{ "inputSchema": {"b":2, "a":1}, "name":"t" }"#)
    );
    assert_ne!(one, hash(r#"{"name":"t","inputSchema":{"a":1,"b":2.0}}"#));
    assert_ne!(
        one,
        hash(r#"{"name":"t","inputSchema":{"a":1,"b":2},"x":0}"#)
    );
}
