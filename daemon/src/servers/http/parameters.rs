//! Arguments that a tool wants repeated as headers (`x-mcp-header` in its schema), from revision 2026-07-28 on.

use std::collections::HashSet;

use data_encoding::BASE64;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// The key of a schema that names the header.
const KEY: &str = "x-mcp-header";

/// An argument that is sent as a header too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// The names that lead to it from the arguments.
    path: Vec<String>,
    header: HeaderName,
}

/// Reads which arguments a tool wants as headers.
///
/// # Errors
/// What breaks the rules: such a tool must not be used.
pub(super) fn parameters(input_schema: &str) -> Result<Vec<Parameter>, String> {
    if !input_schema.contains(KEY) {
        return Ok(Vec::new());
    }
    let schema: Value = serde_json::from_str(input_schema)
        .map_err(|error| format!("its {KEY} can't be read: {error}"))?;
    let mut found = Found::default();
    found.schema(&schema, &mut Vec::new(), true)?;
    Ok(found.parameters)
}

/// Sets the headers for the arguments of a call.
pub(super) fn set(headers: &mut HeaderMap, parameters: &[Parameter], arguments: Option<&Value>) {
    for parameter in parameters {
        let value = parameter
            .path
            .iter()
            .try_fold(arguments, |value, name| Some(value?.get(name)))
            .flatten();
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(flag)) => flag.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            _ => continue,
        };
        headers.insert(parameter.header.clone(), encoded(&text));
    }
}

/// A text as the value of a header: as it is where that can be, else in Base64 with a mark.
pub(super) fn encoded(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let text = if plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64.encode(text.as_bytes()))
    };
    HeaderValue::from_str(&text).expect("printable ASCII is a header's value")
}

#[derive(Default)]
struct Found {
    parameters: Vec<Parameter>,
    names: HashSet<HeaderName>,
}

impl Found {
    /// Looks through a schema. `path` leads to it by `properties` alone where `reachable`.
    fn schema(
        &mut self,
        schema: &Value,
        path: &mut Vec<String>,
        reachable: bool,
    ) -> Result<(), String> {
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(schemas) => {
                return schemas
                    .iter()
                    .try_for_each(|schema| self.schema(schema, path, false));
            }
            _ => return Ok(()),
        };
        if let Some(header) = members.get(KEY) {
            if !reachable || path.is_empty() {
                return Err(format!("{KEY} stands where no single argument is"));
            }
            self.take(header, members, path)?;
        }
        for (name, value) in members {
            match name.as_str() {
                // Data, not schemas.
                "default" | "const" | "enum" | "examples" | "required" | "dependentRequired"
                | KEY => {}
                "properties" => self.properties(value, path, reachable)?,
                "$defs" | "definitions" | "dependencies" | "dependentSchemas"
                | "patternProperties" => {
                    self.properties(value, path, false)?;
                }
                _ => self.schema(value, path, false)?,
            }
        }
        Ok(())
    }

    /// Looks through schemas by name.
    fn properties(
        &mut self,
        schemas: &Value,
        path: &mut Vec<String>,
        reachable: bool,
    ) -> Result<(), String> {
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            path.push(name.clone());
            self.schema(schema, path, reachable)?;
            path.pop();
        }
        Ok(())
    }

    fn take(
        &mut self,
        header: &Value,
        schema: &Map<String, Value>,
        path: &[String],
    ) -> Result<(), String> {
        let argument = path.join(".");
        let name = header
            .as_str()
            .filter(|name| !name.is_empty())
            .and_then(|name| HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes()).ok())
            .ok_or_else(|| format!("{KEY} of `{argument}` is not the name of a header"))?;
        let kind = schema.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "{KEY} of `{argument}`, which is neither a string nor an integer nor a boolean"
            ));
        }
        if !self.names.insert(name.clone()) {
            return Err(format!("{KEY} of `{argument}` names a header twice"));
        }
        self.parameters.push(Parameter {
            path: path.to_vec(),
            header: name,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(properties: Value) -> Result<Vec<Parameter>, String> {
        parameters(&json!({"type": "object", "properties": properties}).to_string())
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let properties = json!({
            "region": {"type": "string", KEY: "Region"},
            "deep": {"type": "object", "properties": {"level": {"type": "integer", KEY: "Level"}}},
            "flag": {"type": "boolean", KEY: "Flag"},
            "none": {"type": "string", KEY: "None"},
            "absent": {"type": "string", KEY: "Absent"},
            "plain": {"type": "string", "default": {KEY: "Not-One"}}
        });
        let mut headers = HeaderMap::new();
        let arguments = json!({"region": "eu", "deep": {"level": 7}, "flag": false, "none": null, "plain": "x"});
        set(&mut headers, &read(properties).unwrap(), Some(&arguments));
        let mut all: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        all.sort();
        assert_eq!(
            all,
            [
                "mcp-param-flag: false",
                "mcp-param-level: 7",
                "mcp-param-region: eu"
            ]
        );
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        for properties in [
            json!({"a": {"type": "string", KEY: ""}}),
            json!({"a": {"type": "string", KEY: 1}}),
            json!({"a": {"type": "string", KEY: "b c"}}),
            json!({"a": {"type": "string", KEY: "b:c"}}),
            json!({"a": {"type": "string", KEY: "é"}}),
            json!({"a": {"type": "string", KEY: "b\t"}}),
            json!({"a": {"type": "number", KEY: "b"}}),
            json!({"a": {"type": "null", KEY: "b"}}),
            json!({"a": {"type": ["string"], KEY: "b"}}),
            json!({"a": {KEY: "b"}}),
            json!({"a": {"type": "string", KEY: "b"}, "c": {"type": "string", KEY: "B"}}),
            json!({"a": {"type": "array", "items": {"type": "string", KEY: "b"}}}),
            json!({"a": {"anyOf": [{"type": "string", KEY: "b"}]}}),
        ] {
            assert!(read(properties.clone()).is_err(), "{properties}");
        }
        let at_root = json!({"type": "object", KEY: "a"}).to_string();
        assert!(parameters(&at_root).is_err());
        let defined = json!({"$defs": {"a": {"type": "string", KEY: "a"}}}).to_string();
        assert!(parameters(&defined).is_err());
        assert_eq!(parameters(r#"{"type": "object"}"#), Ok(Vec::new()));
    }

    #[test]
    fn values_that_no_header_may_have_are_encoded() {
        for plain in ["", "a b", "=?base64?", "~"] {
            assert_eq!(encoded(plain), plain);
        }
        for (text, base64) in [
            (" a", "=?base64?IGE=?="),
            ("a\r\nb", "=?base64?YQ0KYg==?="),
            ("ü", "=?base64?w7w=?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(encoded(text), base64);
        }
    }
}
