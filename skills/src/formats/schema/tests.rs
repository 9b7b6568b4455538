use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Rules, adapt};

const ALL: Rules = Rules {
    refused: &["oneOf", "anyOf", "allOf", "not"],
    needs_properties: true,
    plain_parameters: true,
};

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// The schema as it is then, and what the description gets.
fn adapted(schema: &Value) -> (Value, Option<String>) {
    let raw = raw(&schema.to_string());
    let adapted = adapt(&raw, ALL).unwrap();
    assert_eq!(
        adapted.changes.is_empty(),
        *schema == serde_json::from_str::<Value>(adapted.schema.get()).unwrap()
    );
    (
        serde_json::from_str(adapted.schema.get()).unwrap(),
        adapted.condition,
    )
}

#[test]
fn what_is_accepted_keeps_its_bytes() {
    let schema = raw(
        r#"{ "type" : "object", "properties": { "a": {"anyOf": [{"type":"null"}], "maximum": 1e3} }, "$defs": {} }"#,
    );
    let adapted = adapt(&schema, ALL).unwrap();
    assert_eq!(adapted.schema.get(), schema.get());
    assert!(adapted.changes.is_empty() && adapted.condition.is_none());
}

#[test]
fn a_schema_becomes_an_object() {
    let empty = json!({ "type": "object", "properties": {} });
    for schema in [
        json!({}),
        json!({ "type": ["object", "null"] }),
        json!({ "type": "object" }),
    ] {
        assert_eq!(adapted(&schema), (empty.clone(), None));
    }
}

#[test]
fn what_is_refused_is_told_in_words_and_its_parameters_stay() {
    let (schema, condition) = adapted(&json!({
        "properties": { "a": { "type": "string" } },
        "anyOf": [
            { "required": ["a"] },
            { "properties": { "a": { "minLength": 1 }, "b": { "type": "number" } }, "required": ["b"] },
            { "allOf": [{ "properties": { "b": { "type": "string" }, "c": true } }] },
        ],
        "not": { "required": ["a", "b"] },
        "additionalProperties": false,
    }));
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "a": { "type": "string" },
                "b": { "anyOf": [{ "type": "number" }, { "type": "string" }] },
                "c": true,
            },
        })
    );
    let condition = condition.unwrap();
    let (_, told) = condition.split_once(": ").unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    assert_eq!(told["not"], json!({ "required": ["a", "b"] }));
    assert_eq!(told["anyOf"][0], json!({ "required": ["a"] }));
}

#[test]
fn alternatives_are_followed_within_the_schema() {
    let (schema, _) = adapted(&json!({
        "oneOf": [{ "$ref": "#/$defs/One~1Two" }, { "$ref": "https://example.com/x" }, { "$ref": "#/$defs/none" }],
        "$defs": { "One/Two": { "properties": { "x": { "type": "integer" } }, "anyOf": [{ "$ref": "#/$defs/One~1Two" }] } },
    }));
    assert_eq!(schema["properties"], json!({ "x": { "type": "integer" } }));
    assert!(schema["$defs"]["One/Two"].is_object() && schema.get("oneOf").is_none());
}

#[test]
fn a_name_that_is_refused_is_said() {
    for name in ["filter[id]", "", "ü", &"x".repeat(65)] {
        let schema = raw(&json!({ "type": "object", "properties": { name: {} } }).to_string());
        assert_eq!(adapt(&schema, ALL).unwrap_err(), name);
        assert!(
            adapt(
                &schema,
                Rules {
                    plain_parameters: false,
                    ..ALL
                }
            )
            .is_ok()
        );
    }
    // Deeper down they are accepted.
    adapted(
        &json!({ "type": "object", "properties": { "a.b-c_1": { "properties": { "$x": {} } } } }),
    );
}
