//! What a text means by its schema.

use serde_json::{Value, json};

use super::{fails, one, properties, read};

#[test]
fn a_string_stays_a_string() {
    for text in [
        "5",
        "1e3",
        "007",
        "true",
        "null",
        "",
        "-1",
        "--it's",
        "{\"a\":1}",
        "[1]",
        "12345678901234567890123",
    ] {
        assert_eq!(one(json!({"type": "string"}), text), Ok(json!(text)));
        assert_eq!(
            one(
                json!({"type": "string", "format": "date-time", "minLength": 99}),
                text
            ),
            Ok(json!(text))
        );
    }
    for text in ["5", "true", "null", "1e3", "x"] {
        for schema in [
            json!({"type": ["number", "string", "null", "boolean"]}),
            json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}, {"type": "null"}, {"type": "string"}]}),
            json!({"oneOf": [{"type": "number"}, {"type": "string"}]}),
            json!({"description": "no type at all"}),
            json!({}),
            json!(true),
        ] {
            assert_eq!(one(schema.clone(), text), Ok(json!(text)), "{schema}");
        }
    }
}

#[test]
fn numbers_are_what_was_written_or_refused() {
    assert_eq!(
        one(json!({"type": "integer"}), "18446744073709551615"),
        Ok(json!(u64::MAX))
    );
    assert_eq!(one(json!({"type": "number"}), "-2.50"), Ok(json!(-2.5)));
    assert_eq!(one(json!({"type": "number"}), "3"), Ok(json!(3)));
    assert_eq!(one(json!({"minimum": 1}), "3"), Ok(json!(3)));
    fails(
        one(json!({"type": "integer"}), "3.0"),
        &["--it must be integer: \"3.0\" is not written as an integer"],
    );
    fails(
        one(json!({"type": "integer"}), "18446744073709551616"),
        &["too large to be sent as it is written"],
    );
    fails(
        one(json!({"type": "number"}), "0.12345678901234567890"),
        &["more digits than can be sent"],
    );
    fails(
        one(json!({"type": "number"}), "many"),
        &["--it must be number, not \"many\""],
    );
    fails(
        one(json!({"type": "integer"}), ""),
        &["--it must be integer, not \"\""],
    );
}

#[test]
fn null_is_a_word_only_where_no_string_is() {
    assert_eq!(
        one(json!({"type": ["integer", "null"]}), "null"),
        Ok(json!(null))
    );
    assert_eq!(one(json!({"type": ["integer", "null"]}), "7"), Ok(json!(7)));
    assert_eq!(
        one(json!({"type": ["string", "null"]}), "null"),
        Ok(json!("null"))
    );
    assert_eq!(
        one(
            json!({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}),
            "null"
        ),
        Ok(json!(null))
    );
    fails(
        one(json!({"type": "integer"}), "null"),
        &["must be integer, not \"null\""],
    );
}

#[test]
fn arrays_are_one_json_or_a_flag_for_each_item() {
    let tags = properties(json!({"tag": {"type": "array", "items": {"type": "string"}}}));
    assert_eq!(read(&tags, &["--tag", "a"]), Ok(json!({"tag": ["a"]})));
    assert_eq!(
        read(&tags, &["--tag", "1", "--tag=b"]),
        Ok(json!({"tag": ["1", "b"]}))
    );
    assert_eq!(
        read(&tags, &["--tag", "[\"a\", \"b\"]"]),
        Ok(json!({"tag": ["a", "b"]}))
    );
    assert_eq!(read(&tags, &["--tag", "[]"]), Ok(json!({"tag": []})));
    assert_eq!(read(&tags, &["--tag", "a,b"]), Ok(json!({"tag": ["a,b"]})));
    fails(
        read(&tags, &["--tag", "[a, b]"]),
        &["--tag begins with [ and can't be read as JSON"],
    );
    fails(
        read(&tags, &["--tag", "[\"a\"]", "--tag", "b"]),
        &["use one of the two"],
    );

    let of = |items: Value| properties(json!({"it": {"type": "array", "items": items}}));
    assert_eq!(
        read(&of(json!({"type": "integer"})), &["--it", "1", "--it", "2"]),
        Ok(json!({"it": [1, 2]}))
    );
    fails(
        read(&of(json!({"type": "integer"})), &["--it", "1", "--it", "x"]),
        &["must be integer, not \"x\""],
    );
    assert_eq!(
        read(
            &of(json!({"type": "object"})),
            &["--it", "{\"a\": 1}", "--it", "{}"]
        ),
        Ok(json!({"it": [{"a": 1}, {}]}))
    );
    assert_eq!(
        read(
            &of(json!({"type": "array"})),
            &["--it", "[1]", "--it", "[2]"]
        ),
        Ok(json!({"it": [[1], [2]]}))
    );
    // Without a schema for its items each is a string.
    assert_eq!(
        read(
            &properties(json!({"it": {"type": "array"}})),
            &["--it", "1"]
        ),
        Ok(json!({"it": ["1"]}))
    );
    let tuple = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]});
    assert_eq!(
        read(
            &properties(json!({"it": tuple})),
            &["--it", "1", "--it", "2"]
        ),
        Ok(json!({"it": ["1", 2]}))
    );
    let tuple = json!({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]});
    assert_eq!(
        read(
            &properties(json!({"it": tuple})),
            &["--it", "1", "--it", "2"]
        ),
        Ok(json!({"it": ["1", 2]}))
    );
}

#[test]
fn objects_are_json() {
    let schema = json!({"type": "object", "properties": {"a": {}}});
    assert_eq!(
        one(schema.clone(), "{\"a\": [1, null]}"),
        Ok(json!({"a": [1, null]}))
    );
    assert_eq!(one(json!({"properties": {"a": {}}}), "{}"), Ok(json!({})));
    fails(
        one(schema.clone(), "a=1"),
        &["--it must be object, not \"a=1\""],
    );
    fails(
        one(schema.clone(), "{a: 1}"),
        &["can't be read as JSON: key must be a string"],
    );
    fails(
        one(schema.clone(), "{\"a\": 1, \"a\": 2}"),
        &["the key \"a\" stands twice"],
    );
    fails(
        one(schema.clone(), "{\"a\": 1e400}"),
        &["number out of range"],
    );
    fails(one(schema, "[1]"), &["must be object"]);
}

#[test]
fn beside_a_string_only_json_of_an_allowed_kind_is_not_the_string() {
    let union =
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]});
    assert_eq!(one(union.clone(), "[\"a\"]"), Ok(json!(["a"])));
    assert_eq!(one(union.clone(), "a"), Ok(json!("a")));
    assert_eq!(one(union.clone(), "[draft] x"), Ok(json!("[draft] x")));
    assert_eq!(one(union.clone(), "{\"a\": 1}"), Ok(json!("{\"a\": 1}")));
    assert_eq!(
        read(
            &properties(json!({"it": union})),
            &["--it", "a", "--it", "b"]
        ),
        Ok(json!({"it": ["a", "b"]}))
    );
    let union = json!({"type": ["string", "object"]});
    assert_eq!(one(union.clone(), "{\"a\": 1}"), Ok(json!({"a": 1})));
    assert_eq!(one(union.clone(), "{a}"), Ok(json!("{a}")));
    assert_eq!(one(union, "[1]"), Ok(json!("[1]")));
    assert_eq!(one(json!({}), "{\"a\": [1]}"), Ok(json!({"a": [1]})));
    assert_eq!(
        one(json!({"type": ["array", "null"]}), "null"),
        Ok(json!(null))
    );
}

#[test]
fn listed_values_are_of_the_listed_kind() {
    assert_eq!(one(json!({"enum": [1, 2, 3]}), "2"), Ok(json!(2)));
    assert_eq!(one(json!({"enum": [1, "2"]}), "2"), Ok(json!("2")));
    assert_eq!(one(json!({"enum": [1, "2"]}), "1"), Ok(json!(1)));
    assert_eq!(
        one(json!({"enum": [true, "auto"]}), "true"),
        Ok(json!(true))
    );
    assert_eq!(one(json!({"const": 7}), "7"), Ok(json!(7)));
    assert_eq!(
        one(json!({"type": "number", "enum": [0.5, 1]}), "1"),
        Ok(json!(1))
    );
    fails(
        one(json!({"enum": ["a", "b"]}), "c"),
        &["--it must be \"a\"|\"b\", not \"c\""],
    );
    fails(
        one(json!({"enum": [1, 2]}), "3"),
        &["--it must be 1|2, not \"3\""],
    );
}

#[test]
fn references_and_joined_schemas_are_followed() {
    let schema = json!({
        "type": "object",
        "$defs": {"count": {"type": "integer"}, "a/b": {"$ref": "#/$defs/count"}},
        "definitions": {"old": {"type": "boolean"}},
        "properties": {
            "count": {"$ref": "#/$defs/count"},
            "twice": {"$ref": "#/$defs/a~1b"},
            "old": {"$ref": "#/definitions/old"},
            "both": {"allOf": [{"type": ["integer", "string"]}, {"type": "number"}]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/count"}},
        },
    });
    assert_eq!(
        read(
            &schema,
            &[
                "--count", "1", "--twice", "2", "--old", "--both", "3", "--list", "4"
            ]
        ),
        Ok(json!({"count": 1, "twice": 2, "old": true, "both": 3, "list": [4]}))
    );

    let whole = json!({
        "$ref": "#/$defs/all",
        "$defs": {"all": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}},
    });
    assert_eq!(read(&whole, &["--count", "1"]), Ok(json!({"count": 1})));
    let branches = json!({"type": "object", "anyOf": [
        {"properties": {"id": {"type": "integer"}}},
        {"properties": {"name": {"type": "string"}}},
    ]});
    assert_eq!(read(&branches, &["--id", "1"]), Ok(json!({"id": 1})));
}

#[test]
fn schemas_that_lead_round_or_double_end() {
    let cycle = json!({
        "type": "object",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "properties": {"it": {"$ref": "#/$defs/a"}, "self": {"$ref": "#"}, "far": {"$ref": "#/$defs/none"}},
    });
    assert_eq!(
        read(&cycle, &["--it", "1", "--far", "2"]),
        Ok(json!({"it": "1", "far": "2"}))
    );
    assert_eq!(read(&cycle, &["--self", "{}"]), Ok(json!({"self": {}})));

    let mut definitions = json!({"d30": {"type": "integer"}});
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions[format!("d{level}")] = json!({"anyOf": [next, next]});
    }
    let double = json!({"$defs": definitions, "properties": {"it": {"$ref": "#/$defs/d0"}}});
    assert!(read(&double, &["--it", "1"]).is_ok());
}
