//! The arguments that a tool's schema declares.

use std::fmt::Write;

use serde_json::Value;

use super::schema::{Alternative, Kind, Root, Shape};
use crate::entry_id::EntryId;

/// How many listed values a type is shown with.
const SHOWN_VALUES: usize = 8;

/// The declared arguments, in the schema's order.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    root: &'a Root,
    all: Vec<Parameter<'a>>,
    /// What the schema says of names that it does not declare.
    others: Schemas<'a>,
    open: bool,
    closed: bool,
}

/// One argument.
#[derive(Debug)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) required: bool,
    pub(super) schemas: Schemas<'a>,
}

/// What a schema says of one value.
#[derive(Clone, Debug, Default)]
pub(super) struct Schemas<'a> {
    /// What must hold of it.
    always: Vec<&'a Value>,
    /// What holds of it in some branch of the schema.
    sometimes: Vec<&'a Value>,
}

impl<'a> Parameters<'a> {
    pub(super) fn of(root: &'a Root) -> Self {
        let schemas = Schemas {
            always: vec![root.value()],
            sometimes: Vec::new(),
        };
        Self::within(root, &schemas)
    }

    /// The members that the schemas of an object declare.
    pub(super) fn within(root: &'a Root, schemas: &Schemas<'a>) -> Self {
        let mut parameters = Self {
            root,
            all: Vec::new(),
            others: Schemas::default(),
            open: false,
            closed: false,
        };
        let mut required = Vec::new();
        root.restart();
        for schema in &schemas.always {
            parameters.collect(schema, true, &mut required, 0);
        }
        for schema in &schemas.sometimes {
            parameters.collect(schema, false, &mut required, 0);
        }
        for parameter in &mut parameters.all {
            parameter.required = required.contains(&parameter.name);
        }
        parameters
    }

    pub(super) fn root(&self) -> &'a Root {
        self.root
    }

    /// The argument of exactly that name.
    pub(super) fn get(&self, name: &str) -> Option<&Parameter<'a>> {
        self.all.iter().find(|parameter| parameter.name == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().map(|parameter| parameter.name)
    }

    /// Whether the schema takes names that it does not declare: it says so, or it declares none and does not say otherwise.
    pub(super) fn takes_others(&self) -> bool {
        self.open || (self.all.is_empty() && !self.closed)
    }

    /// What holds of a member that is not declared, where one may be given. Beside declared ones only what a schema describes is: that
    /// others are let through is no sign that a misspelt name was meant.
    pub(super) fn other(&self) -> Option<&Schemas<'a>> {
        let is_meant = self.all.is_empty() || self.others.describe();
        (self.takes_others() && is_meant).then_some(&self.others)
    }

    /// The arguments themselves.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Parameter<'a>> {
        self.all.iter()
    }

    /// The arguments with their types, a line each, the required ones first.
    pub(super) fn table(&self, id: &EntryId) -> String {
        if self.all.is_empty() {
            return format!("{id} declares no arguments");
        }
        let width = self.names().map(|name| name.chars().count()).max();
        let width = width.unwrap_or_default() + 2;
        let mut text = format!("arguments of {id}:");
        let (required, optional): (Vec<_>, Vec<_>) =
            self.all.iter().partition(|parameter| parameter.required);
        for parameter in required.into_iter().chain(optional) {
            let flag = format!("--{}", parameter.name);
            let kind = describe(self.root, &parameter.schemas.shape(self.root), 0);
            let note = if parameter.required { ", required" } else { "" };
            let _ = write!(text, "\n  {flag:width$}  {kind}{note}");
        }
        text
    }

    /// Collects what a schema declares; `always` is false within a branch that need not hold.
    fn collect(
        &mut self,
        schema: &'a Value,
        always: bool,
        required: &mut Vec<&'a str>,
        depth: usize,
    ) {
        let Some(object) = schema.as_object() else {
            return;
        };
        if !self.root.may_follow(depth) {
            return;
        }
        let depth = depth + 1;
        if let Some(Value::Object(properties)) = object.get("properties") {
            for (name, property) in properties {
                self.add(name, property, always);
            }
        }
        if let (true, Some(Value::Array(names))) = (always, object.get("required")) {
            required.extend(names.iter().filter_map(Value::as_str));
        }
        if let Some(patterns) = object.get("patternProperties") {
            self.open = true;
            for schema in patterns
                .as_object()
                .into_iter()
                .flat_map(|all| all.values())
            {
                self.others.add(schema, false);
            }
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            match object.get(keyword) {
                Some(Value::Bool(false)) => self.closed |= always,
                Some(schema) => {
                    self.open = true;
                    self.others.add(schema, always);
                }
                None => {}
            }
        }
        let reference = object.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|reference| self.root.target(reference)) {
            self.collect(target, always, required, depth);
        }
        for (keyword, value) in object {
            match (keyword.as_str(), value) {
                ("allOf", Value::Array(parts)) => {
                    for part in parts {
                        self.collect(part, always, required, depth);
                    }
                }
                ("anyOf" | "oneOf", Value::Array(branches)) => {
                    for branch in branches {
                        self.collect(branch, false, required, depth);
                    }
                }
                ("if" | "then" | "else", branch) => self.collect(branch, false, required, depth),
                ("dependentSchemas" | "dependencies", Value::Object(branches)) => {
                    for branch in branches.values() {
                        self.collect(branch, false, required, depth);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, name: &'a str, schema: &'a Value, always: bool) {
        let place = self.all.iter().position(|known| known.name == name);
        let place = place.unwrap_or_else(|| {
            self.all.push(Parameter {
                name,
                required: false,
                schemas: Schemas::default(),
            });
            self.all.len() - 1
        });
        self.all[place].schemas.add(schema, always);
    }
}

impl<'a> Schemas<'a> {
    fn add(&mut self, schema: &'a Value, always: bool) {
        if always {
            self.always.push(schema);
        } else {
            self.sometimes.push(schema);
        }
    }

    /// Whether anything is said but that everything may stand there.
    fn describe(&self) -> bool {
        let mut all = self.always.iter().chain(&self.sometimes);
        all.any(|schema| schema.as_object().is_some_and(|schema| !schema.is_empty()))
    }

    /// The value that stands for one that is missing; references that lead to it are followed.
    pub(super) fn default_value(&self, root: &'a Root) -> Option<&'a Value> {
        /// Longer chains of references have no default.
        const CHAIN: usize = 8;
        self.always.iter().find_map(|schema| {
            let next = |schema: &&'a Value| root.target(schema.get("$ref")?.as_str()?);
            let mut chain = std::iter::successors(Some(*schema), next).take(CHAIN);
            chain.find_map(|schema| schema.get("default"))
        })
    }

    /// The first of the schemas that must hold.
    pub(super) fn first(&self) -> Option<&'a Value> {
        self.always.first().copied()
    }

    /// What the schema says of it for people, under a key such as `title`.
    pub(super) fn word(&self, key: &str) -> Option<&'a str> {
        self.always
            .iter()
            .find_map(|schema| schema.get(key)?.as_str())
    }

    /// The kinds that it may be of.
    pub(super) fn shape(&self, root: &'a Root) -> Shape<'a> {
        let always = root.shape_of_all(&self.always);
        if always.is_some() || self.sometimes.is_empty() {
            return always;
        }
        root.shape_of_any(&self.sometimes)
    }
}

/// A type in short: `string`, `"a"|"b"`, `integer[]`.
pub(super) fn describe<'a>(root: &'a Root, shape: &Shape<'a>, depth: usize) -> String {
    let Some(alternatives) = shape else {
        return "any JSON".to_owned();
    };
    if alternatives.is_empty() {
        return "nothing".to_owned();
    }
    let parts: Vec<String> = alternatives
        .iter()
        .map(|alternative| describe_one(root, alternative, depth))
        .collect();
    parts.join("|")
}

fn describe_one<'a>(root: &'a Root, alternative: &Alternative<'a>, depth: usize) -> String {
    if let Some(literals) = &alternative.literals {
        let mut shown: Vec<String> = literals
            .iter()
            .take(SHOWN_VALUES)
            .map(ToString::to_string)
            .collect();
        if literals.len() > SHOWN_VALUES {
            shown.push(format!("… {} more", literals.len() - SHOWN_VALUES));
        }
        return shown.join("|");
    }
    if alternative.kind == Kind::Array && depth < 2 {
        let items = describe(root, &root.item_shape(alternative, 0), depth + 1);
        return if items == "any JSON" {
            "array".to_owned()
        } else if items.contains('|') {
            format!("({items})[]")
        } else {
            format!("{items}[]")
        };
    }
    alternative.kind.as_str().to_owned()
}
