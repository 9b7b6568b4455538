//! A form that a server asks to have filled in (MCP elicitation, mode `form`): its fields, their values from texts, what is missing.
//!
//! It knows nobody who could be asked, and nothing of how an answer travels.

mod fields;
mod shown;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use self::fields::{Choice, Field};
use super::nearest::nearest;
use super::parameters::Parameters;
use super::schema::{self, Root};
use super::validator::{self, Fault};
use super::value;

/// How many bytes a form may have, its message and its schema together: it is read by whoever asks, again and again.
const MOST_BYTES: usize = 256 * 1024;
/// How many fields.
const MOST_FIELDS: usize = 200;

/// Why a form can't be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Nobody can be expected to read it.
    TooLarge(String),
    /// Its schema is no object's, or can't be used.
    Unusable(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(why) | Self::Unusable(why) => f.write_str(why),
        }
    }
}

/// A form.
#[derive(Debug)]
pub struct Form {
    message: String,
    root: Root,
    /// Formats are checked here: what a person mistypes is better told at once.
    compiled: jsonschema::Validator,
    fields: Vec<Field>,
}

impl Form {
    /// Reads what a server asks: its message, and the schema of the answer. It may take a while.
    ///
    /// # Errors
    /// Why it can't be asked: it has more than 256 KiB or 200 fields, or its schema is no object's, or can't be used.
    pub fn read(message: &str, requested: &RawValue) -> Result<Self, Unreadable> {
        let bytes = message.len() + requested.get().len();
        if bytes > MOST_BYTES {
            let why = format!("it has {bytes} bytes, at most {MOST_BYTES} are read");
            return Err(Unreadable::TooLarge(why));
        }
        let root = schema::read(requested);
        if !root.value().is_object() {
            let why = "the requestedSchema is no object".to_owned();
            return Err(Unreadable::Unusable(why));
        }
        let parameters = Parameters::of(&root);
        let count = parameters.iter().count();
        if count > MOST_FIELDS {
            let why = format!("it has {count} fields, at most {MOST_FIELDS} are asked");
            return Err(Unreadable::TooLarge(why));
        }
        let compiled = validator::compile_with_formats(&root)
            .map_err(|why| Unreadable::Unusable(format!("the requestedSchema {why}")))?;
        let defaults = fields::fitting_defaults(&parameters, &root, &compiled);
        let fields = parameters
            .iter()
            .map(|parameter| Field::of(parameter, &root, defaults.get(parameter.name)))
            .collect();
        Ok(Self {
            message: message.to_owned(),
            root,
            compiled,
            fields,
        })
    }

    /// Its fields, in the server's order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Reads the texts that were given for a field, by its schema: a string stays a string, several texts are the items of an array.
    ///
    /// # Errors
    /// The sentence that says why not, with the field's name.
    pub fn value(&self, name: &str, texts: &[&str]) -> Result<Value, String> {
        let parameters = Parameters::of(&self.root);
        let Some(parameter) = parameters.get(name) else {
            let near = nearest(name, parameters.names());
            return Err(Fault::unknown("", name, &near).sentence());
        };
        let shape = parameter.schemas.shape(&self.root);
        let value = value::from_texts(&self.root, &shape, texts)
            .map_err(|fault| format!("{name} {fault}"))?;
        match fields::faults_of(&self.compiled, name, &value).first() {
            Some(fault) => Err(fault.sentence()),
            None => Ok(value),
        }
    }

    /// The whole answer: what was given, and the defaults of the other fields (SEP-1034).
    ///
    /// # Errors
    /// The sentences that say what is missing or does not fit.
    pub fn complete(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut answer = Map::new();
        for field in &self.fields {
            if let Some(value) = given.get(&field.name).or(field.default.as_ref()) {
                answer.insert(field.name.clone(), value.clone());
            }
        }
        let unknown = given.keys().filter(|name| !answer.contains_key(*name));
        let unknown: Vec<Fault> = unknown.map(|name| Fault::unknown("", name, &[])).collect();
        let whole = Value::Object(answer);
        let faults = self.compiled.iter_errors(&whole);
        let faults = faults.flat_map(|error| validator::faults_of(&error));
        let faults: Vec<String> = unknown
            .into_iter()
            .chain(faults)
            .map(|fault| fault.sentence())
            .collect();
        match whole {
            Value::Object(answer) if faults.is_empty() => Ok(answer),
            _ => Err(faults.join("; ")),
        }
    }
}
