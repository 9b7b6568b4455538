//! The command line that calls a tool.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::example::{arguments, text};
use super::notes::string_literal;
use super::schema::Kinds;
use crate::entry_id::EntryId;
use crate::json::Json;
use crate::summary::is_invisible;
use crate::tool::Tool;

/// The exact command line that calls the tool with all required arguments, with example values, as shown in the definition
/// (`shelf call <id> --flag value …`), quoted for a POSIX shell.
///
/// Where an argument can't stand as a flag it is `shelf call --args '<json>' <id>`. `None` when what is required has no example, or none
/// of a sensible size.
pub fn example_call(tool: &Tool, id: &EntryId) -> Option<String> {
    let schema = Json::parse(&tool.input_schema);
    let arguments = arguments(&schema)?;
    let id = quote(id.as_str());
    let declared = schema.get("properties");
    let flags: Option<String> = arguments
        .iter()
        .map(|(name, value)| {
            let property = declared?.get(name)?;
            let value = flag_value(Kinds::of_schema(&schema, property), value)?;
            is_flag(name).then(|| format!(" {} {}", quote(&format!("--{name}")), quote(&value)))
        })
        .collect();
    Some(match flags {
        Some(flags) => format!("shelf call {id}{flags}"),
        None => {
            let members: Vec<String> = arguments
                .iter()
                .map(|(name, value)| format!("{}:{value}", string_literal(name)))
                .collect();
            format!(
                "shelf call --args {} {id}",
                quote(&format!("{{{}}}", members.join(",")))
            )
        }
    })
}

/// The arguments that [`example_call`] gives.
pub fn example_arguments(tool: &Tool) -> Option<Map<String, Value>> {
    let schema = Json::parse(&tool.input_schema);
    let members = arguments(&schema)?.into_iter();
    members
        .map(|(name, value)| Some((name.into_owned(), serde_json::from_str(&value).ok()?)))
        .collect()
}

/// The command line that calls a tool with the arguments in a file: what there is to say where there is no example.
pub fn call_with_file(id: &EntryId) -> String {
    format!("shelf call --args @FILE {}", quote(id.as_str()))
}

/// Whether a property can be named by a flag.
fn is_flag(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && !name.contains(|c: char| c == '=' || c.is_whitespace() || is_invisible(c))
}

/// A value as the word after its flag; `None` where the word could be read as a value of another kind.
fn flag_value(kinds: Kinds, json: &str) -> Option<Cow<'_, str>> {
    match text(json) {
        Some(text) => {
            let only_text = kinds.without_null() == Kinds::STRING;
            let clear = only_text || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err();
            let sayable = clear && text != "-" && !text.contains(is_invisible);
            sayable.then(|| match text.starts_with('@') {
                // Alone it would be the name of a file.
                true => Cow::Owned(format!("@{text}")),
                false => text,
            })
        }
        None => (!kinds.contains(Kinds::STRING)).then_some(Cow::Borrowed(json)),
    }
}

/// Quotes a word for a POSIX shell where it needs it.
pub fn quote(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use serde_json::value::RawValue;

    use super::example_call;
    use crate::arguments::{Origin, parse_flags};
    use crate::entry_id::{EntryId, ServerName};
    use crate::tool::Tool;

    fn tool(property: &str) -> Tool {
        let schema =
            format!(r#"{{"type":"object","properties":{{"b":{property}}},"required":["b"]}}"#);
        let json = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
        let raw = RawValue::from_string(json).unwrap();
        Tool::parse(&ServerName::new("s"), 0, Arc::from(raw)).unwrap()
    }

    #[test]
    fn no_number_is_shown_that_could_not_be_sent() {
        const LONG: &str = "123456789012345678901234567890";
        const EXACT: &str = "0.1234567890123456789";
        for property in [
            format!(r#"{{"type":"integer","default":{LONG}}}"#),
            format!(r#"{{"type":"number","default":{EXACT}}}"#),
            format!(r#"{{"type":"number","examples":[{EXACT},2.5]}}"#),
            format!(r#"{{"enum":[{LONG},7]}}"#),
            // Exact as a number, and too large for an integer.
            r#"{"type":"integer","default":1234567890000000000000}"#.to_owned(),
            format!(r#"{{"type":"array","items":{{"type":"number"}},"default":[{LONG}]}}"#),
            format!(r#"{{"type":"object","default":{{"deep":[{EXACT}]}}}}"#),
        ] {
            let (tool, id) = (tool(&property), EntryId::tool("s", "t"));
            let shown = example_call(&tool, &id).unwrap();
            assert!(!shown.contains("123456789"), "{shown}");
            let flags = shown.strip_prefix("shelf call s/t ").unwrap();
            let flags: Vec<_> = flags
                .split(' ')
                .map(|word| word.replace('\'', ""))
                .collect();
            let mut nothing = |_: Origin<'_>| -> io::Result<String> { unreachable!() };
            parse_flags(&tool, &id, &flags, &mut nothing).unwrap();
        }
        // What can't be sent at all has no example.
        let huge = tool(&format!(r#"{{"type":"integer","minimum":{LONG}}}"#));
        assert_eq!(example_call(&huge, &EntryId::tool("s", "t")), None);
    }
}
