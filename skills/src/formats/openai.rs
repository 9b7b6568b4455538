//! Function definitions for OpenAI's Responses API: plain, or as the answer to a `tool_search_call` that the client executes.
//!
//! As <https://developers.openai.com/api/docs/guides/tools-tool-search> ("Client-executed tool search") and
//! <https://developers.openai.com/api/docs/guides/function-calling> ask:
//! * `tool_search_output` carries the `call_id`, `execution: "client"`, and the loaded tools, grouped in namespaces;
//! * `parameters` is of the type `object`, has `properties`, and at its top level neither `oneOf`, `anyOf`, `allOf`, `enum`,
//!   `const` nor `not` (the API's own words, in its errors);
//! * `strict` is false, said in words: where it isn't said, the API makes schemas strict where it can, which would change them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::anthropic::with_condition;
use super::schema::{Rules, adapt};
use super::{Item, description, line, names};

const RULES: Rules = Rules {
    refused: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
    needs_properties: true,
    plain_parameters: false,
};

#[derive(Serialize)]
struct Definitions<'a> {
    tools: Vec<Function<'a>>,
}

#[derive(Serialize)]
struct SearchOutput<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    execution: &'static str,
    call_id: &'a str,
    status: &'static str,
    tools: Vec<Namespace<'a>>,
}

#[derive(Serialize)]
struct Namespace<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    description: String,
    tools: Vec<Function<'a>>,
}

#[derive(Serialize)]
struct Function<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: Cow<'a, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
    parameters: Cow<'a, RawValue>,
    strict: bool,
}

pub(super) fn definitions(
    call_id: Option<&str>,
    items: &[Item],
    notes: &mut Vec<String>,
) -> String {
    let Some(call_id) = call_id else {
        let functions = items.iter().filter_map(|item| function(item, false, notes));
        return line(&Definitions {
            tools: functions.collect(),
        });
    };
    let mut namespaces: Vec<(&str, Namespace<'_>)> = Vec::new();
    for item in items {
        let Some(function) = function(item, true, notes) else {
            continue;
        };
        let (server, _) = item.parts();
        match namespaces.iter_mut().find(|(name, _)| *name == server) {
            Some((_, namespace)) => namespace.tools.push(function),
            None => namespaces.push((server, namespace(item, server, function))),
        }
    }
    line(&SearchOutput {
        kind: "tool_search_output",
        execution: "client",
        call_id,
        status: "completed",
        tools: namespaces
            .into_iter()
            .map(|(_, namespace)| namespace)
            .collect(),
    })
}

/// The namespace of a server, with its first function. Functions keep their whole names, so that the name alone says what is called.
fn namespace<'a>(item: &Item, server: &str, function: Function<'a>) -> Namespace<'a> {
    let about = item.tool().map_or("", |(_, about)| about);
    Namespace {
        kind: "namespace",
        name: names::of_server(server),
        description: match about {
            "" => format!("Tools of the MCP server {server}."),
            about => about.to_owned(),
        },
        tools: vec![function],
    }
}

fn function<'a>(
    item: &'a Item,
    defer_loading: bool,
    notes: &mut Vec<String>,
) -> Option<Function<'a>> {
    let (tool, _) = item.tool()?;
    // Nothing is refused for the names of its parameters.
    let adapted = adapt(&tool.input_schema, RULES).ok()?;
    if !adapted.changes.is_empty() {
        notes.push(format!(
            "{}: as the API asks, {}",
            item.id,
            adapted.changes.join("; ")
        ));
    }
    Some(Function {
        kind: "function",
        name: names::of(&item.id),
        description: with_condition(description(tool), adapted.condition),
        defer_loading,
        parameters: adapted.schema,
        strict: false,
    })
}
