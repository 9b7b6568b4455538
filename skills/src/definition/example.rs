//! Example values that fit a schema.

use std::borrow::Cow;

use super::notes::quoted;
use super::schema::{Kinds, conjuncts};
use crate::json::{Json, JsonString};

/// How deep examples nest; what a schema requires below has no finite example or none worth showing.
const MAX_DEPTH: usize = 12;

/// The most elements that an example list has.
const MAX_ELEMENTS: u64 = 16;

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

/// The required arguments of a tool with example values as JSON; `None` when there is no finite example.
pub(super) fn arguments<'s, 'a>(
    schema: &'s Json<'a>,
) -> Option<Vec<(Cow<'a, str>, &'s Json<'a>, String)>> {
    members(schema, &conjuncts(schema, schema), MAX_DEPTH)
}

/// The required members of an object with their schemas and example values.
fn members<'s, 'a>(
    root: &'s Json<'a>,
    parts: &[&'s Json<'a>],
    depth: usize,
) -> Option<Vec<(Cow<'a, str>, &'s Json<'a>, String)>> {
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
                return Some((name, root, "\"text\"".to_owned()));
            };
            let parts: Vec<_> = schemas
                .into_iter()
                .flat_map(|schema| conjuncts(root, schema))
                .collect();
            let value = value(root, schema, &parts, depth)?;
            Some((name, schema, value))
        })
        .collect()
}

/// An example of a schema whose parts have been gathered, as JSON.
fn value<'a>(
    root: &Json<'a>,
    schema: &Json<'a>,
    parts: &[&Json<'a>],
    depth: usize,
) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let kinds = Kinds::of_schema(root, schema);
    let fits =
        |value: &&Json<'a>| kinds.contains(Kinds::of_value(value)) && fits_form(parts, value);
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
        Some("object") => object(root, parts, depth),
        Some("array") => array(root, parts, depth),
        Some("boolean") => Some("true".to_owned()),
        Some("integer" | "number") => Some(number(parts, first_type.as_deref() == Some("integer"))),
        Some("string") => Some(string(parts)),
        _ if keyword("properties").next().is_some() => object(root, parts, depth),
        _ if keyword("items").next().is_some() => array(root, parts, depth),
        _ if kinds.contains(Kinds::STRING) => Some(string(parts)),
        _ => Some("null".to_owned()),
    }
}

/// Whether a string that the schema offers has the form that it asks for; generated defaults do not always.
fn fits_form(parts: &[&Json<'_>], value: &Json<'_>) -> bool {
    value.string().is_none_or(|text| has_form(parts, &text))
}

fn object<'a>(root: &Json<'a>, parts: &[&Json<'a>], depth: usize) -> Option<String> {
    let members: Vec<String> = members(root, parts, depth)?
        .into_iter()
        .map(|(name, _, value)| format!("{}:{value}", serde_json::Value::from(name)))
        .collect();
    Some(format!("{{{}}}", members.join(",")))
}

fn array<'a>(root: &Json<'a>, parts: &[&Json<'a>], depth: usize) -> Option<String> {
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
        match value(root, schema, &conjuncts(root, schema), depth) {
            Some(element) if unique && elements.contains(&element) => {
                elements.extend(other_than(root, schema, &elements));
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
    let parts = conjuncts(root, schema);
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
fn string(parts: &[&Json<'_>]) -> String {
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
    let least = count(parts, "minLength").unwrap_or(0).min(1_000) as usize;
    let most = count(parts, "maxLength").unwrap_or(u64::MAX);
    let sized = "text".chars().cycle().take(
        least
            .max(4)
            .min(usize::try_from(most).unwrap_or(usize::MAX)),
    );
    let descriptions = keyword("description").filter_map(Json::string);
    let mentioned: Vec<String> = descriptions.flat_map(|text| quotations(&text)).collect();
    let wants_form = keyword("pattern").next().is_some();
    let found = formatted
        .map(str::to_owned)
        .into_iter()
        .chain(mentioned.into_iter().filter(|_| wants_form))
        .chain([sized.collect()])
        .chain(STRINGS.map(str::to_owned))
        .find(|text| has_form(parts, text));
    serde_json::Value::from(found.unwrap_or_else(|| "text".to_owned())).to_string()
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

/// Whether a string has the length and matches the patterns that its schema asks for.
fn has_form(parts: &[&Json<'_>], text: &str) -> bool {
    let length = text.chars().count() as u64;
    let patterns = || {
        parts
            .iter()
            .filter_map(|part| part.get("pattern")?.string())
    };
    count(parts, "minLength").is_none_or(|least| length >= least)
        && count(parts, "maxLength").is_none_or(|most| length <= most)
        && patterns().all(|pattern| {
            jsonschema::is_valid(
                &serde_json::json!({ "pattern": pattern }),
                &serde_json::Value::from(text),
            )
        })
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
