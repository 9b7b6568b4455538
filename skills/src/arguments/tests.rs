//! Arguments from flags and JSON, against schemas that the tests write.

mod corpus;
mod flags;
mod places;
mod round_trip;
mod validation;
mod values;

use std::io;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Origin, merge, parse_flags, parse_json};
use crate::entry_id::EntryId;
use crate::problem::{Problem, ProblemKind};
use crate::tool::{Hints, Tool};

/// A tool of that `inputSchema`.
pub(super) fn tool(schema: &Value) -> Tool {
    let schema = RawValue::from_string(schema.to_string()).unwrap();
    Tool {
        name: "make".into(),
        title: None,
        description: String::new(),
        raw: schema.clone().into(),
        input_schema: schema,
        output_schema: None,
        hints: Hints::default(),
        requires_task: false,
        hash: [0; 32],
    }
}

/// Where no word asks for a file.
fn nothing_to_read(origin: Origin<'_>) -> io::Result<String> {
    Err(io::Error::other(format!("{origin:?} is not expected")))
}

fn id() -> EntryId {
    EntryId::tool("server", "make")
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Checks what every refusal has: its kind, its place, and a command that would work.
#[track_caller]
fn refusal(problem: &Problem) -> String {
    assert_eq!(problem.kind, ProblemKind::Arguments);
    assert!(
        problem.to_string().starts_with("server/make: "),
        "{problem}"
    );
    let hint = problem.hint.as_ref().unwrap();
    assert!(
        hint.contains("a call that would work: shelf call server/make"),
        "{hint}"
    );
    format!("{problem}\nhint: {hint}")
}

/// What the words mean to a tool with these properties.
fn read(schema: &Value, words: &[&str]) -> Result<Value, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    match parse_flags(&tool(schema), &id(), &words, &mut nothing_to_read) {
        Ok(arguments) => Ok(Value::Object(arguments)),
        Err(problem) => Err(refusal(&problem)),
    }
}

fn properties(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// What `--it text` is with a schema.
fn one(schema: Value, text: &str) -> Result<Value, String> {
    read(&properties(json!({"it": schema})), &["--it", text]).map(|all| all["it"].clone())
}

#[track_caller]
fn fails(result: Result<Value, String>, parts: &[&str]) {
    let text = result.expect_err("it was taken");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn json_must_be_one_object() {
    assert_eq!(
        parse_json(" {\"b\": 1, \"a\": []} ").unwrap(),
        object(&json!({"b": 1, "a": []}))
    );
    for (text, fault) in [
        ("[1]", "must be a JSON object, not an array"),
        ("null", "must be a JSON object, not null"),
        ("{\"a\": 1", "can't be read as JSON: EOF"),
        ("{\"a\": 1, \"a\": 1}", "the key \"a\" stands twice"),
        (
            "{\"a\": 123456789012345678901}",
            "123456789012345678901 has more digits",
        ),
    ] {
        let problem = parse_json(text).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Arguments);
        assert!(problem.message.contains(fault), "{text}: {problem}");
    }
}

#[test]
fn a_name_given_twice_is_refused_not_chosen() {
    let merged = merge(object(&json!({"b": 1})), object(&json!({"a": 2}))).unwrap();
    assert_eq!(merged, object(&json!({"b": 1, "a": 2})));
    let problem = merge(object(&json!({"a": 1})), object(&json!({"a": 1}))).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Arguments);
    assert_eq!(problem.message, "a is given twice, as JSON and as a flag");
}
