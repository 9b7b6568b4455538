//! The parts of a type: what `type`, `properties`, `items` and unions say.

use std::collections::HashSet;

use super::layout::{Type, braces, member_name};
use super::{Closed, Declarations};
use crate::definition::notes::{Keywords, Notes, string_literal};
use crate::definition::schema::{Kinds, last_of_each};
use crate::json::{Json, Node};

impl<'s, 'a> Declarations<'s, 'a> {
    /// What `type`, `properties` and `items` say.
    pub(super) fn own_type(
        &mut self,
        keywords: &mut Keywords<'s, 'a>,
        schema: &Json<'_>,
        has_parts: bool,
        notes: &mut Notes,
        depth: usize,
    ) -> Option<Vec<String>> {
        let names: Option<Vec<String>> = keywords.take("type", |value| match value.node() {
            Node::Array(names) => names
                .iter()
                .map(|name| name.string().map(String::from))
                .collect(),
            _ => Some(vec![value.string()?.into_owned()]),
        });
        let names = names.unwrap_or_else(|| {
            let implied = [
                ("properties", "object"),
                ("items", "array"),
                ("prefixItems", "array"),
            ];
            implied
                .into_iter()
                .filter(|(keyword, _)| keywords.get(keyword).is_some())
                .map(|(_, name)| name.to_owned())
                .take(1)
                .collect()
        });
        // What the other parts allow says the type too, as long as the type excludes none of it.
        let allowed = names
            .iter()
            .fold(Kinds::NONE, |all, name| all | Kinds::named(name));
        let repeated = has_parts && allowed.contains(Kinds::beside_type(self.root, schema));
        let only_repeats = |name: &str| {
            repeated
                && match name {
                    "object" => ["properties", "additionalProperties"],
                    "array" => ["items", "prefixItems"],
                    "integer" => return lists_integers(schema),
                    "string" | "number" | "boolean" | "null" => return true,
                    _ => return false,
                }
                .iter()
                .all(|keyword| keywords.get(keyword).is_none())
        };
        let names: Vec<_> = names.iter().filter(|name| !only_repeats(name)).collect();
        let members: Vec<String> = names
            .iter()
            .map(|name| match name.as_str() {
                "object" => self.object(keywords, notes, depth),
                "array" => self.array(keywords, notes, depth),
                "integer" => {
                    keywords.drop_integer_limits();
                    name.to_string()
                }
                "string" | "number" | "boolean" | "null" => name.to_string(),
                other => {
                    notes.limits.push(format!("type {}", string_literal(other)));
                    "unknown".to_owned()
                }
            })
            .collect();
        (!members.is_empty()).then_some(members)
    }

    fn object(
        &mut self,
        keywords: &mut Keywords<'s, 'a>,
        notes: &mut Notes,
        depth: usize,
    ) -> String {
        let properties = keywords
            .take("properties", Json::members)
            .unwrap_or_default();
        let required: Vec<String> = keywords
            .take("required", |value| {
                value
                    .elements()?
                    .iter()
                    .map(|name| name.string().map(String::from))
                    .collect()
            })
            .unwrap_or_default();
        keywords.take("propertyNames", |value| {
            let only_says_string = value.compact() == r#"{"type":"string"}"#;
            only_says_string.then_some(())
        });
        let rest = keywords.take("additionalProperties", |value| {
            (value.bool().is_some() || value.members().is_some()).then_some(value)
        });
        let mut members: Vec<(String, Notes)> = Vec::new();
        let mut undeclared: HashSet<&str> = required.iter().map(String::as_str).collect();
        for (name, schema) in last_of_each(properties) {
            let optional = !undeclared.remove(&*name);
            let member = self.type_of(schema, Some(&name), optional, depth + 1);
            let mark = if optional { "?" } else { "" };
            members.push((
                format!("{}{mark}: {}", member_name(&name), member.code()),
                member.notes,
            ));
        }
        for name in &required {
            if undeclared.remove(name.as_str()) {
                members.push((format!("{}: unknown", member_name(name)), Notes::default()));
            }
        }
        let closed = rest.is_some_and(|rest| rest.bool() == Some(false));
        let others = rest.filter(|rest| rest.members().is_some_and(|members| !members.is_empty()));
        if let Some(others) = others {
            let others = self.type_of(others, None, false, depth + 1);
            if members.is_empty() {
                let code = format!("Record<string, {}>", others.code());
                notes.adopt(others.notes, "each");
                return code;
            }
            members.push((format!("[key: string]: {}", others.code()), others.notes));
        } else if closed {
            self.closed += 1;
            if self.mode == Closed::Each {
                notes.limits.push("closed".to_owned());
            }
        } else if members.is_empty() {
            return "object".to_owned();
        } else {
            self.open += 1;
        }
        braces(&members, depth)
    }

    fn array(
        &mut self,
        keywords: &mut Keywords<'s, 'a>,
        notes: &mut Notes,
        depth: usize,
    ) -> String {
        if keywords
            .take("uniqueItems", |value| value.bool().filter(|unique| *unique))
            .is_some()
        {
            notes.limits.push("unique".to_owned());
        }
        // Up to draft 2019-09 a list in `items` was what `prefixItems` is now.
        let (prefix, others) = match keywords.take("items", Json::elements) {
            Some(prefix) => (Some(prefix), "additionalItems"),
            None => (keywords.take("prefixItems", Json::elements), "items"),
        };
        let rest = keywords.take(others, |value| {
            (value.bool().is_some() || value.members().is_some()).then_some(value)
        });
        let Some(prefix) = prefix else {
            let Some(items) = rest else {
                return "unknown[]".to_owned();
            };
            let items = self.type_of(items, None, false, depth);
            let code = format!("{}[]", items.operand());
            notes.adopt(items.notes, "each");
            return code;
        };
        let mut places: Vec<String> = prefix
            .iter()
            .map(|schema| {
                let place = self.type_of(schema, None, false, depth);
                place.code() + &place.notes.inline_comment()
            })
            .collect();
        match rest {
            Some(rest) if rest.bool() == Some(false) => {}
            Some(rest) => {
                let rest = self.type_of(rest, None, false, depth);
                places.push(format!(
                    "...{}[]{}",
                    rest.operand(),
                    rest.notes.inline_comment()
                ));
            }
            None => places.push("...unknown[]".to_owned()),
        }
        format!("[{}]", places.join(", "))
    }

    /// The branches of a union. What a single branch beside `null` notes is said of the whole.
    pub(super) fn union(
        &mut self,
        branches: &'s [Json<'a>],
        notes: &mut Notes,
        depth: usize,
    ) -> Vec<String> {
        let mut types: Vec<Type> = branches
            .iter()
            .map(|branch| self.type_of(branch, None, false, depth))
            .collect();
        let mut telling = types.iter_mut().filter(|one| one.members != ["null"]);
        if let (Some(only), None) = (telling.next(), telling.next()) {
            notes.adopt(std::mem::take(&mut only.notes), "");
        }
        let mut members = Vec::new();
        for mut branch in types {
            branch
                .notes
                .texts
                .retain(|text| !notes.texts.contains(text));
            let new = if branch.notes.is_empty() {
                branch.members
            } else {
                vec![branch.commented()]
            };
            for member in new {
                if !members.contains(&member) {
                    members.push(member);
                }
            }
        }
        members
    }

    /// Whether no value can fit two of the branches, so that "one of" says the same as "exactly one of".
    pub(super) fn disjoint(&self, branches: &[Json<'_>]) -> bool {
        let mut seen = Kinds::NONE;
        let kinds_differ = branches.iter().all(|branch| {
            let kinds = Kinds::of_schema(self.root, branch);
            let apart = !kinds.meets(seen);
            seen = seen | kinds;
            apart
        });
        let mut constants = HashSet::new();
        let constants_differ = branches.iter().all(|branch| {
            let constant = branch.get("const").map(Json::compact);
            constant.is_some_and(|constant| constants.insert(constant))
        });
        kinds_differ || constants_differ
    }
}

/// Whether a schema lists its values and all numbers among them are integers.
fn lists_integers(schema: &Json<'_>) -> bool {
    let values = schema
        .get("enum")
        .and_then(Json::elements)
        .unwrap_or_default();
    let mut listed = schema.get("const").into_iter().chain(values).peekable();
    listed.peek().is_some()
        && listed.all(|value| !value.raw().contains(['.', 'e', 'E']) || value.string().is_some())
}
