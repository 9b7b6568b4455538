//! How far a schema leads from schema to schema without going into the value.
//!
//! Checking follows all such chains, by recursion, and neither the daemon's stack nor its time is a stranger's to use up.

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

use crate::arguments::schema::Root;

/// The longest chain that is followed, and the most references whose targets are not known here. Schemas of real tools need a handful;
/// arguments as deep as JSON may be, each level checked by a chain of this length, still fit a thread's stack.
const LONGEST: usize = 32;
/// How many schemas may be asked about one value.
const MOST: usize = 10_000;

/// Whether every chain ends soon enough.
pub(super) fn are_short(root: &Root) -> bool {
    let mut chains = Chains {
        root,
        known: HashMap::new(),
        unknown: 0,
        moved: has_other_base(root.value(), "$id")
            // What `$id` was called in the first drafts.
            || root.value()["$schema"].as_str().is_some_and(|dialect| dialect.contains("draft-04"))
                && has_other_base(root.value(), "id"),
    };
    chains.all_short(root.value()) && chains.unknown <= LONGEST
}

/// Whether a part of the schema names a base of its own, from which its references count.
fn has_other_base(root: &Value, keyword: &str) -> bool {
    parts(root).any(|part| part[keyword].is_string() || has_other_base(part, keyword))
}

/// What a value directly contains.
fn parts(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(members) => Box::new(members.values()),
        Value::Array(elements) => Box::new(elements.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

struct Chains<'a> {
    root: &'a Root,
    /// What begins with each schema that was looked at, by its address.
    known: HashMap<*const Value, Reach>,
    /// References to what can't be told here.
    unknown: usize,
    /// Whether a pointer may mean another place than it does from the root.
    moved: bool,
}

/// The chains that begin with a schema.
#[derive(Clone, Copy)]
struct Reach {
    /// The steps of the longest.
    length: usize,
    /// The schemas of all of them, each as often as it is asked.
    schemas: usize,
}

impl<'a> Chains<'a> {
    fn all_short(&mut self, value: &'a Value) -> bool {
        self.reach(value, LONGEST).is_some() && parts(value).all(|part| self.all_short(part))
    }

    /// `None` when a chain has more than `left` steps, as every circle has.
    fn reach(&mut self, schema: &'a Value, left: usize) -> Option<Reach> {
        let address = ptr::from_ref(schema);
        if let Some(&reach) = self.known.get(&address) {
            return (reach.length <= left).then_some(reach);
        }
        let mut reach = Reach {
            length: 0,
            schemas: 1,
        };
        for next in self.next(schema) {
            let beyond = self.reach(next, left.checked_sub(1)?)?;
            reach.length = reach.length.max(beyond.length + 1);
            reach.schemas += beyond.schemas;
            if reach.schemas > MOST {
                return None;
            }
        }
        self.known.insert(address, reach);
        Some(reach)
    }

    /// The schemas that a schema asks about the same value.
    fn next(&mut self, schema: &'a Value) -> Vec<&'a Value> {
        let mut next = Vec::new();
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    match self.root.target(reference) {
                        Some(target) if keyword == "$ref" && !self.moved => next.push(target),
                        _ => self.unknown += 1,
                    }
                }
                ("not" | "if" | "then" | "else", value) => next.push(value),
                ("allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "dependencies", value) => {
                    next.extend(parts(value));
                }
                _ => {}
            }
        }
        next
    }
}
