//! Members of objects by dots, and texts from files.

use std::io;

use serde_json::{Value, json};

use super::{fails, id, object, properties, read, tool};
use crate::arguments::{Origin, Validator, merge, parse_flags};

#[test]
fn dots_lead_into_objects_by_the_schema_of_each_member() {
    let schema = json!({
        "type": "object",
        "properties": {"filter": {"$ref": "#/$defs/filter"}, "name": {"type": "string"}},
        "$defs": {"filter": {
            "type": "object",
            "properties": {
                "state": {"type": "string"},
                "limit": {"type": "integer"},
                "draft": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "range": {"type": "object", "properties": {"from": {"type": "number"}}},
            },
        }},
    });
    let words = [
        "--filter.state",
        "007",
        "--filter.limit=3",
        "--no-filter.draft",
        "--filter.tags",
        "1",
        "--filter.tags",
        "b",
        "--name",
        "x",
        "--filter.range.from",
        "1.5",
    ];
    let expected = json!({
        "filter": {"state": "007", "limit": 3, "draft": false, "tags": ["1", "b"], "range": {"from": 1.5}},
        "name": "x",
    });
    assert_eq!(read(&schema, &words), Ok(expected));
    fails(
        read(&schema, &["--filter.limit", "x"]),
        &["--filter.limit must be integer, not \"x\""],
    );
    fails(
        read(&schema, &["--filter.stat", "x"]),
        &[
            "unknown flag \"--filter.stat\"",
            "did you mean --filter.state?",
        ],
    );
    fails(
        read(&schema, &["--filter.range.form", "1"]),
        &["did you mean --filter.range.from?"],
    );
    fails(
        read(&schema, &["--name.x", "1"]),
        &["unknown flag \"--name.x\""],
    );
    fails(
        read(&schema, &["--filter.", "1"]),
        &["unknown flag \"--filter.\""],
    );
    fails(
        read(&schema, &["--filter.state", "--filter.limit"]),
        &["--filter.state needs a value"],
    );
    fails(
        read(&schema, &["--filter.state", "a", "--filter.state", "b"]),
        &["--filter.state is given twice"],
    );
    for words in [
        ["--filter", "{}", "--filter.state", "a"],
        ["--filter.state", "a", "--filter", "{}"],
    ] {
        fails(
            read(&schema, &words),
            &["--filter is given as a whole and by its parts"],
        );
    }
}

#[test]
fn dots_lead_into_objects_under_a_union() {
    let union = |kind: &str| {
        properties(json!({"it": {kind: [
            {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": false},
            {"type": "object", "properties": {"number": {"type": "integer"}}, "additionalProperties": false},
            {"type": "null"},
        ]}}))
    };
    for kind in ["anyOf", "oneOf"] {
        assert_eq!(
            read(&union(kind), &["--it.id", "5"]),
            Ok(json!({"it": {"id": "5"}}))
        );
        assert_eq!(
            read(&union(kind), &["--it.number", "5"]),
            Ok(json!({"it": {"number": 5}}))
        );
        fails(
            read(&union(kind), &["--it.idd", "5"]),
            &["did you mean --it.id?"],
        );
    }
}

#[test]
fn a_name_that_has_a_dot_itself_comes_first() {
    let schema = properties(json!({
        "a.b": {"type": "integer"},
        "a": {"type": "object", "properties": {"b": {"type": "string"}, "c.d": {"type": "string"}}},
    }));
    assert_eq!(read(&schema, &["--a.b", "1"]), Ok(json!({"a.b": 1})));
    assert_eq!(
        read(&schema, &["--a.c.d", "1"]),
        Ok(json!({"a": {"c.d": "1"}}))
    );
}

#[test]
fn an_object_takes_names_that_it_does_not_declare_where_its_schema_does() {
    let schema = properties(json!({
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
        "rows": {"additionalProperties": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "any": {"type": "object"},
        "closed": {"type": "object", "additionalProperties": false},
        "open": {"type": "object", "properties": {"name": {}}, "additionalProperties": true},
        "declared": {"type": "object", "properties": {"x": {}}},
    }));
    for (word, value) in [
        ("--env.A=b=c", json!({"env": {"A": "b=c"}})),
        ("--env.a.b=1", json!({"env": {"a.b": "1"}})),
        ("--sizes.a=1", json!({"sizes": {"a": 1}})),
        ("--rows.first.n=1", json!({"rows": {"first": {"n": 1}}})),
        ("--any.a.b=1", json!({"any": {"a": {"b": "1"}}})),
    ] {
        assert_eq!(read(&schema, &[word]), Ok(value), "{word}");
    }
    assert_eq!(
        read(&schema, &["--env.A", "x"]),
        Ok(json!({"env": {"A": "x"}}))
    );
    for word in [
        "--closed.a=1",
        "--declared.y=1",
        "--open.nmae=1",
        "--env.=1",
        "--sizes.a",
    ] {
        read(&schema, &[word]).expect_err(word);
    }
}

#[test]
fn objects_from_json_and_from_flags_become_one() {
    let merged = merge(
        object(&json!({"filter": {"a": 1, "deep": {"x": 1}}, "b": 1})),
        object(&json!({"filter": {"c": 2, "deep": {"y": 2}}})),
    );
    let expected = json!({"filter": {"a": 1, "deep": {"x": 1, "y": 2}, "c": 2}, "b": 1});
    assert_eq!(Value::Object(merged.unwrap()), expected);
    let problem = merge(
        object(&json!({"filter": {"a": 1}})),
        object(&json!({"filter": {"a": 1}})),
    );
    let problem = problem.unwrap_err();
    assert!(
        problem.message.starts_with("filter.a is given twice"),
        "{problem}"
    );
}

/// What words mean where a file `f` and standard input hold a text.
fn from(schema: &Value, words: &[&str], held: &str) -> Result<Value, String> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let mut source = |origin: Origin<'_>| match origin {
        Origin::StandardInput | Origin::File("f") => Ok(held.to_owned()),
        Origin::File(_) => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let read = parse_flags(&tool(schema), &id(), &words, &mut source);
    read.map(Value::Object)
        .map_err(|problem| format!("{problem}\n{}", problem.hint.clone().unwrap_or_default()))
}

#[test]
fn a_text_may_come_from_a_file_or_standard_input() {
    let schema = properties(json!({
        "text": {"type": "string"}, "count": {"type": "integer"}, "state": {"enum": ["open"]}, "list": {"type": "array"},
        "object": {"type": "object", "properties": {"text": {"type": "string"}}},
    }));
    for word in ["@f", "-"] {
        // A string is what the file holds, to its last byte.
        assert_eq!(
            from(&schema, &["--text", word], "7\n"),
            Ok(json!({"text": "7\n"}))
        );
        let joined = format!("--text={word}");
        assert_eq!(from(&schema, &[&joined], "7"), Ok(json!({"text": "7"})));
        assert_eq!(
            from(&schema, &["--object.text", word], "x"),
            Ok(json!({"object": {"text": "x"}}))
        );
        // What can't end in a line break does without that of the file.
        assert_eq!(
            from(&schema, &["--count", word], "7\r\n"),
            Ok(json!({"count": 7}))
        );
        assert_eq!(
            from(&schema, &["--state", word], "open\n"),
            Ok(json!({"state": "open"}))
        );
        assert_eq!(
            from(&schema, &["--list", word], "[1,\n2]\n"),
            Ok(json!({"list": [1, 2]}))
        );
        assert!(from(&schema, &["--count", word], "7\n\n").is_err());
    }
    assert_eq!(
        from(&schema, &["--text", "@@f"], ""),
        Ok(json!({"text": "@f"}))
    );
    assert_eq!(
        from(&schema, &["--text", "@@@"], ""),
        Ok(json!({"text": "@@"}))
    );
    let absent = from(&schema, &["--text", "@alice"], "").unwrap_err();
    assert!(
        absent.contains("--text is to be read from the file \"alice\"")
            && absent.contains("written with @@"),
        "{absent}"
    );
}

#[test]
fn a_required_argument_that_has_a_default_is_filled_with_it() {
    let tool = tool(&json!({
        "type": "object",
        "properties": {
            "depth": {"type": "integer", "default": 3},
            "unit": {"$ref": "#/$defs/unit"},
            "wrong": {"type": "string", "default": null},
            "none": {"type": "string"},
            "optional": {"type": "integer", "default": 1},
        },
        "required": ["depth", "unit", "wrong", "none"],
        "$defs": {"unit": {"enum": ["m", "km"], "default": "km"}},
    }));
    let validator = Validator::new(&tool).unwrap();
    let mut arguments = object(&json!({"none": "x", "wrong": "y"}));
    let filled = validator.fill(&mut arguments);
    assert_eq!(Value::from(filled), json!({"depth": 3, "unit": "km"}));
    assert_eq!(
        Value::from(arguments.clone()),
        json!({"none": "x", "wrong": "y", "depth": 3, "unit": "km"})
    );
    validator.check(&tool, &id(), &arguments).unwrap();

    let mut given = object(&json!({"depth": 9, "unit": "m"}));
    assert!(validator.fill(&mut given).is_empty());
    assert_eq!(given["depth"], 9);
    // A default that does not fit is none: the argument is still missing.
    assert!(validator.check(&tool, &id(), &given).is_err());
}

#[test]
fn an_example_that_does_not_fit_is_not_shown() {
    let unlikely = json!({"properties": {"it": {"type": "integer"}}, "required": ["it"], "not": {"properties": {"it": {"const": 1}}}});
    let words = ["--x".to_owned()];
    let mut nothing = super::nothing_to_read;
    let problem = parse_flags(&tool(&unlikely), &id(), &words, &mut nothing).unwrap_err();
    let hint = problem.hint.unwrap();
    assert!(
        !hint.contains("would work") && hint.contains("shelf show server/make"),
        "{hint}"
    );
}
