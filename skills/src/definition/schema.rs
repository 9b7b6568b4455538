//! Reading a JSON Schema without judging it: references, the kinds of value it allows, the parts that hold together.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use crate::json::{Json, JsonString, Node};

/// How deep references and combinations are followed before a schema counts as unknown.
const MAX_DEPTH: usize = 16;

/// How many are followed for one question; schemas that refer to themselves twice would take for ever.
const MAX_STEPS: usize = 500;

/// What is left to follow.
#[derive(Clone, Copy)]
struct Reach<'r> {
    depth: usize,
    steps: &'r Cell<usize>,
}

impl<'r> Reach<'r> {
    fn new(steps: &'r Cell<usize>) -> Self {
        steps.set(MAX_STEPS);
        Self {
            depth: MAX_DEPTH,
            steps,
        }
    }

    fn deeper(self) -> Option<Self> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        Some(Self {
            depth: self.depth.checked_sub(1)?,
            ..self
        })
    }
}

/// The members of an object; of duplicates the last, as most parsers would have it.
pub(super) fn last_of_each<'s, 'a>(
    members: &'s [(JsonString<'a>, Json<'a>)],
) -> Vec<(Cow<'a, str>, &'s Json<'a>)> {
    let mut seen = HashSet::new();
    let mut last: Vec<_> = members
        .iter()
        .rev()
        .map(|(key, value)| (key.decode(), value))
        .filter(|(key, _)| seen.insert(key.clone()))
        .collect();
    last.reverse();
    last
}

/// Where a `$ref` leads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'s, 'a> {
    /// The schema itself.
    Root,
    /// A schema inside it.
    Inside(&'s Json<'a>),
    /// Another document, an anchor, or nowhere.
    Unknown,
}

/// Follows a `$ref` within one schema; nothing is ever fetched.
pub(super) fn resolve<'s, 'a>(root: &'s Json<'a>, reference: &str) -> Target<'s, 'a> {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Target::Unknown;
    };
    if pointer.is_empty() || pointer == "/" {
        return Target::Root;
    }
    let Some(path) = pointer.strip_prefix('/') else {
        return Target::Unknown;
    };
    let found = path.split('/').try_fold(root, |place, step| {
        let step = pointer_step(step);
        match place.elements() {
            Some(elements) => elements.get(step.parse::<usize>().ok()?),
            None => place.get(&step),
        }
    });
    found.map_or(Target::Unknown, Target::Inside)
}

/// One step of a JSON pointer in a fragment, decoded.
pub(super) fn pointer_step(step: &str) -> String {
    let decoded = percent_decode_str(step).decode_utf8_lossy();
    decoded.replace("~1", "/").replace("~0", "~")
}

/// Every `$ref` at any depth of a value, in order.
pub(super) fn references<'a>(json: &Json<'a>, found: &mut Vec<Cow<'a, str>>) {
    match json.node() {
        Node::Object(members) => {
            for (key, value) in members {
                match value.string() {
                    Some(reference) if key.decode() == "$ref" => found.push(reference),
                    _ => references(value, found),
                }
            }
        }
        Node::Array(elements) => elements
            .iter()
            .for_each(|element| references(element, found)),
        _ => {}
    }
}

/// The kinds of JSON value that a schema allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const NUMBER: Self = Self(4);
    pub(super) const STRING: Self = Self(8);
    pub(super) const ARRAY: Self = Self(16);
    pub(super) const OBJECT: Self = Self(32);
    pub(super) const ALL: Self = Self(63);
    pub(super) const NONE: Self = Self(0);

    /// The kind of a value.
    pub(super) fn of_value(json: &Json<'_>) -> Self {
        match json.node() {
            Node::Object(_) => Self::OBJECT,
            Node::Array(_) => Self::ARRAY,
            Node::String(_) => Self::STRING,
            Node::Number => Self::NUMBER,
            Node::Bool(_) => Self::BOOLEAN,
            Node::Null => Self::NULL,
            Node::Deep if json.raw().starts_with('{') => Self::OBJECT,
            Node::Deep => Self::ARRAY,
        }
    }

    /// The kinds that a name in `type` stands for; an unknown name excludes nothing.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "number" | "integer" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    /// The kinds that a schema allows, as far as can be told.
    pub(super) fn of_schema(root: &Json<'_>, schema: &Json<'_>) -> Self {
        Self::within(root, schema, Reach::new(&Cell::default()))
    }

    /// The kinds that a schema allows by everything but its `type`.
    pub(super) fn beside_type(root: &Json<'_>, schema: &Json<'_>) -> Self {
        let steps = Cell::default();
        let reach = Reach::new(&steps);
        let keywords = schema.members().unwrap_or_default().iter();
        keywords
            .filter(|(key, _)| key.decode() != "type")
            .fold(Self::ALL, |kinds, (key, value)| {
                kinds & Self::by_keyword(root, &key.decode(), value, reach)
            })
    }

    fn within(root: &Json<'_>, schema: &Json<'_>, reach: Reach<'_>) -> Self {
        if schema.bool() == Some(false) {
            return Self::NONE;
        }
        let Some(reach) = reach.deeper() else {
            return Self::ALL;
        };
        let keywords = schema.members().unwrap_or_default().iter();
        keywords.fold(Self::ALL, |kinds, (key, value)| {
            kinds & Self::by_keyword(root, &key.decode(), value, reach)
        })
    }

    fn by_keyword(root: &Json<'_>, keyword: &str, value: &Json<'_>, reach: Reach<'_>) -> Self {
        let these = value.elements().unwrap_or_default();
        let any = |of: &dyn Fn(&Json<'_>) -> Self| {
            these.iter().fold(Self::NONE, |all, one| all | of(one))
        };
        match keyword {
            "type" => match value.string() {
                Some(name) => Self::named(&name),
                None => any(&|name| name.string().map_or(Self::ALL, |name| Self::named(&name))),
            },
            "const" => Self::of_value(value),
            "enum" => any(&Self::of_value),
            "anyOf" | "oneOf" => any(&|branch| Self::within(root, branch, reach)),
            "allOf" => these
                .iter()
                .fold(Self::ALL, |all, part| all & Self::within(root, part, reach)),
            "$ref" => match value.string().map(|reference| resolve(root, &reference)) {
                Some(Target::Inside(target)) => Self::within(root, target, reach),
                Some(Target::Root) => Self::within(root, root, reach),
                Some(Target::Unknown) | None => Self::ALL,
            },
            _ => Self::ALL,
        }
    }

    /// Whether all of `other` is allowed.
    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether one of the kinds is among `other`.
    pub(super) fn meets(self, other: Self) -> bool {
        self & other != Self::NONE
    }

    /// The kinds without `null`.
    pub(super) fn without_null(self) -> Self {
        Self(self.0 & !Self::NULL.0)
    }
}

impl std::ops::BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitAnd for Kinds {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// The schemas that a value must fit together: those that are given, where a `$ref` leads, `allOf`, and of each `anyOf` and
/// `oneOf` the first branch that says more than `null`. Each is there once, however often it is referred to: a schema
/// that refers to itself would otherwise be multiplied at every level of an example.
pub(super) fn conjuncts<'s, 'a>(root: &'s Json<'a>, schemas: &[&'s Json<'a>]) -> Vec<&'s Json<'a>> {
    let mut found = Vec::new();
    for schema in schemas {
        gather(root, schema, Reach::new(&Cell::default()), &mut found);
    }
    found
}

fn gather<'s, 'a>(
    root: &'s Json<'a>,
    schema: &'s Json<'a>,
    reach: Reach<'_>,
    found: &mut Vec<&'s Json<'a>>,
) {
    let Some(reach) = reach.deeper() else {
        return;
    };
    if found.iter().any(|known| std::ptr::eq(*known, schema)) {
        return;
    }
    found.push(schema);
    for (key, value) in schema.members().unwrap_or_default() {
        match (&*key.decode(), value.elements()) {
            ("$ref", _) => match value.string().map(|reference| resolve(root, &reference)) {
                Some(Target::Inside(target)) => gather(root, target, reach, found),
                Some(Target::Root) => gather(root, root, reach, found),
                Some(Target::Unknown) | None => {}
            },
            ("allOf", Some(parts)) => {
                for part in parts {
                    gather(root, part, reach, found);
                }
            }
            ("anyOf" | "oneOf", Some(branches)) => {
                let says_more = |branch: &&Json<'a>| {
                    Kinds::of_schema(root, branch).without_null() != Kinds::NONE
                };
                if let Some(branch) = branches.iter().find(says_more).or(branches.first()) {
                    gather(root, branch, reach, found);
                }
            }
            _ => {}
        }
    }
}
