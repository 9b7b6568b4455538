use proptest::prelude::*;
use serde_json::value::RawValue;

use super::{Json, MAX_DEPTH, Node, canonical, pretty, tokens};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

const NASTY: &str = r#" { "b" : 1e3, "a":[ ] ,"a" : [0.1000, -0, 123456789012345678901234567890,
    {"\u0061\/\"}":"\ud83d\ude00 \ud800 , : {","":{}}], "b":null } "#;

#[test]
fn pretty_changes_white_space_only() {
    insta::assert_snapshot!(pretty(&raw(NASTY)), @r#"
    {
      "b": 1e3,
      "a": [],
      "a": [
        0.1000,
        -0,
        123456789012345678901234567890,
        {
          "\u0061\/\"}": "\ud83d\ude00 \ud800 , : {",
          "": {}
        }
      ],
      "b": null
    }
    "#);
}

#[test]
fn canonical_sorts_keys_and_keeps_the_order_of_duplicates() {
    assert_eq!(
        canonical(&raw(NASTY)),
        r#"{"a":[],"a":[0.1000,-0,123456789012345678901234567890,{"":{},"\u0061\/\"}":"\ud83d\ude00 \ud800 , : {"}],"b":1e3,"b":null}"#
    );
    assert_eq!(
        canonical(&raw("{\"y\":{\"b\":1,\"a\":2},\"x\":3}")),
        canonical(&raw("{ \"x\": 3, \"y\": {\"a\": 2, \"b\": 1} }"))
    );
}

#[test]
fn keys_that_say_the_same_keep_their_order_however_they_are_spelt() {
    let [one, other] = [
        r#"{"text":"new","t\u0065xt":"old","a":1}"#,
        r#"{"t\u0065xt":"old","text":"new","a":1}"#,
    ]
    .map(raw);
    assert_ne!(
        Json::parse(&one).get("text").unwrap().raw(),
        Json::parse(&other).get("text").unwrap().raw()
    );
    assert_ne!(canonical(&one), canonical(&other));
    assert_eq!(
        canonical(&other),
        r#"{"a":1,"t\u0065xt":"old","text":"new"}"#
    );
}

#[test]
fn hostile_nesting_overflows_neither_stack_nor_memory() {
    let depth = 200_000;
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deep = raw(&text);
    assert_eq!(canonical(&deep), text);
    assert!(pretty(&deep).len() < 400 * depth);
    let mut json = &Json::parse(&deep);
    for _ in 0..MAX_DEPTH {
        json = &json.elements().unwrap()[0];
    }
    assert!(matches!(json.node(), Node::Deep));
}

#[test]
fn strings_say_what_they_say() {
    let text = raw(r#"["plain","\u00e9\n\"\\","\ud83d\ude00","\ud800x","é"]"#);
    let said: Vec<_> = Json::parse(&text)
        .elements()
        .unwrap()
        .iter()
        .map(|s| s.string().unwrap().into_owned())
        .collect();
    assert_eq!(said, ["plain", "é\n\"\\", "😀", "\u{fffd}x", "é"]);
}

#[test]
fn the_last_of_duplicate_keys_counts() {
    let text = raw(r#"{"a":1,"\u0061":2}"#);
    assert_eq!(Json::parse(&text).get("a").unwrap().raw(), "2");
}

/// Any JSON text, with free white space, odd numbers, escapes and duplicate keys.
fn any_json() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", " ", "\n\t", "\r\n  "]);
    let string = prop_oneof![
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
        prop::sample::select(vec![
            r#""\u0041""#,
            r#""\/""#,
            r#""\ud800""#,
            r#""]},:\"\\""#
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        string.clone(),
        prop::sample::select(vec![
            "1e3",
            "-0.10",
            "0.1000",
            "123456789012345678901234567890"
        ])
        .prop_map(str::to_owned),
        prop::sample::select(vec!["true", "false", "null", "{ }", "[\n]"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        let member = (string.clone(), space.clone(), inner.clone())
            .prop_map(|(key, space, value)| format!("{space}{key}{space}:{space}{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(" , "))),
            prop::collection::vec(member, 0..5)
                .prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn no_token_is_changed(text in any_json()) {
        let json = raw(&text);
        let before: Vec<_> = tokens(&text).collect();
        let indented = pretty(&json);
        let after: Vec<_> = tokens(&indented).collect();
        prop_assert_eq!(&before, &after);
        prop_assert_eq!(pretty(&raw(&indented)), indented);
        prop_assert_eq!(Json::parse(&json).compact(), before.concat());

        let sorted = canonical(&json);
        let parsed = raw(&sorted);
        prop_assert_eq!(canonical(&parsed), sorted.clone());
        let mut left = before.clone();
        let mut right: Vec<_> = tokens(&sorted).collect();
        left.sort_unstable();
        right.sort_unstable();
        prop_assert_eq!(left, right);
    }

    #[test]
    fn strings_decode_as_serde_json_does(said in any::<String>()) {
        let text = raw(&serde_json::to_string(&said).unwrap());
        prop_assert_eq!(Json::parse(&text).string().unwrap(), said);
    }
}
