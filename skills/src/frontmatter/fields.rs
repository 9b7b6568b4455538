//! From a map to the fields of the specification, with a warning for each that is not as it should be.

use serde_json::{Map, Value};

use super::yaml::Field;
use super::{Frontmatter, Report};

/// The specification's limits, in characters.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1_024;

impl Frontmatter {
    pub(super) fn from_map(
        map: Map<String, Value>,
        fields: &[Field<'_>],
        report: &mut Report<'_>,
    ) -> Self {
        let mut frontmatter = Self::default();
        for (key, value) in map {
            // The last one, as of duplicate keys the last one counts.
            let field = fields.iter().rfind(|field| field.key == key);
            let line = field.map(|field| field.line);
            frontmatter.set(key, value, field, &mut |message: String| {
                report.warn(line, message);
            });
        }
        if frontmatter.name.is_none() {
            report.warn(None, "no name; the directory's name is used");
        }
        frontmatter
    }

    fn set(
        &mut self,
        key: String,
        value: Value,
        field: Option<&Field<'_>>,
        warn: &mut dyn FnMut(String),
    ) {
        match (key.as_str(), value) {
            ("name", Value::String(name)) if !name.is_empty() => {
                if !is_valid_name(&name) {
                    warn(format!(
                        "the name {name:?} is not 1 to {MAX_NAME} characters of a-z, 0-9 and single hyphens"
                    ));
                }
                self.name = Some(name);
            }
            ("description", Value::String(description)) => {
                let length = description.chars().count();
                if length > MAX_DESCRIPTION {
                    warn(format!(
                        "the description has {length} characters, more than {MAX_DESCRIPTION}"
                    ));
                }
                if !description.contains(" #") && field.is_some_and(Field::is_cut_by_comment) {
                    warn("the unquoted description is cut at ` #`".to_owned());
                }
                self.description = Some(description);
            }
            ("description", Value::Null) => {}
            // A colon in a description on a line of its own makes it a map, and `[beta]` a list.
            ("description", _) if let Some(field) = field => {
                warn("the description is not a string; read as plain text".to_owned());
                self.description = Some(field.raw());
            }
            ("license", Value::String(license)) => self.license = Some(license),
            ("compatibility", Value::String(text)) => self.compatibility = Some(text),
            ("metadata", metadata) => {
                match &metadata {
                    Value::Object(map) if map.values().all(Value::is_string) => {}
                    Value::Object(_) => warn("values of `metadata` are not strings".to_owned()),
                    _ => warn("`metadata` is not a map".to_owned()),
                }
                self.metadata = Some(metadata);
            }
            ("allowed-tools", Value::String(tools)) => self.allowed_tools = split_tools(&tools),
            ("allowed-tools", Value::Array(tools)) if tools.iter().all(Value::is_string) => {
                let names = tools.iter().filter_map(Value::as_str);
                self.allowed_tools = names.map(|name| name.trim().to_owned()).collect();
            }
            ("name" | "license" | "compatibility" | "allowed-tools", value) => {
                // A key without a value says nothing, and is nothing to warn about.
                if !value.is_null() {
                    warn(format!("`{key}` is of the wrong type and is not used"));
                }
                self.other.insert(key, value);
            }
            (_, value) => {
                self.other.insert(key, value);
            }
        }
    }
}

/// The specification's pattern for a name.
fn is_valid_name(name: &str) -> bool {
    let characters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= MAX_NAME
        && name.chars().all(characters)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Splits at spaces and commas, but not within parentheses: `Bash(git add:*), Read` is two tools.
fn split_tools(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    })
    .filter(|tool| !tool.is_empty())
    .map(str::to_owned)
    .collect()
}
