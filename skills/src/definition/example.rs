//! Example values that fit a schema.

use std::borrow::Cow;
use std::cell::Cell;

use super::notes::{quoted, string_literal};
use super::schema::{Kinds, conjuncts};
use crate::arguments::is_sendable;
use crate::json::{Json, JsonString};

/// The most values that an example has.
const MAX_VALUES: usize = 500;

/// How deep examples nest; what a schema requires below has no finite example or none worth showing.
const MAX_DEPTH: usize = 12;

/// The most elements that an example list has.
const MAX_ELEMENTS: u64 = 16;

/// The longest example string.
const MAX_LENGTH: u64 = 1_000;

/// Strings that are tried where a schema asks for a form.
const STRINGS: [&str; 12] = [
    "text",
    "a",
    "1",
    "A1",
    "ABC-1",
    "abc",
    "2026-01-31",
    "2026-01-31T12:00:00Z",
    "https://example.com",
    "user@example.com",
    "123e4567-e89b-42d3-a456-426614174000",
    "/path",
];

/// A member of an object: its name, and an example value as JSON.
pub(super) type Member<'a> = (Cow<'a, str>, String);

/// The required arguments of a tool; `None` when there is no finite example.
pub(super) fn arguments<'a>(schema: &Json<'a>) -> Option<Vec<Member<'a>>> {
    members(
        Place {
            root: schema,
            depth: MAX_DEPTH,
            left: &Cell::new(MAX_VALUES),
        },
        &conjuncts(schema, &[schema]),
    )
}

/// Where in an example a value stands, and how much may still be said.
#[derive(Clone, Copy)]
struct Place<'p, 's, 'a> {
    root: &'s Json<'a>,
    depth: usize,
    left: &'p Cell<usize>,
}

impl Place<'_, '_, '_> {
    fn deeper(self) -> Option<Self> {
        self.left.set(self.left.get().checked_sub(1)?);
        Some(Self {
            depth: self.depth.checked_sub(1)?,
            ..self
        })
    }
}

/// The required members of an object with their schemas and example values.
fn members<'s, 'a>(place: Place<'_, 's, 'a>, parts: &[&'s Json<'a>]) -> Option<Vec<Member<'a>>> {
    let mut names: Vec<Cow<'a, str>> = Vec::new();
    let add = |name: Cow<'a, str>, names: &mut Vec<Cow<'a, str>>| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for required in parts
        .iter()
        .filter_map(|part| part.get("required")?.elements())
    {
        for name in required.iter().filter_map(Json::string) {
            add(name, &mut names);
        }
    }
    let mut position = 0;
    while let Some(name) = names.get(position).cloned() {
        for dependents in parts
            .iter()
            .filter_map(|part| part.get("dependentRequired")?.get(&name)?.elements())
        {
            for name in dependents.iter().filter_map(Json::string) {
                add(name, &mut names);
            }
        }
        position += 1;
    }
    let declared = parts
        .iter()
        .filter_map(|part| part.get("properties")?.members())
        .flatten();
    let least = count(parts, "minProperties").unwrap_or(0);
    for (key, _) in declared.clone() {
        if (names.len() as u64) < least {
            add(key.decode(), &mut names);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let schemas: Vec<_> = declared
                .clone()
                .filter(|(key, _)| key.decode() == name)
                .map(|(_, schema)| schema)
                .collect();
            let Some(schema) = schemas.first().copied() else {
                return Some((name, "\"text\"".to_owned()));
            };
            let parts = conjuncts(place.root, &schemas);
            let value = value(place, schema, &parts)?;
            Some((name, value))
        })
        .collect()
}

/// An example of a schema whose parts have been gathered, as JSON.
fn value<'a>(place: Place<'_, '_, 'a>, schema: &Json<'a>, parts: &[&Json<'a>]) -> Option<String> {
    let place = place.deeper()?;
    let kinds = Kinds::of_schema(place.root, schema);
    let form = Form::of(parts);
    // Generated defaults do not always have the type and form that is asked for, nor numbers that can be sent.
    let fits = |value: &&Json<'a>| {
        kinds.contains(Kinds::of_value(value))
            && value.string().is_none_or(|text| form.fits(&text))
            && is_sendable(value.raw())
    };
    let keyword = |name: &'static str| parts.iter().filter_map(move |part| part.get(name));
    let first_of = |name| {
        keyword(name)
            .filter_map(Json::elements)
            .flatten()
            .find(fits)
    };
    let said = keyword("const")
        .next()
        .or_else(|| first_of("examples"))
        .or_else(|| keyword("default").find(|value| fits(value) && value.raw() != "null"))
        .or_else(|| first_of("enum"));
    if let Some(said) = said {
        return Some(quoted(said));
    }
    let types = keyword("type");
    let first_type = types
        .flat_map(|types| match types.elements() {
            Some(names) => names.iter().filter_map(Json::string).collect::<Vec<_>>(),
            None => types.string().into_iter().collect(),
        })
        .find(|name| name != "null");
    match first_type.as_deref() {
        Some("object") => object(place, parts),
        Some("array") => array(place, parts),
        Some("boolean") => Some("true".to_owned()),
        Some("integer" | "number") => {
            let number = number(parts, first_type.as_deref() == Some("integer"));
            is_sendable(&number).then_some(number)
        }
        Some("string") => Some(string(parts, &form)),
        _ if keyword("properties").next().is_some() => object(place, parts),
        _ if keyword("items").next().is_some() => array(place, parts),
        _ if kinds.contains(Kinds::STRING) => Some(string(parts, &form)),
        _ => Some("null".to_owned()),
    }
}

fn object<'a>(place: Place<'_, '_, 'a>, parts: &[&Json<'a>]) -> Option<String> {
    let members: Vec<String> = members(place, parts)?
        .into_iter()
        .map(|(name, value)| format!("{}:{value}", string_literal(&name)))
        .collect();
    Some(format!("{{{}}}", members.join(",")))
}

fn array<'a>(place: Place<'_, '_, 'a>, parts: &[&Json<'a>]) -> Option<String> {
    let keyword = |name: &'static str| parts.iter().filter_map(move |part| part.get(name));
    let prefix = keyword("prefixItems")
        .chain(keyword("items"))
        .find_map(Json::elements)
        .unwrap_or_default();
    let items = keyword("items").find(|items| items.elements().is_none());
    let least = count(parts, "minItems").unwrap_or(0);
    let most = count(parts, "maxItems").unwrap_or(u64::MAX);
    // One element shows what the elements are.
    let wanted = least
        .max(1)
        .max(prefix.len() as u64)
        .min(most)
        .min(MAX_ELEMENTS) as usize;
    let unique = keyword("uniqueItems").any(|unique| unique.bool() == Some(true));
    let mut elements: Vec<String> = Vec::new();
    for position in 0..wanted {
        let Some(schema) = prefix.get(position).or(items) else {
            break;
        };
        if schema.bool() == Some(false) {
            break;
        }
        match value(place, schema, &conjuncts(place.root, &[schema])) {
            Some(element) if unique && elements.contains(&element) => {
                elements.extend(other_than(place.root, schema, &elements));
            }
            Some(element) => elements.push(element),
            None if least == 0 => break,
            None => return None,
        }
    }
    while (elements.len() as u64) < least.min(MAX_ELEMENTS) && items.is_none() {
        elements.push(format!("{}", elements.len() + 1));
    }
    Some(format!("[{}]", elements.join(",")))
}

/// Another value for a list without duplicates.
fn other_than<'a>(root: &Json<'a>, schema: &Json<'a>, known: &[String]) -> Option<String> {
    let parts = conjuncts(root, &[schema]);
    let offered = parts
        .iter()
        .filter_map(|part| {
            part.get("enum")
                .or_else(|| part.get("examples"))?
                .elements()
        })
        .flatten()
        .map(quoted);
    let kinds = Kinds::of_schema(root, schema);
    let counted = (2..=MAX_ELEMENTS + 1).map(|number| {
        if kinds.contains(Kinds::STRING) {
            format!("\"text{number}\"")
        } else {
            number.to_string()
        }
    });
    offered.chain(counted).find(|value| !known.contains(value))
}

fn number(parts: &[&Json<'_>], integer: bool) -> String {
    let limit = |name: &'static str| {
        parts
            .iter()
            .filter_map(move |part| part.get(name)?.raw().parse::<f64>().ok())
    };
    let fits = |value: &f64| {
        limit("minimum").all(|least| *value >= least)
            && limit("maximum").all(|most| *value <= most)
            && limit("exclusiveMinimum").all(|least| *value > least)
            && limit("exclusiveMaximum").all(|most| *value < most)
            && limit("multipleOf").all(|step| (value / step).fract() == 0.0)
            && (!integer || value.fract() == 0.0)
    };
    let steps = || limit("multipleOf").next().unwrap_or(1.0);
    let near = [
        limit("minimum"),
        limit("maximum"),
        limit("exclusiveMinimum"),
        limit("exclusiveMaximum"),
    ]
    .map(Iterator::collect::<Vec<_>>)
    .concat()
    .into_iter()
    .flat_map(|limit| {
        let step = steps();
        let on_step = (limit / step).ceil() * step;
        [
            limit,
            on_step,
            on_step + step,
            on_step - step,
            limit + 0.5,
            limit - 0.5,
            limit / 2.0,
        ]
    });
    [1.0, 0.0, steps(), 0.5]
        .into_iter()
        .chain(near)
        .find(fits)
        .map_or_else(|| "1".to_owned(), |value| value.to_string())
}

/// A string of the wanted form; a placeholder that says so where none is found.
fn string(parts: &[&Json<'_>], form: &Form) -> String {
    let keyword = |name: &'static str| parts.iter().filter_map(move |part| part.get(name));
    let format = keyword("format").find_map(Json::string);
    let formatted = format.as_deref().and_then(|format| {
        Some(match format {
            "date-time" => "2026-01-31T12:00:00Z",
            "date" => "2026-01-31",
            "time" => "12:00:00Z",
            "duration" => "PT1H",
            "uri" | "url" | "iri" | "uri-reference" => "https://example.com",
            "email" | "idn-email" => "user@example.com",
            "uuid" => "123e4567-e89b-42d3-a456-426614174000",
            "hostname" => "example.com",
            "ipv4" => "192.0.2.1",
            "ipv6" => "2001:db8::1",
            "regex" => ".*",
            "json-pointer" => "/a",
            _ => return None,
        })
    });
    let length = form.least.clamp(4, MAX_LENGTH).min(form.most) as usize;
    let sized = "text".chars().cycle().take(length);
    let descriptions = keyword("description").filter_map(Json::string);
    let mentioned: Vec<String> = descriptions.flat_map(|text| quotations(&text)).collect();
    let found = formatted
        .map(str::to_owned)
        .into_iter()
        .chain(mentioned.into_iter().filter(|_| !form.patterns.is_empty()))
        .chain([sized.collect()])
        .chain(STRINGS.map(str::to_owned))
        .find(|text| form.fits(text));
    string_literal(&found.unwrap_or_else(|| "text".to_owned()))
}

/// What a description puts into quotation marks: often an example.
fn quotations(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for mark in ['\'', '"', '`'] {
        found.extend(
            text.split(mark)
                .skip(1)
                .step_by(2)
                .filter(|inner| !inner.is_empty() && inner.len() <= 64)
                .map(str::to_owned),
        );
    }
    found
}

/// The length and the patterns that a string must have.
struct Form {
    least: u64,
    most: u64,
    patterns: Vec<jsonschema::Validator>,
}

impl Form {
    /// A pattern that is no regular expression asks for nothing.
    fn of(parts: &[&Json<'_>]) -> Self {
        let patterns = parts
            .iter()
            .filter_map(|part| part.get("pattern")?.string());
        Self {
            least: count(parts, "minLength").unwrap_or(0),
            most: count(parts, "maxLength").unwrap_or(u64::MAX),
            patterns: patterns
                .filter_map(|pattern| {
                    jsonschema::validator_for(&serde_json::json!({ "pattern": pattern })).ok()
                })
                .collect(),
        }
    }

    fn fits(&self, text: &str) -> bool {
        let length = text.chars().count() as u64;
        (self.least..=self.most).contains(&length)
            && self
                .patterns
                .iter()
                .all(|pattern| pattern.is_valid(&serde_json::Value::from(text)))
    }
}

fn count(parts: &[&Json<'_>], name: &str) -> Option<u64> {
    parts
        .iter()
        .filter_map(|part| part.get(name)?.raw().parse().ok())
        .max()
}

/// The text that a JSON string stands for; `None` for any other value.
pub(super) fn text(json: &str) -> Option<Cow<'_, str>> {
    JsonString::read(json).map(JsonString::decode)
}
