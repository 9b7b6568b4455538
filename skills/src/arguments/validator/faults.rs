//! What the validator found, in sentences that tell what to write instead.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::arguments::schema::Kind;
use crate::arguments::value::quoted;

/// How many of the listed values are shown.
const SHOWN_VALUES: usize = 12;
/// How many ways to be right are shown.
const SHOWN_BRANCHES: usize = 3;
/// How many unions within each other are looked into.
const DEPTH: usize = 8;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::arguments) struct Fault {
    /// Where it is, as a JSON pointer.
    pub(in crate::arguments) place: String,
    pub(super) reason: String,
}

impl Fault {
    /// A name that the object at `place` does not have.
    pub(in crate::arguments) fn unknown(place: &str, name: &str, near: &[&str]) -> Self {
        let meant = if near.is_empty() {
            String::new()
        } else {
            format!(", did you mean {}?", near.join(" or "))
        };
        Self {
            place: below(place, name),
            reason: format!("unknown{meant}"),
        }
    }

    /// It in one sentence, the pointer without its first slash.
    pub(in crate::arguments) fn sentence(&self) -> String {
        let place = self.place.trim_start_matches('/');
        if place.is_empty() {
            return self.reason.clone();
        }
        format!("{place}: {}", self.reason)
    }
}

/// Whether an error says that the arguments themselves hold a name which they may not.
pub(super) fn is_of_names(error: &ValidationError<'_>) -> bool {
    let names = match error.kind() {
        ValidationErrorKind::AdditionalProperties { .. }
        | ValidationErrorKind::UnevaluatedProperties { .. } => true,
        ValidationErrorKind::FalseSchema => closes(error),
        _ => false,
    };
    names && error.instance_path().is_empty()
}

/// Whether a `false` is that of `additionalProperties`, by which an object without properties says that it takes none.
fn closes(error: &ValidationError<'_>) -> bool {
    error
        .schema_path()
        .as_str()
        .ends_with("/additionalProperties")
}

/// The faults that an error of the validator stands for.
pub(in crate::arguments) fn of(error: &ValidationError<'_>) -> Vec<Fault> {
    at_depth(error, 0)
}

fn at_depth(error: &ValidationError<'_>, depth: usize) -> Vec<Fault> {
    let path = error.instance_path().as_str();
    let one = |reason: String| {
        let place = if path.is_empty() { "/" } else { path };
        vec![Fault {
            place: place.to_owned(),
            reason,
        }]
    };
    let shown = shown(error.instance());
    match error.kind() {
        ValidationErrorKind::Required { property } => vec![Fault {
            place: below(path, property.as_str().unwrap_or_default()),
            reason: "missing".to_owned(),
        }],
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| Fault::unknown(path, name, &[]))
            .collect(),
        ValidationErrorKind::Type { kind } => one(format!(
            "must be {}, not {shown}",
            names_of(kind).join(" or ")
        )),
        ValidationErrorKind::Enum { options } => {
            one(format!("must be {}, not {shown}", list(options)))
        }
        ValidationErrorKind::Constant { expected_value } => {
            one(format!("must be {expected_value}, not {shown}"))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }
            if depth < DEPTH =>
        {
            of_branches(path, &shown, context, depth).unwrap_or_else(one)
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            one("fits several of the forms of which it must fit one".to_owned())
        }
        ValidationErrorKind::Pattern { pattern } => {
            one(format!("must match {pattern}, unlike {shown}"))
        }
        ValidationErrorKind::FalseSchema if closes(error) => one("must be empty".to_owned()),
        ValidationErrorKind::FalseSchema => one("must not be given".to_owned()),
        _ => {
            let text = error.masked_with(shown.as_str()).to_string();
            one(text)
        }
    }
}

/// The faults of a value that fits no branch: those of the only branch of the right kind, else the sentence that
/// says what the branches want.
fn of_branches(
    path: &str,
    shown: &str,
    branches: &[Vec<ValidationError<'static>>],
    depth: usize,
) -> Result<Vec<Fault>, String> {
    let mut wanted: Vec<String> = Vec::new();
    let mut near: Vec<Vec<Fault>> = Vec::new();
    for errors in branches {
        let other_kind = errors.iter().find_map(|error| match error.kind() {
            ValidationErrorKind::Type { kind } if error.instance_path().as_str() == path => {
                Some(names_of(kind))
            }
            _ => None,
        });
        match other_kind {
            Some(names) => {
                for name in names {
                    if !wanted.iter().any(|known| known == name) {
                        wanted.push(name.to_owned());
                    }
                }
            }
            None => {
                let faults = errors.iter().flat_map(|error| at_depth(error, depth + 1));
                near.push(faults.collect());
            }
        }
    }
    if near.len() == 1 {
        return Ok(near.remove(0));
    }
    if near.is_empty() {
        return Err(format!("must be {}, not {shown}", wanted.join(" or ")));
    }
    let mut ways: Vec<String> = near
        .iter()
        .take(SHOWN_BRANCHES)
        .map(|faults| {
            let faults = faults
                .iter()
                .map(|fault| format!("{}: {}", fault.place, fault.reason));
            faults.collect::<Vec<_>>().join(", ")
        })
        .collect();
    if near.len() > SHOWN_BRANCHES {
        ways.push(format!("{} more", near.len() - SHOWN_BRANCHES));
    }
    Err(format!("fits none of its forms ({})", ways.join("; or ")))
}

fn names_of(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(kind) => vec![kind.as_str()],
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.as_str()).collect(),
    }
}

fn list(options: &Value) -> String {
    let Some(options) = options.as_array() else {
        return options.to_string();
    };
    let mut shown: Vec<String> = options
        .iter()
        .take(SHOWN_VALUES)
        .map(Value::to_string)
        .collect();
    if options.len() > SHOWN_VALUES {
        shown.push(format!("{} more", options.len() - SHOWN_VALUES));
    }
    shown.join(" or ")
}

/// A value as a message shows it: structures and long texts are not repeated whole.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => Kind::of(value).with_article().to_owned(),
        other => other.to_string(),
    }
}

/// The pointer of a name below another pointer.
pub(in crate::arguments) fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}
