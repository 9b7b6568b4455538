//! The two tools: what they are declared as, and what they are asked for.
//!
//! The definitions are the same bytes for every shelf. They name no server and count nothing, since a client sends them with every
//! request to its model, and a prompt cache lasts as long as they do.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
use skills::arguments::parse_json;
use skills::problem::{Problem, ProblemKind};

use crate::protocol::EntryKind;

/// Finds entries.
pub(super) const SEARCH: &str = "search_tools";

/// Calls a tool, or reads a skill.
pub(super) const CALL: &str = "call_tool";

/// How many matches are given when nothing is said.
const LIMIT: usize = 8;

/// How many may be asked for.
const MOST: usize = 50;

const SEARCH_SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"Words for the task or an exact id; empty lists"},"server":{"type":"string","description":"Only this server's tools"},"kind":{"type":"string","enum":["tool","skill"]},"limit":{"type":"integer","minimum":1,"maximum":50,"default":8}},"required":["query"],"additionalProperties":false}"#;

const CALL_SCHEMA: &str = r#"{"type":"object","properties":{"id":{"type":"string","description":"As found: server/tool or skills/name"},"arguments":{"type":"object","description":"By the tool's inputSchema"}},"required":["id"],"additionalProperties":false}"#;

/// The list of tools as JSON.
pub(super) fn definitions() -> String {
    let search = format!(
        r#"{{"name":"{SEARCH}","description":"Finds tools and skills by what they do. Gives ids, descriptions and input schemas. Search before you say that something can't be done.","inputSchema":{SEARCH_SCHEMA},"annotations":{{"readOnlyHint":true}}}}"#
    );
    let call = format!(
        r#"{{"name":"{CALL}","description":"Calls a tool by its id, or reads a skill's instructions. A search first is not required.","inputSchema":{CALL_SCHEMA}}}"#
    );
    format!("[{search},{call}]")
}

/// What is searched for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArguments {
    pub(super) query: String,
    pub(super) server: Option<String>,
    pub(super) kind: Option<EntryKind>,
    /// How many entries are wanted, where it is said.
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<usize>,
}

impl SearchArguments {
    /// How many matches are given.
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(LIMIT)
    }

    /// How many entries a list has at most: as many as fit, where nothing is said.
    pub(super) fn longest_list(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Reads them.
    ///
    /// # Errors
    /// What is wrong with them, with the schema.
    pub(super) fn read(raw: Option<&RawValue>) -> Result<Self, Problem> {
        let arguments: Self = read(raw).map_err(|problem| of_ours(problem, SEARCH_SCHEMA))?;
        if !(1..=MOST).contains(&arguments.limit()) {
            let message = format!("`limit` is from 1 to {MOST}");
            let problem = Problem::new(ProblemKind::Arguments, message);
            return Err(of_ours(problem, SEARCH_SCHEMA));
        }
        Ok(arguments)
    }
}

/// What is called.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallArguments {
    pub(super) id: String,
    #[serde(default, deserialize_with = "none_for_null")]
    pub(super) arguments: Map<String, Value>,
}

impl CallArguments {
    /// Reads them; a number that could not be passed on as it was written is refused.
    ///
    /// # Errors
    /// What is wrong with them, with the schema.
    pub(super) fn read(raw: Option<&RawValue>) -> Result<Self, Problem> {
        read(raw).map_err(|problem| of_ours(problem, CALL_SCHEMA))
    }
}

/// A whole number, however it is written: to JSON Schema `2.0` is an integer, too.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    /// Far beyond every limit, and exact as a float.
    const MOST: f64 = 1e9;
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let number = number
        .as_f64()
        .filter(|number| number.fract() == 0.0 && (0.0..=MOST).contains(number));
    let number = number.ok_or_else(|| D::Error::custom("`limit` is no whole number"))?;
    Ok(Some(number as usize))
}

/// Harnesses write `null` for arguments that a model left out.
fn none_for_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn read<T: for<'a> Deserialize<'a>>(raw: Option<&RawValue>) -> Result<T, Problem> {
    let arguments = parse_json(raw.map_or("{}", RawValue::get))?;
    serde_json::from_value(Value::Object(arguments))
        .map_err(|e| Problem::new(ProblemKind::Arguments, e.to_string()))
}

fn of_ours(problem: Problem, schema: &str) -> Problem {
    Problem {
        message: format!("{}\n\ninputSchema: {schema}", problem.message),
        hint: None,
        ..problem
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serde_json::value::RawValue;
    use skills::problem::Problem;

    use super::{CallArguments, LIMIT, MOST, SEARCH_SCHEMA, SearchArguments, definitions};

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn the_definitions_are_compact_json_within_their_budget() {
        let definitions = definitions();
        let tools: Value = serde_json::from_str(&definitions).unwrap();
        // Keys stay in place, so that white space would be the only difference.
        assert_eq!(tools.to_string(), definitions);
        let named: Vec<_> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|t| &t["name"])
            .collect();
        assert_eq!(named, ["search_tools", "call_tool"]);
        let tokens = tiktoken::encoding::o200k_base().count(&definitions);
        assert!(tokens <= 250, "{tokens}");
    }

    #[test]
    fn the_schema_says_what_is_done() {
        let schema: Value = serde_json::from_str(SEARCH_SCHEMA).unwrap();
        let limit = &schema["properties"]["limit"];
        assert_eq!(
            (limit["default"].as_u64(), limit["maximum"].as_u64()),
            (Some(LIMIT as u64), Some(MOST as u64))
        );
        let read = SearchArguments::read(Some(&raw(r#"{"query": "x"}"#))).unwrap();
        assert_eq!((read.query.as_str(), read.limit()), ("x", LIMIT));
        for kind in schema["properties"]["kind"]["enum"].as_array().unwrap() {
            let read =
                SearchArguments::read(Some(&raw(&format!(r#"{{"query": "", "kind": {kind}}}"#))));
            assert_eq!(serde_json::to_value(read.unwrap().kind).unwrap(), *kind);
        }
    }

    #[test]
    fn what_means_the_same_is_read_as_the_same() {
        for (text, limit) in [("2", 2), ("2.0", 2), ("5e1", 50), ("null", LIMIT)] {
            let text = format!(r#"{{"query": "x", "limit": {text}}}"#);
            assert_eq!(
                SearchArguments::read(Some(&raw(&text))).unwrap().limit(),
                limit
            );
        }
        for arguments in ["null", "{}"] {
            let text = format!(r#"{{"id": "a/b", "arguments": {arguments}}}"#);
            let read = CallArguments::read(Some(&raw(&text))).unwrap();
            assert!(read.arguments.is_empty(), "{arguments}");
        }
    }

    #[test]
    fn wrong_arguments_are_refused_with_the_schema() {
        let refused = |problem: Problem, what: &str| {
            let said = problem.to_string();
            assert!(said.contains(what), "{said}");
            assert!(said.contains(r#"inputSchema: {"type":"object""#), "{said}");
        };
        for (text, what) in [
            ("{}", "query"),
            (r#"{"query": 7}"#, "string"),
            (r#"{"query": "x", "limit": 0}"#, "from 1 to 50"),
            (r#"{"query": "x", "limit": 51}"#, "from 1 to 50"),
            (r#"{"query": "x", "limit": "8"}"#, "number"),
            (r#"{"query": "x", "limit": 2.5}"#, "whole number"),
            (r#"{"query": "x", "limit": -1}"#, "whole number"),
            (r#"{"query": "x", "kind": "cup"}"#, "cup"),
            (r#"{"query": "x", "words": "y"}"#, "words"),
            (r#"["x"]"#, "object"),
        ] {
            refused(SearchArguments::read(Some(&raw(text))).unwrap_err(), what);
        }
        refused(CallArguments::read(None).unwrap_err(), "id");
        for (text, what) in [
            (r#"{"id": "a/b", "arguments": "{}"}"#, "map"),
            (r#"{"id": "a/b", "text": "x"}"#, "text"),
            (
                r#"{"id": "a/b", "arguments": {"n": 123456789012345678901234567890}}"#,
                "more digits",
            ),
            (r#"{"id": "a/b", "arguments": {"n": 1, "n": 2}}"#, "twice"),
        ] {
            refused(CallArguments::read(Some(&raw(text))).unwrap_err(), what);
        }
    }
}
