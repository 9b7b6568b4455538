//! A form that a server asks to have filled in (MCP elicitation, mode `form`): its fields, their values from texts, what is missing.
//!
//! It knows nobody who could be asked, and nothing of how an answer travels.

mod fields;
mod shown;
#[cfg(test)]
mod tests;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use self::fields::{Choice, Field};
use super::nearest::nearest;
use super::parameters::Parameters;
use super::schema::{self, Root};
use super::validator::{self, Fault};
use super::value;

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
    /// Reads what a server asks: its message, and the schema of the answer.
    ///
    /// # Errors
    /// The sentence that says why it can't be asked: the schema is no object's, or can't be used.
    pub fn read(message: &str, requested: &RawValue) -> Result<Self, String> {
        let root = schema::read(requested);
        if !root.value().is_object() {
            return Err("the requestedSchema is no object".to_owned());
        }
        let compiled = validator::compile_with_formats(&root)
            .map_err(|why| format!("the requestedSchema {why}"))?;
        let fields = Parameters::of(&root)
            .iter()
            .map(|parameter| Field::of(parameter, &root, &compiled))
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
