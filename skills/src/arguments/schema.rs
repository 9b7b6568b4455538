//! What a schema allows, as far as reading a text needs it: the kinds of values, in the schema's order.
//!
//! It need not be exact: what it lets through the validator still checks. References are followed only within the schema.

use std::cell::Cell;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{Json, Node};
use crate::tool::Tool;

/// How many references and nested keywords are followed at most, for one schema.
const STEPS: u32 = 20_000;
/// How deep they are followed.
const DEPTH: usize = 64;

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Null,
    Array,
    Object,
}

impl Kind {
    /// The kind of a value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::String,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::Bool(_) => Self::Boolean,
            Value::Null => Self::Null,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// The word that a schema has for it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The word as it stands in a sentence.
    pub(super) const fn with_article(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }

    /// The values that are of both kinds.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (one, other) if one == other => Some(one),
            (Self::Integer, Self::Number) | (Self::Number, Self::Integer) => Some(Self::Integer),
            _ => None,
        }
    }
}

/// One kind that a schema allows.
#[derive(Clone, Debug)]
pub(super) struct Alternative<'a> {
    pub(super) kind: Kind,
    /// The only values of this kind, where the schema lists them.
    pub(super) literals: Option<Vec<&'a Value>>,
    /// The schemas that hold arrays of this kind.
    holders: Vec<&'a Value>,
}

impl Alternative<'_> {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            literals: None,
            holders: Vec::new(),
        }
    }

    /// Whether a value of the kind is among those that are listed.
    pub(super) fn lists(&self, value: &Value) -> bool {
        self.literals
            .as_ref()
            .is_none_or(|literals| literals.contains(&value))
    }
}

/// The kinds that a schema allows, in its order; `None` when it allows everything.
pub(super) type Shape<'a> = Option<Vec<Alternative<'a>>>;

/// A tool's whole schema, within which references lead.
#[derive(Debug)]
pub(super) struct Root {
    value: Value,
    fault: Option<serde_json::Error>,
    steps: Cell<u32>,
}

/// Reads the `inputSchema` of a tool, as much of it as can be read.
pub(super) fn of(tool: &Tool) -> Root {
    read(&tool.input_schema)
}

/// Reads a schema, as much of it as can be read.
pub(super) fn read(schema: &RawValue) -> Root {
    let (value, fault) = match serde_json::from_str(schema.get()) {
        Ok(value) => (value, None),
        Err(error) => (readable(&Json::parse(schema)), Some(error)),
    };
    Root {
        value,
        fault,
        steps: Cell::new(0),
    }
}

/// A schema without what [`Value`] can't hold: what is nested too deep becomes a schema that allows everything.
fn readable(json: &Json<'_>) -> Value {
    match json.node() {
        Node::Object(members) => {
            let members = members.iter();
            let readable = members.map(|(key, value)| (key.decode().into_owned(), readable(value)));
            Value::Object(readable.collect())
        }
        Node::Array(elements) => elements.iter().map(readable).collect(),
        Node::String(string) => Value::from(string.decode()),
        // Of a number out of range only its kind is left.
        Node::Number => serde_json::from_str(json.raw()).unwrap_or_else(|_| Value::from(f64::MAX)),
        Node::Bool(truth) => Value::from(*truth),
        Node::Null => Value::Null,
        Node::Deep => Value::from(true),
    }
}

impl Root {
    /// The schema itself.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// Why [`Self::value`] is not all that the server sent.
    pub(super) fn fault(&self) -> Option<&serde_json::Error> {
        self.fault.as_ref()
    }

    /// Counts from nothing again: what is looked at next is another part of the schema.
    pub(super) fn restart(&self) {
        self.steps.set(0);
    }

    /// Counts a step; false when enough was followed, be it a cycle or a schema that doubles itself at each level.
    pub(super) fn may_follow(&self, depth: usize) -> bool {
        self.steps.set(self.steps.get().saturating_add(1));
        depth < DEPTH && self.steps.get() < STEPS
    }

    /// The target of a reference within the schema.
    pub(super) fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = percent_decode_str(reference.strip_prefix('#')?)
            .decode_utf8()
            .ok()?;
        self.value.pointer(&pointer)
    }

    /// The kinds that all of some schemas allow.
    pub(super) fn shape_of_all<'a>(&'a self, schemas: &[&'a Value]) -> Shape<'a> {
        let shapes = schemas.iter().map(|schema| self.shape(schema));
        shapes.fold(None, both)
    }

    /// The kinds that any of some schemas allows.
    pub(super) fn shape_of_any<'a>(&'a self, schemas: &[&'a Value]) -> Shape<'a> {
        any(schemas.iter().map(|schema| self.shape(schema)))
    }

    /// The kinds that a schema allows.
    pub(super) fn shape<'a>(&'a self, schema: &'a Value) -> Shape<'a> {
        self.restart();
        self.shape_at(schema, 0)
    }

    /// The kinds of the item at a position of an array.
    pub(super) fn item_shape<'a>(&'a self, array: &Alternative<'a>, position: usize) -> Shape<'a> {
        let schemas: Vec<&Value> = array
            .holders
            .iter()
            .filter_map(|holder| {
                // `prefixItems`, and the array form of `items` that it replaced.
                let tuple = holder.get("prefixItems").or_else(|| holder.get("items"));
                let place = tuple.and_then(|tuple| tuple.get(position));
                place
                    .or_else(|| holder.get("items").filter(|items| !items.is_array()))
                    .or_else(|| holder.get("additionalItems"))
            })
            .collect();
        self.shape_of_all(&schemas)
    }

    fn shape_at<'a>(&'a self, schema: &'a Value, depth: usize) -> Shape<'a> {
        let object = schema.as_object()?;
        if !self.may_follow(depth) {
            return None;
        }
        let mut shape = None;
        if let Some(target) = object
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| self.target(reference))
        {
            shape = both(shape, self.shape_at(target, depth + 1));
        }
        if let Some(kinds) = object.get("type") {
            shape = both(shape, typed(schema, kinds));
        }
        if let Some(value) = object.get("const") {
            shape = both(shape, Some(listed([value])));
        }
        if let Some(Value::Array(values)) = object.get("enum") {
            shape = both(shape, Some(listed(values)));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = object.get(keyword) {
                let branches = branches
                    .iter()
                    .map(|branch| self.shape_at(branch, depth + 1));
                shape = both(shape, any(branches));
            }
        }
        if let Some(Value::Array(parts)) = object.get("allOf") {
            for part in parts {
                shape = both(shape, self.shape_at(part, depth + 1));
            }
        }
        shape.or_else(|| implied(schema))
    }
}

fn typed<'a>(schema: &'a Value, kinds: &Value) -> Shape<'a> {
    let names: Vec<&str> = match kinds {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let kinds = names.into_iter().filter_map(Kind::named);
    Some(
        kinds
            .map(|kind| Alternative {
                holders: if kind == Kind::Array {
                    vec![schema]
                } else {
                    Vec::new()
                },
                ..Alternative::of(kind)
            })
            .collect(),
    )
}

/// The kinds of the values that a schema lists.
fn listed<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<Alternative<'a>> {
    let mut alternatives: Vec<Alternative<'a>> = Vec::new();
    for value in values {
        let kind = Kind::of(value);
        let known = alternatives.iter_mut().find(|known| known.kind == kind);
        match known.and_then(|known| known.literals.as_mut()) {
            Some(literals) => literals.push(value),
            None => alternatives.push(Alternative {
                literals: Some(vec![value]),
                ..Alternative::of(kind)
            }),
        }
    }
    alternatives
}

/// What a schema without a type must mean, since its keywords say something of one kind only.
fn implied(schema: &Value) -> Shape<'_> {
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.get(keyword).is_some());
    let kind = if has(&["properties", "additionalProperties", "patternProperties"]) {
        Kind::Object
    } else if has(&["items", "prefixItems"]) {
        Kind::Array
    } else if has(&[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]) {
        Kind::Number
    } else {
        return None;
    };
    typed(schema, &Value::from(kind.as_str()))
}

fn any<'a>(shapes: impl Iterator<Item = Shape<'a>>) -> Shape<'a> {
    let mut all: Vec<Alternative<'a>> = Vec::new();
    for alternative in shapes.collect::<Option<Vec<_>>>()?.into_iter().flatten() {
        let known = all.iter_mut().find(|known| known.kind == alternative.kind);
        match known {
            Some(known) => {
                known.literals = match (known.literals.take(), alternative.literals) {
                    (Some(mut one), Some(other)) => {
                        one.extend(other);
                        Some(one)
                    }
                    _ => None,
                };
                // Of two arrays only one can say what its items are.
                if !known.holders.is_empty() && known.holders != alternative.holders {
                    known.holders.clear();
                }
            }
            None => all.push(alternative),
        }
    }
    Some(all)
}

fn both<'a>(one: Shape<'a>, other: Shape<'a>) -> Shape<'a> {
    let (Some(one), Some(other)) = (&one, &other) else {
        return one.or(other);
    };
    let pairs = one
        .iter()
        .flat_map(|first| other.iter().map(move |second| (first, second)));
    Some(
        pairs
            .filter_map(|(first, second)| {
                let kind = first.kind.and(second.kind)?;
                let literals = match (&first.literals, &second.literals) {
                    (Some(one), Some(other)) => {
                        let both = one.iter().filter(|value| other.contains(value));
                        Some(both.copied().collect::<Vec<_>>())
                    }
                    (literals, None) | (None, literals) => literals.clone(),
                };
                if literals.as_ref().is_some_and(Vec::is_empty) {
                    return None;
                }
                Some(Alternative {
                    kind,
                    literals,
                    holders: [&first.holders[..], &second.holders[..]].concat(),
                })
            })
            .collect(),
    )
}
