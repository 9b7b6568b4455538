//! The fields of a form: what their schemas say of them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::arguments::parameters::{Parameter, Parameters, describe};
use crate::arguments::schema::{Kind, Root};
use crate::arguments::validator::{Fault, below, faults_of as faults_of_error};

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// By which it is answered.
    pub name: String,
    /// What the server calls it.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// Its type in short: `string`, `integer`, `"a"|"b"`, `("a"|"b")[]`.
    pub kind: String,
    /// Whether the answer has to have it.
    pub required: bool,
    /// What stands for it where nothing is given; one that its own schema refuses is none.
    pub default: Option<Value>,
    /// The only values that it, or each of its items, may have, where the schema lists them.
    pub choices: Vec<Choice>,
    /// What its schema demands of a value beside its type, as `minimum 0`.
    pub limits: Vec<String>,
    /// Whether several values may be given.
    pub several: bool,
    /// Whether it is true or false.
    pub boolean: bool,
}

/// One of the values that a schema lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value as it is given.
    pub value: String,
    /// What the server calls it.
    pub title: Option<String>,
}

impl Field {
    pub(super) fn of(parameter: &Parameter<'_>, root: &Root, default: Option<&Value>) -> Self {
        let shape = parameter.schemas.shape(root);
        let has = |kind: Kind| shape.iter().flatten().any(|known| known.kind == kind);
        let text = |key: &str| parameter.schemas.word(key).map(str::to_owned);
        Self {
            name: parameter.name.to_owned(),
            title: text("title"),
            description: text("description"),
            kind: describe(root, &shape, 0),
            required: parameter.required,
            default: default.cloned(),
            choices: parameter.schemas.first().map(choices).unwrap_or_default(),
            limits: parameter.schemas.first().map(limits).unwrap_or_default(),
            several: has(Kind::Array),
            boolean: has(Kind::Boolean) && !has(Kind::String),
        }
    }
}

/// The defaults that their own schemas take, by field. All are looked at together: a form with many fields must not be checked for each.
pub(super) fn fitting_defaults(
    parameters: &Parameters<'_>,
    root: &Root,
    compiled: &jsonschema::Validator,
) -> Map<String, Value> {
    let default = |parameter: &Parameter<'_>| {
        let default = parameter.schemas.default_value(root)?;
        Some((parameter.name.to_owned(), default.clone()))
    };
    let defaults = Value::Object(parameters.iter().filter_map(default).collect());
    let faults: HashSet<String> = compiled
        .iter_errors(&defaults)
        .flat_map(|error| faults_of_error(&error))
        .filter_map(|fault| Some(fault.place.split('/').nth(1)?.to_owned()))
        .collect();
    let Value::Object(mut defaults) = defaults else {
        return Map::new();
    };
    defaults.retain(|name, _| !faults.contains(&below("", name)[1..]));
    defaults
}

/// What is wrong with a value alone, whatever else the form has.
pub(super) fn faults_of(compiled: &jsonschema::Validator, name: &str, value: &Value) -> Vec<Fault> {
    let alone = Value::from(Map::from_iter([(name.to_owned(), value.clone())]));
    let place = below("", name);
    let faults = compiled.iter_errors(&alone);
    let faults = faults.flat_map(|error| faults_of_error(&error));
    faults
        .filter(|fault| fault.place == place || fault.place.starts_with(&format!("{place}/")))
        // Another field that is missing stands at its own place, and so does not count.
        .collect()
}

/// The words of JSON Schema that the protocol lets a field have, and the bounds beside them.
const LIMITS: [&str; 10] = [
    "format",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];

/// What a schema demands beside the type.
fn limits(schema: &Value) -> Vec<String> {
    let limits = LIMITS.into_iter().filter_map(|word| {
        let value = schema.get(word)?;
        Some(format!("{word} {}", as_given(value)))
    });
    limits.collect()
}

/// The listed values of a field, or of the items of one that is a list, in all four forms of the protocol.
fn choices(schema: &Value) -> Vec<Choice> {
    let schema = schema.get("items").unwrap_or(schema);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let titles = schema.get("enumNames").and_then(Value::as_array);
        let title = |place: usize| titles?.get(place)?.as_str().map(str::to_owned);
        let values = values.iter().enumerate();
        return values
            .map(|(place, value)| Choice {
                value: as_given(value),
                title: title(place),
            })
            .collect();
    }
    let branches = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    let branches = branches.and_then(Value::as_array).into_iter().flatten();
    branches
        .filter_map(|branch| {
            Some(Choice {
                value: as_given(branch.get("const")?),
                title: branch
                    .get("title")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            })
        })
        .collect()
}

/// A value as the text that gives it.
pub(super) fn as_given(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
