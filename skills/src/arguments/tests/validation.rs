//! Checking against the schema.

use std::time::Instant;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{id, nothing_to_read, object, refusal, tool};
use crate::arguments::{Validator, parse_flags};
use crate::problem::ProblemKind;

/// The faults of arguments, a line each.
#[track_caller]
fn faults(schema: &Value, arguments: &Value) -> Vec<String> {
    let tool = tool(schema);
    let validator = Validator::new(&tool).unwrap();
    let Err(problem) = validator.check(&tool, &id(), &object(arguments)) else {
        return Vec::new();
    };
    let text = refusal(&problem);
    assert!(
        text.contains("the arguments do not fit the schema"),
        "{text}"
    );
    text.lines()
        .skip(1)
        .take_while(|line| {
            !line.contains("declares no arguments") && !line.starts_with("arguments of")
        })
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn every_fault_is_told_with_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "message": {"type": "string", "minLength": 2},
            "count": {"type": "integer", "maximum": 5},
            "mode": {"enum": ["fast", "slow"]},
            "items": {"type": "array", "items": {"type": "object", "required": ["a/b"], "properties": {"a/b": {"type": "boolean"}}}},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
        },
        "required": ["message", "count"],
    });
    assert_eq!(
        faults(
            &schema,
            &json!({"message": "hi", "count": 5, "items": [{"a/b": true}]})
        ),
        [""; 0]
    );
    let found = faults(
        &schema,
        &json!({"message": "x", "mode": "fats", "items": [{"a/b": true}, {}, {"a/b": "yes"}], "code": "A1", "cuont": 1}),
    );
    for fault in [
        "/cuont: unknown, did you mean count?",
        "/count: missing",
        "/message: \"x\" is shorter than 2 characters",
        "/mode: must be \"fast\" or \"slow\", not \"fats\"",
        "/items/1/a~1b: missing",
        "/items/2/a~1b: must be boolean, not \"yes\"",
        "/code: must match ^[a-z]+$, unlike \"A1\"",
    ] {
        assert!(
            found.iter().any(|line| line == fault),
            "{fault} is not in {found:#?}"
        );
    }
    assert_eq!(found.len(), 7);
    assert_eq!(
        faults(&schema, &json!({"message": "xx", "count": 6})),
        ["/count: 6 is greater than the maximum of 5"]
    );
}

#[test]
fn a_union_says_what_would_fit() {
    let schema = json!({"type": "object", "properties": {
        "plain": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        "one": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["a"]}]},
    }, "anyOf": [{"required": ["plain"]}, {"required": ["one"]}]});
    assert_eq!(
        faults(&schema, &json!({"plain": 1})),
        ["/plain: must be string or array, not 1"]
    );
    assert_eq!(faults(&schema, &json!({"one": {}})), ["/one/a: missing"]);
    assert_eq!(
        faults(&schema, &json!({})),
        ["/: fits none of its forms (/plain: missing; or /one: missing)"]
    );
}

#[test]
fn undeclared_names_pass_only_where_the_schema_says_so() {
    let declared = json!({"type": "object", "properties": {"a": {}}});
    let with = |keyword: &str, value: Value| {
        let mut schema = declared.clone();
        schema[keyword] = value;
        schema
    };
    let given = json!({"b": 1});
    assert_eq!(faults(&declared, &given), ["/b: unknown"]);
    assert_eq!(
        faults(&with("additionalProperties", json!(false)), &given),
        ["/b: unknown"]
    );
    assert_eq!(
        faults(&with("additionalProperties", json!(true)), &given),
        [""; 0]
    );
    assert_eq!(
        faults(
            &with("additionalProperties", json!({"type": "integer"})),
            &given
        ),
        [""; 0]
    );
    assert_eq!(
        faults(
            &with("additionalProperties", json!({"type": "string"})),
            &given
        ),
        ["/b: must be string, not 1"]
    );
    assert_eq!(
        faults(&with("patternProperties", json!({"^b": {}})), &given),
        [""; 0]
    );
    assert_eq!(
        faults(&with("allOf", json!([{"properties": {"b": {}}}])), &given),
        [""; 0]
    );
    assert_eq!(
        faults(&with("if", json!({"properties": {"b": {}}})), &given),
        [""; 0]
    );
    assert_eq!(faults(&json!({"type": "object"}), &given), [""; 0]);
    assert_eq!(
        faults(
            &json!({"type": "object", "additionalProperties": false}),
            &given
        ),
        ["/b: unknown"]
    );
    let empty = json!({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": false}}});
    assert_eq!(
        faults(&empty, &json!({"a": {"b": 1}})),
        ["/a: must be empty"]
    );
}

#[test]
fn many_faults_are_counted_not_listed() {
    let schema = json!({"type": "object", "properties": {"it": {"type": "array", "items": {"type": "string"}}}});
    let found = faults(&schema, &json!({"it": vec![1; 100]}));
    assert_eq!(found.len(), 21);
    assert_eq!(found[20], "and 80 more");
}

#[test]
fn long_values_are_not_repeated() {
    let schema = json!({"type": "object", "properties": {"it": {"type": "integer"}}});
    let found = faults(&schema, &json!({"it": "x".repeat(10_000)}));
    assert!(found[0].len() < 120, "{}", found[0]);
    assert_eq!(
        faults(&schema, &json!({"it": [1, 2]})),
        ["/it: must be integer, not an array"]
    );
}

#[test]
fn the_dialect_is_the_one_that_is_declared() {
    let tuple = |dialect: Option<&str>, keyword: &str| {
        let mut schema =
            json!({"type": "object", "properties": {"it": {keyword: [{"type": "integer"}]}}});
        if let Some(dialect) = dialect {
            schema["$schema"] = json!(dialect);
        }
        faults(&schema, &json!({"it": ["x"]})).len()
    };
    assert_eq!(tuple(None, "prefixItems"), 1);
    assert_eq!(
        tuple(
            Some("https://json-schema.org/draft/2020-12/schema"),
            "prefixItems"
        ),
        1
    );
    assert_eq!(
        tuple(Some("http://json-schema.org/draft-07/schema#"), "items"),
        1
    );
    assert_eq!(
        tuple(
            Some("http://json-schema.org/draft-07/schema#"),
            "prefixItems"
        ),
        0
    );
}

#[test]
fn a_format_is_for_the_server_to_judge() {
    for dialect in [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
    ] {
        let schema = json!({"$schema": dialect, "type": "object", "properties": {"it": {"type": "string", "format": "uri"}}});
        assert_eq!(faults(&schema, &json!({"it": "not a uri"})), [""; 0]);
    }
}

#[test]
fn a_schema_is_never_fetched() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("schema.json");
    std::fs::write(&file, "{}").unwrap();
    for reference in [
        "https://example.com/schema.json",
        &format!("file://{}", file.display()),
    ] {
        let tool = tool(&json!({"type": "object", "properties": {"it": {"$ref": reference}}}));
        let problem = Validator::new(&tool).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::MalformedTool);
        assert_eq!(
            problem.message,
            format!("the inputSchema refers to {reference}: schemas are never fetched")
        );
    }
}

#[test]
fn a_schema_that_is_none_says_where() {
    let message = |schema: Value| Validator::new(&tool(&schema)).unwrap_err().message;
    let text = message(json!({"type": "object", "properties": {"it": {"type": "strnig"}}}));
    assert!(
        text.contains("not a usable JSON Schema: at /properties/it/type"),
        "{text}"
    );
    let text = message(json!({"type": "object", "properties": {"it": {"pattern": "("}}}));
    assert!(text.contains("/properties/it/pattern"), "{text}");
    let text = message(json!({"type": "object", "properties": {"it": {"$ref": "#/$defs/none"}}}));
    assert!(text.contains("/$defs/none"), "{text}");
    let text = message(json!({"$schema": "https://example.com/dialect", "type": "object"}));
    assert!(text.contains("https://example.com/dialect"), "{text}");
}

#[test]
fn recursive_schemas_are_checked() {
    let schema = json!({
        "type": "object",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}},
        "properties": {"root": {"$ref": "#/$defs/node"}},
    });
    assert_eq!(
        faults(&schema, &json!({"root": {"next": {"next": {"name": 1}}}})),
        ["/root/next/next/name: must be string, not 1"]
    );
}

#[test]
fn a_pattern_that_never_ends_is_given_up() {
    let schema = json!({"type": "object", "properties": {"it": {"type": "string", "pattern": "^(?=(a+)+$)(a+)+\\1$"}}});
    let started = Instant::now();
    let found = faults(&schema, &json!({"it": format!("{}!", "a".repeat(40))}));
    assert_eq!(found.len(), 1);
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn the_first_fault_of_a_closed_schema_is_told_once() {
    let schema =
        json!({"type": "object", "properties": {"message": {}}, "additionalProperties": false});
    assert_eq!(
        faults(&schema, &json!({"mesage": 1})),
        ["/mesage: unknown, did you mean message?"]
    );
}

#[test]
fn a_schema_that_is_nested_too_deep_is_no_use_but_for_flags() {
    let deep = format!("{}true{}", r#"{"not":"#.repeat(500), "}".repeat(500));
    let schema = format!(
        r#"{{"type":"object","properties":{{"name":{{"type":"string"}},"big":{{"const":1e999}},"deep":{deep}}}}}"#
    );
    let mut tool = tool(&json!({"type": "object"}));
    tool.input_schema = RawValue::from_string(schema).unwrap();
    let problem = Validator::new(&tool).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::MalformedTool);
    assert!(problem.message.contains("can't be read"), "{problem}");

    let flags = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        parse_flags(&tool, &id(), &words, &mut nothing_to_read)
    };
    let arguments = flags(&["--name", "007", "--deep", r#"{"not":1}"#]).unwrap();
    assert_eq!(
        Value::from(arguments),
        json!({"name": "007", "deep": {"not": 1}})
    );
    assert_eq!(
        flags(&["--nmae", "x"]).unwrap_err().kind,
        ProblemKind::Arguments
    );
}

/// They are checked inside the daemon, which one server's schema must not end.
#[test]
fn hostile_references_are_not_followed_for_ever() {
    let chain = |length: usize, link: &dyn Fn(usize) -> Value| {
        let mut parts = serde_json::Map::new();
        for number in 0..length {
            parts.insert(format!("d{number}"), link(number + 1));
        }
        parts.insert(format!("d{length}"), json!({"type": "string"}));
        json!({"type": "object", "properties": {"it": {"$ref": "#/$defs/d0"}}, "$defs": parts})
    };
    let length = 20_000;
    let to = |number: usize| format!("#/$defs/d{number}");
    let plain = chain(length, &|next| json!({"$ref": to(next)}));
    let all = chain(
        length,
        &|next| json!({"allOf": [{"$ref": to(next)}], "unevaluatedProperties": false}),
    );
    let anchored = chain(
        length,
        &|next| json!({"$anchor": format!("a{}", next - 1), "$ref": format!("#a{next}")}),
    );
    let dynamic = chain(length, &|next| json!({"$dynamicRef": to(next)}));
    let mut moved = chain(length, &|next| json!({"$ref": to(next)}));
    moved = json!({"$id": "https://example.com/moved", "properties": moved["properties"], "$defs": moved["$defs"]});
    moved = json!({"type": "object", "allOf": [moved], "$defs": {"d0": {}}});
    let circle = json!({"properties": {"it": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    let doubling = chain(30, &|next| {
        let next = json!({"$ref": to(next)});
        json!({"allOf": [next.clone(), next]})
    });
    for schema in [plain, all, anchored, dynamic, moved, circle, doubling] {
        let problem = Validator::new(&tool(&schema)).unwrap_err();
        assert!(
            problem.message.contains("too far or too often"),
            "{problem}"
        );
    }

    // Circles whose steps can't be told here; the library notices them.
    for reference in ["$ref", "$dynamicRef"] {
        let circle = json!({"properties": {"it": {reference: "#x"}}, "$defs": {"q": {"$dynamicAnchor": "x", reference: "#x"}}});
        assert_eq!(faults(&circle, &json!({"it": 1})), [""; 0]);
    }

    // Long, but each step goes into the value.
    let nested = chain(
        length,
        &|next| json!({"properties": {"it": {"$ref": to(next)}}}),
    );
    assert_eq!(faults(&nested, &json!({"it": {"it": 1}})), [""; 0]);
    // As deep as arguments can be, by chains as long as they may be.
    let mut looped = chain(30, &|next| json!({"$ref": to(next)}));
    looped["$defs"]["d30"] = json!({"items": {"$ref": "#/$defs/d0"}, "type": "array"});
    let mut deepest = json!(1);
    for _ in 0..125 {
        deepest = json!([deepest]);
    }
    assert_eq!(faults(&looped, &json!({"it": deepest})).len(), 1);
}
