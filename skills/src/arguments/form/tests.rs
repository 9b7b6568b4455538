use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Form, Unreadable};

fn form(schema: &Value) -> Form {
    let raw = serde_json::value::to_raw_value(schema).unwrap();
    Form::read("Who are you?", &raw).unwrap()
}

/// A field of every kind that the protocol has.
fn person() -> Form {
    form(&json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "As in the passport", "minLength": 2},
            "age": {"type": "integer", "minimum": 0, "default": 30},
            "score": {"type": "number"},
            "verified": {"type": "boolean", "default": true},
            "mail": {"type": "string", "format": "email"},
            "born": {"type": "string", "format": "date"},
            "status": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "old": {"type": "string", "enum": ["x", "y"], "enumNames": ["Ex", "Why"]},
            "place": {"type": "string", "oneOf": [{"const": "n", "title": "North"}, {"const": "s", "title": "South"}]},
            "many": {"type": "array", "items": {"type": "string", "enum": ["1", "2", "3"]}, "maxItems": 2},
            "named": {"type": "array", "items": {"anyOf": [{"const": "p", "title": "Pea"}, {"const": "q", "title": "Queue"}]}, "default": ["q"]},
        },
        "required": ["name", "verified"],
    }))
}

fn given(name: &str, texts: &[&str]) -> Result<Value, String> {
    person().value(name, texts)
}

#[test]
fn texts_become_what_the_schema_says() {
    assert_eq!(given("name", &["007"]), Ok(json!("007")));
    assert_eq!(given("name", &["true"]), Ok(json!("true")));
    assert_eq!(given("age", &["7"]), Ok(json!(7)));
    assert_eq!(given("score", &["0.5"]), Ok(json!(0.5)));
    assert_eq!(given("verified", &["false"]), Ok(json!(false)));
    assert_eq!(given("status", &["b"]), Ok(json!("b")));
    assert_eq!(given("old", &["y"]), Ok(json!("y")));
    assert_eq!(given("place", &["s"]), Ok(json!("s")));
    assert_eq!(given("many", &["1", "3"]), Ok(json!(["1", "3"])));
    assert_eq!(given("many", &["2"]), Ok(json!(["2"])));
    assert_eq!(given("named", &[r#"["p"]"#]), Ok(json!(["p"])));
    assert_eq!(given("born", &["2024-02-29"]), Ok(json!("2024-02-29")));
    assert_eq!(
        given("mail", &["a@example.com"]),
        Ok(json!("a@example.com"))
    );
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    for (name, texts) in [
        ("name", &["x"][..]),
        ("age", &["-1"]),
        ("age", &["7.5"]),
        ("age", &["seven"]),
        ("age", &["1", "2"]),
        ("score", &["much"]),
        ("verified", &["yes"]),
        ("mail", &["nobody"]),
        ("born", &["2023-02-29"]),
        ("status", &["c"]),
        ("old", &["Ex"]),
        ("place", &["North"]),
        ("many", &["4"]),
        ("many", &["1", "2", "3"]),
        ("named", &["Pea"]),
        ("nmae", &["x"]),
    ] {
        let fault = given(name, texts).unwrap_err();
        assert!(fault.starts_with(name), "{name} {texts:?}: {fault}");
    }
    assert!(
        given("nmae", &["x"])
            .unwrap_err()
            .contains("did you mean name")
    );
}

#[test]
fn defaults_stand_for_what_is_not_given() {
    let mut answer = Map::new();
    let missing = person().complete(&answer).unwrap_err();
    assert_eq!(missing, "name: missing");
    answer.insert("name".into(), json!("Ada"));
    answer.insert("age".into(), json!(36));
    let whole = person().complete(&answer).unwrap();
    let expected =
        json!({"name": "Ada", "age": 36, "verified": true, "status": "a", "named": ["q"]});
    assert_eq!(Value::Object(whole), expected);
    answer.insert("other".into(), json!(1));
    assert_eq!(person().complete(&answer).unwrap_err(), "other: unknown");
}

#[test]
fn a_default_that_does_not_fit_is_none() {
    let form = form(&json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "default": "many"}},
        "required": ["n"],
    }));
    assert_eq!(form.fields()[0].default, None);
    assert_eq!(form.complete(&Map::new()).unwrap_err(), "n: missing");
}

#[test]
fn a_schema_that_can_not_be_asked_is_refused() {
    for schema in [
        "7",
        "[]",
        r#"{"properties": {"a": {"type": "bogus"}}}"#,
        r#"{"$ref": "http://127.0.0.1:9/x"}"#,
    ] {
        let raw = RawValue::from_string(schema.to_owned()).unwrap();
        let fault = Form::read("m", &raw).unwrap_err().to_string();
        assert!(
            fault.starts_with("the requestedSchema "),
            "{schema}: {fault}"
        );
    }
}

#[test]
fn a_form_that_is_too_large_is_not_read() {
    let with = |count: usize| {
        let field = json!({ "type": "string", "default": "x", "minLength": 1 });
        let names = (0..count).map(|number| format!("f{number}"));
        let required: Vec<Value> = names.clone().map(Value::from).collect();
        let properties: serde_json::Map<_, _> = names.map(|name| (name, field.clone())).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        serde_json::value::to_raw_value(&schema).unwrap()
    };
    let form = Form::read("m", &with(200)).unwrap();
    assert!(form.fields().iter().all(|field| field.default.is_some()));
    for (message, count) in [("m".to_owned(), 201), ("m".repeat(256 * 1024), 1)] {
        let why = Form::read(&message, &with(count)).unwrap_err();
        assert!(matches!(why, Unreadable::TooLarge(_)), "{count}: {why}");
    }
}

#[test]
fn the_table_says_what_each_field_is() {
    let expected = r#"  name  string, required, minLength 2 — Name: As in the passport
  age  integer, minimum 0, default 30
  score  number
  verified  boolean, required, default true
  mail  string, format email
  born  string, format date
  status  "a"|"b", default "a"
  old  "x"|"y"
    x: Ex
    y: Why
  place  "n"|"s"
    n: North
    s: South
  many  ("1"|"2"|"3")[], maxItems 2
  named  ("p"|"q")[], default ["q"]
    p: Pea
    q: Queue
"#;
    assert_eq!(person().table(), expected);
}

#[test]
fn the_options_that_would_answer_it_are_named() {
    assert_eq!(person().options().unwrap(), "--answer 'name=STRING'");
    let one = form(&json!({"type": "object", "properties": {"go on": {"type": "boolean"}}}));
    assert_eq!(one.options().unwrap(), "--answer 'go on=true'");
    for name in ["a=b", "", "a\n", "\u{202e}"] {
        let odd = form(&json!({"type": "object", "properties": {name: {"type": "string"}}}));
        assert_eq!(odd.options(), None, "{name:?}");
    }
    let none = form(&json!({"type": "object", "properties": {}}));
    assert_eq!(
        (none.options().unwrap().as_str(), none.table().as_str()),
        ("--accept", "")
    );
    assert_eq!(none.complete(&Map::new()), Ok(Map::new()));
}

#[test]
fn nothing_of_a_stranger_deceives_the_eye() {
    let raw = serde_json::value::to_raw_value(&json!({
        "properties": {"a\u{1b}[2J": {"type": "string", "title": "x\u{202e}y\nz"}},
    }));
    let form = Form::read("one\u{1b}[31m\ntwo\u{200b}", &raw.unwrap()).unwrap();
    assert_eq!(form.message(), "one\\u{1b}[31m\ntwo\\u{200b}");
    assert_eq!(form.table(), "  a\\u{1b}[2J  string — x\\u{202e}y z\n");
}
