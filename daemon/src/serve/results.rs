//! The results of the two tools, as JSON on one line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use skills::problem::Problem;

use super::eras::{Era, SERVER_INFO};

/// How the results of a request are written.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// Which rules they follow.
    pub(super) era: Era,
    /// Who this server is, as JSON.
    pub(super) server_info: Arc<str>,
}

impl Form {
    /// A result of our own.
    pub(super) fn text(&self, text: &str, is_error: bool) -> String {
        let mut result = json!({ "content": [{ "type": "text", "text": text }] });
        if is_error {
            result["isError"] = true.into();
        }
        self.completed(&result.to_string(), &[])
    }

    /// A problem as a result: what was wrong and what to do about it.
    pub(super) fn problem(&self, problem: &Problem) -> String {
        self.text(&problem.told(), true)
    }

    /// The result of a tool as its server sent it, but for what [`Form::completed`] adds.
    pub(super) fn passed_through(&self, result: &RawValue) -> String {
        // Outside of strings, where alone they can stand, these are white space; on the wire they would end the message.
        self.completed(
            &result.get().replace(['\n', '\r'], " "),
            &[("content", "[]")],
        )
    }

    /// Adds in front what the client's revision asks of a result, and what else is `needed`, where it is not there: the server of a tool
    /// may be of the other era. All else stays as it was written.
    pub(super) fn completed(&self, result: &str, needed: &[(&str, &str)]) -> String {
        // A result in which a key stands twice is a map all the same. Nothing is added to what is none.
        let Ok(known) = serde_json::from_str::<HashMap<Cow<'_, str>, IgnoredAny>>(result) else {
            return result.to_owned();
        };
        let meta = format!(r#"{{"{SERVER_INFO}":{}}}"#, self.server_info);
        let of_era = [("resultType", r#""complete""#), ("_meta", &*meta)];
        let of_era = of_era.iter().filter(|_| self.era == Era::SelfContained);
        let added: Vec<_> = of_era
            .chain(needed)
            .filter(|(key, _)| !known.contains_key(*key))
            .map(|(key, value)| format!(r#""{key}":{value}"#))
            .collect();
        match result.strip_prefix('{') {
            Some(members) if !added.is_empty() => {
                let comma = if known.is_empty() { "" } else { "," };
                format!("{{{}{comma}{members}", added.join(","))
            }
            _ => result.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::{Era, Form};

    fn form(era: Era) -> Form {
        Form {
            era,
            server_info: r#"{"name":"me"}"#.into(),
        }
    }

    fn passed(raw: &str, era: Era) -> String {
        let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
        form(era).passed_through(&raw)
    }

    const META: &str = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"me"}}"#;

    #[test]
    fn the_bytes_of_a_server_stay_as_they_are() {
        let odd = r#"{"content":[{"type":"hologram","depth":1e3}],"structuredContent":{"n":123456789012345678901234567890,"b":1,"a":0.10},"x":"\u00e9"}"#;
        assert_eq!(passed(odd, Era::Initialized), odd);
        let expected = format!(r#"{{"resultType":"complete",{META},{}"#, &odd[1..]);
        assert_eq!(passed(odd, Era::SelfContained), expected);
        let modern = r#"{"content":[],"resultType":"complete","_meta":{}}"#;
        assert_eq!(passed(modern, Era::SelfContained), modern);
        assert_eq!(passed(modern, Era::Initialized), modern);
    }

    #[test]
    fn what_a_client_needs_is_there() {
        assert_eq!(passed("{}", Era::Initialized), r#"{"content":[]}"#);
        let all = format!(r#"{{"resultType":"complete",{META},"content":[] }}"#);
        assert_eq!(passed("{ }", Era::SelfContained), all);
        let twice = r#"{"content":[],"content":[],"_meta":null,"resultType":"complete"}"#;
        assert_eq!(passed(twice, Era::SelfContained), twice);
    }

    #[test]
    fn a_message_is_one_line() {
        let pretty = "{\r\n  \"content\": [\n  ],\n  \"a\": \"x\\ny\"\n}";
        let one = passed(pretty, Era::Initialized);
        assert!(!one.contains(['\n', '\r']), "{one}");
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&one), value(pretty));
        let own = form(Era::Initialized).text("a\nb", true);
        let expected = json!({ "content": [{ "type": "text", "text": "a\nb" }], "isError": true });
        assert_eq!((value(&own), own.contains('\n')), (expected, false));
    }
}
