//! The results of the two tools, as JSON on one line.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use skills::problem::Problem;

use super::eras::Era;

/// A result of our own.
pub(super) fn text(text: &str, is_error: bool, era: Era) -> String {
    let mut result = json!({ "content": [{ "type": "text", "text": text }] });
    if is_error {
        result["isError"] = true.into();
    }
    if era == Era::SelfContained {
        result["resultType"] = "complete".into();
    }
    result.to_string()
}

/// What was wrong and what to do about it.
pub(super) fn explanation(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("{problem}\n{hint}"),
        None => problem.to_string(),
    }
}

/// The result of a tool as its server sent it. Only what the client's revision can't do without is added in front, where the server,
/// which may be of the other era, left it out.
pub(super) fn passed_through(result: &RawValue, era: Era) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Known {
        result_type: Option<IgnoredAny>,
        content: Option<IgnoredAny>,
    }
    let raw = result.get();
    let mut added = Vec::new();
    // One in which a key stands twice is passed on as it is: the client may know what to make of it.
    if let Ok(known) = serde_json::from_str::<Known>(raw) {
        if known.result_type.is_none() && era == Era::SelfContained {
            added.push(r#""resultType":"complete""#);
        }
        if known.content.is_none() {
            added.push(r#""content":[]"#);
        }
    }
    // Outside of strings, where alone they can stand, these are white space; on the wire they would end the message.
    let raw = raw.replace(['\n', '\r'], " ");
    match raw.strip_prefix('{') {
        Some(members) if !added.is_empty() => {
            let added = added.join(",");
            let comma = if members.trim_ascii_start().starts_with('}') {
                ""
            } else {
                ","
            };
            format!("{{{added}{comma}{members}")
        }
        _ => raw,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::{Era, passed_through, text};

    fn passed(raw: &str, era: Era) -> String {
        let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
        passed_through(&raw, era)
    }

    #[test]
    fn the_bytes_of_a_server_stay_as_they_are() {
        let odd = r#"{"content":[{"type":"hologram","depth":1e3}],"structuredContent":{"n":123456789012345678901234567890,"b":1,"a":0.10},"x":"\u00e9"}"#;
        assert_eq!(passed(odd, Era::Initialized), odd);
        let expected = format!(r#"{{"resultType":"complete",{}"#, &odd[1..]);
        assert_eq!(passed(odd, Era::SelfContained), expected);
        let modern = r#"{"content":[],"resultType":"complete"}"#;
        assert_eq!(passed(modern, Era::SelfContained), modern);
        assert_eq!(passed(modern, Era::Initialized), modern);
    }

    #[test]
    fn what_a_client_needs_is_there() {
        assert_eq!(passed("{}", Era::Initialized), r#"{"content":[]}"#);
        let both: Value = serde_json::from_str(&passed("{ }", Era::SelfContained)).unwrap();
        assert_eq!(both, json!({ "resultType": "complete", "content": [] }));
        let twice = r#"{"content":[],"content":[]}"#;
        assert_eq!(passed(twice, Era::SelfContained), twice);
    }

    #[test]
    fn a_message_is_one_line() {
        let pretty = "{\r\n  \"content\": [\n  ],\n  \"a\": \"x\\ny\"\n}";
        let one = passed(pretty, Era::Initialized);
        assert!(!one.contains(['\n', '\r']), "{one}");
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&one), value(pretty));
        assert!(!text("a\nb", true, Era::SelfContained).contains('\n'));
    }
}
