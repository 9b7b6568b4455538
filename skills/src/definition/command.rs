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
