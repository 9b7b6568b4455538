//! Checking arguments against the schema before anything is sent.

mod chains;
mod faults;
mod result;

use std::error::Error;
use std::fmt::Write;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError};
use serde_json::{Map, Value};

pub(super) use self::faults::{Fault, below, of as faults_of};
pub use self::result::ResultValidator;
use super::parameters::Parameters;
use super::schema::Root;
use super::{nearest, refused, schema};
use crate::entry_id::EntryId;
use crate::problem::{Problem, ProblemKind};
use crate::tool::Tool;

/// How many faults are listed; the rest is counted.
const LISTED: usize = 20;

/// A tool's schema made ready for checking; the daemon keeps one a tool.
///
/// The dialect is the one that `$schema` names, 2020-12 without one. `format` is an annotation, as it is in 2020-12, whatever the
/// dialect: the server knows best which dates it takes. Names that the schema does not declare are refused even though JSON Schema would
/// let them pass, unless the schema says that it takes them or declares none at all.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    /// The only names that are taken, where others are not.
    names: Option<Vec<String>>,
    /// The required arguments that have a default which fits.
    defaults: Vec<(String, Value)>,
}

impl Validator {
    /// Compiles the tool's `inputSchema`. Never fetches a `$ref` from the network.
    ///
    /// # Errors
    /// [`ProblemKind::MalformedTool`] when the schema itself can't be used: then only the server can judge arguments.
    pub fn new(tool: &Tool) -> Result<Self, Problem> {
        let root = schema::of(tool);
        let compiled = compile(&root, Patterns::All).map_err(unusable)?;
        let parameters = Parameters::of(&root);
        let names =
            (!parameters.takes_others()).then(|| parameters.names().map(str::to_owned).collect());
        let required = parameters.iter().filter(|known| known.required);
        let defaults = required.filter_map(|known| {
            let default = known.schemas.default_value(&root)?;
            let alone = Value::from(Map::from_iter([(known.name.to_owned(), default.clone())]));
            let place = faults::below("", known.name);
            // Defaults are written by hand, and often are of another type than they say.
            let fits = compiled.iter_errors(&alone).all(|error| {
                let at = error.instance_path();
                let at = at.as_str();
                at != place && !at.starts_with(&format!("{place}/"))
            });
            fits.then(|| (known.name.to_owned(), default.clone()))
        });
        let defaults = defaults.collect();
        Ok(Self {
            compiled,
            names,
            defaults,
        })
    }

    /// Adds each required argument that is missing and has a default, and gives back what was added.
    pub fn fill(&self, arguments: &mut Map<String, Value>) -> Map<String, Value> {
        let missing = self.defaults.iter();
        let missing = missing.filter(|(name, _)| !arguments.contains_key(name));
        let filled: Map<String, Value> = missing.cloned().collect();
        arguments.extend(filled.clone());
        filled
    }

    /// Whether arguments would pass.
    pub fn fits(&self, arguments: &Map<String, Value>) -> bool {
        self.unknown_names(arguments).is_empty()
            && self.compiled.is_valid(&Value::Object(arguments.clone()))
    }

    /// Checks arguments before anything is sent.
    ///
    /// # Errors
    /// [`ProblemKind::Arguments`]: every fault with its place, the tool's
    /// arguments, and as the hint a command that would work.
    pub fn check(
        &self,
        tool: &Tool,
        id: &EntryId,
        arguments: &Map<String, Value>,
    ) -> Result<(), Problem> {
        let mut found = self.unknown_names(arguments);
        let names_told = !found.is_empty();
        let value = Value::Object(arguments.clone());
        for error in self.compiled.iter_errors(&value) {
            // A schema that is closed says once more what was said of an unknown name.
            if !(names_told && faults::is_of_names(&error)) {
                found.extend(faults::of(&error));
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        let root = schema::of(tool);
        let mut message = "the arguments do not fit the schema".to_owned();
        message.push_str(&listed(&found));
        message.push('\n');
        message.push_str(&Parameters::of(&root).table(id));
        Err(refused(tool, id, Some(self), message, None))
    }

    fn unknown_names(&self, arguments: &Map<String, Value>) -> Vec<Fault> {
        let Some(names) = &self.names else {
            return Vec::new();
        };
        let unknown = arguments.keys().filter(|name| !names.contains(name));
        unknown
            .map(|name| {
                let near = nearest::nearest(name, names.iter().map(String::as_str));
                Fault::unknown("", name, &near)
            })
            .collect()
    }
}

/// The faults that are listed, a line each, and how many there are besides.
fn listed(found: &[Fault]) -> String {
    let mut lines = String::new();
    for fault in found.iter().take(LISTED) {
        let _ = write!(lines, "\n  {}: {}", fault.place, fault.reason);
    }
    if found.len() > LISTED {
        let _ = write!(lines, "\n  and {} more", found.len() - LISTED);
    }
    lines
}

/// Which regular expressions a schema may have.
#[derive(Clone, Copy)]
enum Patterns {
    /// All that JSON Schema knows, some of which take long over a text that is made for it.
    All,
    /// Those that take no longer than the text is long.
    Linear,
}

/// Compiles a schema, or says why it can't be used. Never fetches a `$ref` from the network.
fn compile(root: &Root, patterns: Patterns) -> Result<jsonschema::Validator, String> {
    build(root, patterns, false)
}

/// As [`compile`], for a schema whose `format`s are checked, too: that of a form.
pub(super) fn compile_with_formats(root: &Root) -> Result<jsonschema::Validator, String> {
    build(root, Patterns::All, true)
}

fn build(root: &Root, patterns: Patterns, formats: bool) -> Result<jsonschema::Validator, String> {
    if let Some(fault) = root.fault() {
        return Err(format!("can't be read: {fault}"));
    }
    if !chains::are_short(root) {
        return Err("leads from part to part too far or too often to be followed".to_owned());
    }
    let options = jsonschema::options()
        .with_retriever(NeverFetch)
        .should_validate_formats(formats);
    let options = match patterns {
        Patterns::All => options,
        Patterns::Linear => options.with_pattern_options(PatternOptions::regex()),
    };
    options.build(root.value()).map_err(|error| why(&error))
}

/// What stands where a schema could be fetched: the library can, once any crate of the build asks for that feature.
struct NeverFetch;

impl Retrieve for NeverFetch {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err("schemas are never fetched".into())
    }
}

fn unusable(why: String) -> Problem {
    Problem::new(ProblemKind::MalformedTool, format!("the inputSchema {why}"))
        .hint("the server's author can repair it; until then arguments are sent unchecked")
}

fn why(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Referencing(jsonschema::ReferencingError::Unretrievable {
            uri,
            source,
        }) => format!("refers to {uri}: {source}"),
        _ => {
            let path = error.instance_path().as_str();
            let place = if path.is_empty() { "its root" } else { path };
            let reason = error.masked();
            format!("is not a usable JSON Schema: at {place}: {reason}")
        }
    }
}
