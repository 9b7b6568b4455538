//! Whatever fits a schema can be given by flags and as JSON, and is the same both ways.

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Map, Value, json};

use super::{read, tool};
use crate::arguments::{Validator, parse_json};

/// A schema with a value that fits it.
type Pair = (Value, Value);

/// A text that a word can say: alone, `-` is standard input.
fn text() -> BoxedStrategy<String> {
    const TRICKY: [&str; 14] = [
        "007",
        "1e3",
        "true",
        "null",
        "",
        "@",
        "@@x",
        "--flag",
        "a=b",
        " ",
        "[",
        "{\"a\":1}",
        "[1]",
        "ä\n",
    ];
    let tricky = proptest::sample::select(&TRICKY[..]).prop_map(str::to_owned);
    let any = any::<String>().prop_filter("standard input", |text| text != "-");
    prop_oneof![tricky, any].boxed()
}

fn scalar() -> BoxedStrategy<Pair> {
    let number = any::<f64>().prop_filter("JSON has no other", |number| number.is_finite());
    prop_oneof![
        text().prop_map(|text| (json!({"type": "string"}), json!(text))),
        any::<i64>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
        number.prop_map(|number| (json!({"type": "number"}), json!(number))),
        any::<bool>().prop_map(|truth| (json!({"type": "boolean"}), json!(truth))),
        Just((json!({"type": ["integer", "null"]}), Value::Null)),
        text().prop_map(|text| (json!({"enum": [1, true, text]}), json!(text))),
        text().prop_map(|text| (json!({"type": ["string", "null"]}), json!(text))),
        any::<i64>().prop_map(|number| (
            json!({"anyOf": [{"type": "boolean"}, {"type": "integer"}]}),
            json!(number)
        )),
    ]
    .boxed()
}

fn array() -> BoxedStrategy<Pair> {
    let of = |kind: &'static str| {
        move |items: Value| (json!({"type": "array", "items": {"type": kind}}), items)
    };
    prop_oneof![
        vec(text(), 0..4)
            .prop_map(Value::from)
            .prop_map(of("string")),
        vec(any::<i64>(), 0..4)
            .prop_map(Value::from)
            .prop_map(of("integer")),
        vec(any::<bool>(), 0..4)
            .prop_map(Value::from)
            .prop_map(of("boolean")),
    ]
    .boxed()
}

fn name() -> BoxedStrategy<String> {
    "(no-)?[A-Za-z][A-Za-z0-9_-]{0,6}".boxed()
}

/// An object whose members are again any of these.
fn object() -> BoxedStrategy<Pair> {
    let value = prop_oneof![3 => scalar(), 1 => array()];
    let nested = value.prop_recursive(3, 24, 4, |inner| members(inner).boxed());
    members(nested.boxed()).boxed()
}

fn members(inner: BoxedStrategy<Pair>) -> impl Strategy<Value = Pair> {
    let pairs = proptest::collection::btree_map(name(), inner, 0..5);
    pairs.prop_map(|members| {
        let (mut properties, mut values) = (Map::new(), Map::new());
        for (name, (schema, value)) in members {
            properties.insert(name.clone(), schema);
            values.insert(name, value);
        }
        let schema =
            json!({"type": "object", "properties": properties, "additionalProperties": false});
        (schema, Value::Object(values))
    })
}

/// The text of a value, as a word says it.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) if text.starts_with('@') => format!("@{text}"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The words for an object: each argument whole, or by its parts as far as they go.
fn words(object: &Map<String, Value>, holder: &str, by_parts: bool, words: &mut Vec<String>) {
    for (name, value) in object {
        let name = format!("{holder}{name}");
        let parts: Vec<String> = value.as_array().into_iter().flatten().map(word).collect();
        // What looks like the whole array is taken for it.
        let by_items =
            parts.len() > 1 && parts.iter().all(|part| !part.starts_with(['[', '@', '-']));
        match value {
            Value::Object(members) if by_parts && !members.is_empty() => {
                self::words(members, &format!("{name}."), by_parts, words);
            }
            Value::Array(_) if by_parts && by_items => {
                words.extend(parts.iter().map(|part| format!("--{name}={part}")));
            }
            value => words.push(format!("--{name}={}", word(value))),
        }
    }
}

proptest! {
    #[test]
    fn every_value_can_be_given_both_ways((schema, value) in object()) {
        let arguments = value.as_object().unwrap();
        Validator::new(&tool(&schema)).unwrap().check(&tool(&schema), &super::id(), arguments).unwrap();
        prop_assert_eq!(&Value::from(parse_json(&value.to_string()).unwrap()), &value);
        for by_parts in [false, true] {
            let mut given = Vec::new();
            words(arguments, "", by_parts, &mut given);
            let given: Vec<&str> = given.iter().map(String::as_str).collect();
            prop_assert_eq!(read(&schema, &given), Ok(value.clone()), "{:?}", given);
        }
    }
}
