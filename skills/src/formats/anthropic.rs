//! Tool definitions for Anthropic's Messages API, deferred, and the references by which a search loads them.
//!
//! As <https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool> asks ("Custom tool search implementation",
//! "Error handling") and <https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools>:
//! * every tool that is referred to stands among the request's `tools`, with `defer_loading: true`;
//! * a request whose tools are all deferred is refused;
//! * `input_schema` is an object without `oneOf`, `allOf` or `anyOf` at its top level, and its parameters' names match
//!   `[a-zA-Z0-9_.-]{1,64}` (the API's own words, in its errors).

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::schema::{Rules, adapt};
use super::{Item, Occasion, description, line, names};

const RULES: Rules = Rules {
    refused: &["oneOf", "allOf", "anyOf"],
    needs_properties: false,
    plain_parameters: true,
};

/// The most tools that a catalog may have.
const MAX_TOOLS: usize = 10_000;

#[derive(Serialize)]
struct Definitions<'a> {
    tools: Vec<Definition<'a>>,
    /// The whole content of the search tool's result: nothing else may stand among references.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_result_content: Option<Vec<Reference>>,
}

#[derive(Serialize)]
struct Definition<'a> {
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: Cow<'a, str>,
    input_schema: Cow<'a, RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
}

#[derive(Serialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_name: String,
}

pub(super) fn definitions(
    occasion: Occasion<'_>,
    items: &[Item],
    notes: &mut Vec<String>,
) -> String {
    let tools: Vec<_> = items
        .iter()
        .filter_map(|item| definition(item, notes))
        .collect();
    let references = tools
        .iter()
        .filter(|tool| tool.defer_loading)
        .map(|tool| Reference {
            kind: "tool_reference",
            tool_name: tool.name.clone(),
        });
    let tool_result_content = match occasion {
        Occasion::List => None,
        Occasion::Search(_) | Occasion::Show => Some(references.collect()),
    };
    if !tools.is_empty() && tools.iter().all(|tool| tool.defer_loading) {
        notes.push(
            "every tool here is deferred, and the API refuses a request of such alone: add your search tool, without defer_loading, or pin one"
                .to_owned(),
        );
    }
    if tools.len() > MAX_TOOLS {
        notes.push(format!(
            "the API takes {MAX_TOOLS} tools at most, these are {}",
            tools.len()
        ));
    }
    if tool_result_content.is_some() {
        for tool in tools.iter().filter(|tool| !tool.defer_loading) {
            notes.push(format!(
                "{} is pinned, and so loaded from the start: there is no reference to it",
                tool.name
            ));
        }
    }
    line(&Definitions {
        tools,
        tool_result_content,
    })
}

fn definition<'a>(item: &'a Item, notes: &mut Vec<String>) -> Option<Definition<'a>> {
    let (tool, _) = item.tool()?;
    let adapted = match adapt(&tool.input_schema, RULES) {
        Ok(adapted) => adapted,
        Err(parameter) => {
            notes.push(format!(
                "{} is left out: the API refuses a request with a parameter of the name {parameter:?}",
                item.id
            ));
            return None;
        }
    };
    if !adapted.changes.is_empty() {
        notes.push(format!(
            "{}: as the API asks, {}",
            item.id,
            adapted.changes.join("; ")
        ));
    }
    Some(Definition {
        name: names::of(&item.id),
        description: with_condition(description(tool), adapted.condition),
        input_schema: adapted.schema,
        defer_loading: !item.pinned,
    })
}

/// A description with what its schema can't say.
pub(super) fn with_condition(description: &str, condition: Option<String>) -> Cow<'_, str> {
    match condition {
        None => Cow::Borrowed(description),
        Some(condition) if description.is_empty() => Cow::Owned(condition),
        Some(condition) => Cow::Owned(format!("{description}\n\n{condition}")),
    }
}
