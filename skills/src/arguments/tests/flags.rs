//! Which words are flags, and whose value a word is.

use serde_json::json;

use super::{fails, properties, read};

#[test]
fn a_boolean_is_a_flag_alone_or_a_word() {
    let schema = properties(json!({"loud": {"type": "boolean"}, "message": {"type": "string"}}));
    for (words, loud) in [
        (&["--loud"][..], true),
        (&["--loud", "true"], true),
        (&["--loud", "false"], false),
        (&["--loud=false"], false),
        (&["--no-loud"], false),
    ] {
        assert_eq!(read(&schema, words), Ok(json!({"loud": loud})), "{words:?}");
    }
    assert_eq!(
        read(&schema, &["--loud", "--message", "x"]),
        Ok(json!({"loud": true, "message": "x"}))
    );
    fails(
        read(&schema, &["--loud", "yes"]),
        &["\"yes\" belongs to no flag"],
    );
    fails(
        read(&schema, &["--loud=yes"]),
        &["--loud must be boolean, not \"yes\""],
    );
    fails(
        read(&schema, &["--no-message"]),
        &["unknown flag \"--no-message\""],
    );
    fails(
        read(&schema, &["--no-loud=false"]),
        &["unknown flag \"--no-loud\""],
    );
    fails(
        read(&schema, &["--loud", "--no-loud"]),
        &["--loud is given twice"],
    );

    // A property of that very name comes first.
    let schema = properties(json!({"cache": {"type": "boolean"}, "no-cache": {"type": "string"}}));
    assert_eq!(
        read(&schema, &["--no-cache", "x"]),
        Ok(json!({"no-cache": "x"}))
    );

    let union = properties(json!({"it": {"type": ["boolean", "number"]}}));
    assert_eq!(read(&union, &["--it"]), Ok(json!({"it": true})));
    assert_eq!(read(&union, &["--it", "3"]), Ok(json!({"it": 3})));
    assert_eq!(read(&union, &["--it", "false"]), Ok(json!({"it": false})));
}

#[test]
fn a_flag_alone_is_a_boolean_where_a_string_is_allowed_too() {
    let schema = properties(json!({"it": {"type": ["boolean", "string"]}, "other": {}}));
    assert_eq!(read(&schema, &["--it"]), Ok(json!({"it": true})));
    assert_eq!(read(&schema, &["--no-it"]), Ok(json!({"it": false})));
    assert_eq!(
        read(&schema, &["--it", "--other", "x"]),
        Ok(json!({"it": true, "other": "x"}))
    );
    // A word of its own stays what it was.
    assert_eq!(read(&schema, &["--it", "x"]), Ok(json!({"it": "x"})));
    assert_eq!(read(&schema, &["--it", "true"]), Ok(json!({"it": "true"})));
    fails(read(&schema, &["--it", "--it"]), &["--it is given twice"]);
}

#[test]
fn an_unknown_flag_is_refused_with_the_right_names() {
    let schema = json!({
        "type": "object",
        "properties": {"limit": {"type": "integer"}, "message": {"type": "string"}, "file_path": {"enum": ["a", "b"]},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}}, "any": {}},
        "required": ["message"],
    });
    fails(
        read(&schema, &["--mesage", "x"]),
        &[
            "unknown flag \"--mesage\"",
            "arguments of server/make:\n  --message    string, required\n  --limit      integer\n  --file_path  \"a\"|\"b\"\n  --tags       (string|null)[]\n  --any        any JSON",
            "hint: did you mean --message?; an option of shelf itself goes before the id; a call",
        ],
    );
    // Another spelling of a name is another name.
    fails(
        read(&schema, &["--file-path", "a"]),
        &["unknown flag \"--file-path\"", "did you mean --file_path?"],
    );
    fails(
        read(&schema, &["--Message", "a"]),
        &["did you mean --message?"],
    );
    fails(read(&schema, &["-m", "a"]), &["unknown flag \"-m\""]);
    fails(
        read(&schema, &["--json"]),
        &["an option of shelf itself goes before the id"],
    );
    fails(
        read(&schema, &["--\u{1b}[2J"]),
        &["unknown flag \"--\\u{1b}[2J\""],
    );
    fails(
        read(&json!({"type": "object"}), &["--x"]),
        &["server/make declares no arguments", "--args"],
    );
    fails(
        read(
            &json!({"properties": {"a": {}}, "additionalProperties": {}}),
            &["--x"],
        ),
        &["can be given with --args"],
    );
}

#[test]
fn words_without_a_flag_are_refused() {
    let schema = properties(json!({"message": {"type": "string"}}));
    fails(
        read(&schema, &["hello"]),
        &["\"hello\" belongs to no flag", "as in --message \"hello\""],
    );
    fails(
        read(&schema, &["--message", "hello", "world"]),
        &["\"world\" belongs to no flag"],
    );
    fails(read(&schema, &["--"]), &["\"--\" belongs to no flag"]);
    fails(read(&schema, &["-"]), &["\"-\" belongs to no flag"]);
    fails(
        read(&schema, &["message=hello"]),
        &["\"message=hello\" belongs to no flag"],
    );
}

#[test]
fn a_value_may_look_like_anything_but_a_flag_of_the_tool() {
    let schema = properties(json!({
        "message": {"type": "string"}, "loud": {"type": "boolean"}, "a=b": {"type": "string"}, "a": {"type": "string"},
    }));
    for value in ["-x", "--", "--other", "-1", "a=b", "--louder"] {
        assert_eq!(
            read(&schema, &["--message", value]),
            Ok(json!({"message": value}))
        );
    }
    for value in ["--loud", "--no-loud", "--message", "--loud=true"] {
        fails(
            read(&schema, &["--message", value]),
            &[
                "--message needs a value",
                &format!("write --message={value}"),
            ],
        );
        let joined = format!("--message={value}");
        assert_eq!(read(&schema, &[&joined]), Ok(json!({"message": value})));
    }
    fails(read(&schema, &["--message"]), &["--message needs a value"]);
    assert_eq!(read(&schema, &["--message="]), Ok(json!({"message": ""})));
    assert_eq!(
        read(&schema, &["--message=a=b"]),
        Ok(json!({"message": "a=b"}))
    );
    assert_eq!(read(&schema, &["--a=b=c"]), Ok(json!({"a=b": "c"})));
    assert_eq!(read(&schema, &["--a=c=d"]), Ok(json!({"a": "c=d"})));
}

#[test]
fn a_scalar_given_twice_is_refused() {
    let schema = properties(json!({"message": {"type": "string"}, "any": {}}));
    fails(
        read(&schema, &["--message", "a", "--message", "b"]),
        &["--message is given twice"],
    );
    fails(
        read(&schema, &["--any", "a", "--any", "b"]),
        &["--any is given twice"],
    );
}

#[test]
fn no_flags_are_no_arguments() {
    assert_eq!(
        read(&properties(json!({"message": {}})), &[]),
        Ok(json!({}))
    );
}
