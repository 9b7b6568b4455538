//! Checking a result against the tool's `outputSchema`.
//!
//! It must not know what becomes of a result that does not fit: the tool has run, so nothing is refused here.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Patterns, compile, faults, listed};
use crate::arguments::schema;
use crate::problem::{Problem, ProblemKind};
use crate::tool::Tool;

/// The longest result that is checked: values take many times the memory of their text.
const LONGEST: usize = 4 * 1024 * 1024;
/// The longest in which all faults are looked for; of a longer one only the first is told.
const SEARCHED: usize = 64 * 1024;

/// A tool's `outputSchema` made ready for checking.
///
/// Both the schema and the result are a stranger's, so patterns that could take for ever over some text are not used.
#[derive(Debug)]
pub struct ResultValidator {
    compiled: jsonschema::Validator,
}

/// What of a result is checked. That it is `null` is no different from its absence but to a schema that wants `null`.
#[derive(Deserialize)]
struct Structured<'a> {
    #[serde(
        rename = "structuredContent",
        default,
        borrow,
        deserialize_with = "present"
    )]
    content: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl ResultValidator {
    /// Compiles the tool's `outputSchema`; `None` when it has none. Never fetches a `$ref` from the network.
    ///
    /// # Errors
    /// [`ProblemKind::MalformedTool`] when the schema itself can't be used.
    pub fn new(tool: &Tool) -> Option<Result<Self, Problem>> {
        let root = schema::read(tool.output_schema.as_deref()?);
        let compiled = compile(&root, Patterns::Linear).map_err(|why| {
            Problem::new(
                ProblemKind::MalformedTool,
                format!("the result was not checked: the outputSchema {why}"),
            )
        });
        Some(compiled.map(|compiled| Self { compiled }))
    }

    /// Whether a result of so many bytes is checked at all.
    ///
    /// # Errors
    /// [`ProblemKind::ResultKind`] when it is too long.
    pub fn takes(bytes: usize) -> Result<(), Problem> {
        if bytes <= LONGEST {
            return Ok(());
        }
        let limit = LONGEST / 1024 / 1024;
        Err(mismatch(format!(
            "the result was not checked against the outputSchema: it has more than {limit} MiB"
        )))
    }

    /// Checks a whole result object, one that is no error of the tool.
    ///
    /// # Errors
    /// [`ProblemKind::ResultKind`] with every fault and its place, or that there is no structured content.
    pub fn check(&self, result: &RawValue) -> Result<(), Problem> {
        Self::takes(result.get().len())?;
        let unreadable = |error: serde_json::Error| {
            mismatch(format!(
                "the result was not checked against the outputSchema: it can't be read: {error}"
            ))
        };
        let read: Structured<'_> = serde_json::from_str(result.get()).map_err(unreadable)?;
        let Some(content) = read.content else {
            return Err(missing());
        };
        let value: Value = serde_json::from_str(content.get()).map_err(unreadable)?;
        if self.compiled.is_valid(&value) {
            return Ok(());
        }
        if value.is_null() {
            return Err(missing());
        }
        let found: Vec<_> = if content.get().len() <= SEARCHED {
            let errors = self.compiled.iter_errors(&value);
            errors.flat_map(|error| faults::of(&error)).collect()
        } else {
            let first = self.compiled.validate(&value).err();
            first.iter().flat_map(faults::of).collect()
        };
        Err(mismatch(format!(
            "the structured content does not fit the outputSchema{}",
            listed(&found)
        )))
    }
}

fn missing() -> Problem {
    mismatch("the result has no structured content, although there is an outputSchema".to_owned())
}

fn mismatch(message: String) -> Problem {
    Problem::new(ProblemKind::ResultKind, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::{LONGEST, ResultValidator, SEARCHED};
    use crate::entry_id::ServerName;
    use crate::problem::{Problem, ProblemKind};
    use crate::tool::Tool;

    fn compiled(schema: &Value) -> Result<ResultValidator, Problem> {
        let tool = json!({"name": "t", "inputSchema": {}, "outputSchema": schema});
        let raw = RawValue::from_string(tool.to_string()).unwrap();
        let tool = Tool::parse(&ServerName::new("test"), 0, Arc::from(raw)).unwrap();
        ResultValidator::new(&tool).unwrap()
    }

    fn check(schema: &Value, result: &str) -> Result<(), String> {
        let result = RawValue::from_string(result.to_owned()).unwrap();
        compiled(schema)
            .unwrap()
            .check(&result)
            .map_err(|problem| problem.message)
    }

    fn sum() -> Value {
        json!({"type": "object", "properties": {"sum": {"type": "number"}, "unit": {"$ref": "#/$defs/unit"}}, "required": ["sum"],
            "additionalProperties": false, "$defs": {"unit": {"enum": ["m", "s"]}}})
    }

    #[test]
    fn what_fits_is_not_mentioned() {
        let fits = r#"{"content":[],"structuredContent":{"unit":"m","sum":1e3}}"#;
        assert_eq!(check(&sum(), fits), Ok(()));
        // Any JSON may be a structured content.
        assert_eq!(
            check(&json!({"type": "null"}), r#"{"structuredContent":null}"#),
            Ok(())
        );
        let list = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(check(&list, r#"{"structuredContent":[1,2]}"#), Ok(()));
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let faulty = r#"{"structuredContent":{"sum":"three","unit":"kg","more":1}}"#;
        let said = check(&sum(), faulty).unwrap_err();
        for line in [
            "\n  /sum: must be number, not \"three\"",
            "\n  /unit: must be \"m\" or \"s\", not \"kg\"",
            "\n  /more: unknown",
        ] {
            assert!(said.contains(line), "{said}");
        }
    }

    #[test]
    fn nothing_where_something_was_promised_is_told() {
        for result in [
            "{}",
            r#"{"content":[{"type":"text","text":"3"}]}"#,
            r#"{"structuredContent":null}"#,
        ] {
            let said = check(&sum(), result).unwrap_err();
            assert!(said.contains("no structured content"), "{result}: {said}");
        }
    }

    #[test]
    fn faults_without_number_are_counted() {
        let list = json!({"items": {"type": "integer"}});
        let result = |count| json!({"structuredContent": vec!["x"; count]}).to_string();
        let said = check(&list, &result(30)).unwrap_err();
        assert!(said.ends_with("\n  and 10 more"), "{said}");
        let said = check(&list, &result(SEARCHED)).unwrap_err();
        assert_eq!(said.lines().count(), 2, "{said}");
    }

    #[test]
    fn a_schema_that_is_of_no_use_is_told_and_never_fetched() {
        for schema in [
            json!({"$ref": "http://127.0.0.1:9/x"}),
            json!({"type": "bogus"}),
            json!({"allOf": [{"$ref": "#"}]}),
            // Only a matcher that goes back and forth can do it.
            json!({"pattern": "^(a+)\\1$"}),
        ] {
            let problem = compiled(&schema).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::MalformedTool, "{schema}");
            assert!(problem.message.contains("was not checked"), "{problem}");
        }
    }

    #[test]
    fn a_result_of_any_length_is_not_read() {
        let text = format!(
            r#"{{"structuredContent":{{"sum":1}},"x":"{}"}}"#,
            "x".repeat(LONGEST)
        );
        assert!(check(&sum(), &text).unwrap_err().contains("4 MiB"));
        assert!(ResultValidator::takes(LONGEST).is_ok());
    }
}
