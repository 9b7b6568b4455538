//! A tool's parameters as a provider accepts them: changed only where its API refuses the schema, and never in silence.
//!
//! What a schema loses is told to the model in words. It must not know which provider asks: that is a set of [`Rules`].

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::json::{Json, JsonString};

#[cfg(test)]
mod tests;

/// How many schemas deep parameters are looked for in alternatives that refer to one another.
const MAX_DEPTH: usize = 8;

/// What a provider asks of the schema's top level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Keywords that it refuses there.
    pub(super) refused: &'static [&'static str],
    /// Whether there must be `properties`.
    pub(super) needs_properties: bool,
    /// Whether names of parameters are [`is_plain`].
    pub(super) plain_parameters: bool,
}

/// A schema that keeps the rules.
#[derive(Debug)]
pub(super) struct Adapted<'a> {
    /// The schema: the bytes as sent where nothing had to be changed.
    pub(super) schema: Cow<'a, RawValue>,
    /// What the model has to know in its place.
    pub(super) condition: Option<String>,
    /// What was changed, for a note.
    pub(super) changes: Vec<String>,
}

/// A member of an object as it was written.
type Member<'a> = (&'a str, Cow<'a, str>);

/// Makes a schema keep the rules.
///
/// # Errors
/// The name of a parameter that the provider refuses: a name can't be changed, the server knows no other.
pub(super) fn adapt<'a>(schema: &'a RawValue, rules: Rules) -> Result<Adapted<'a>, String> {
    let json = Json::parse(schema);
    let members = json.members().unwrap_or_default();
    let is_refused = |key: &JsonString<'_>| rules.refused.contains(&&*key.decode());
    let (refused, kept): (Vec<_>, Vec<_>) = members.iter().partition(|(key, _)| is_refused(key));

    let declared = json.get("properties").and_then(Json::members);
    let mut parameters = Parameters::default();
    for (key, value) in declared.unwrap_or_default() {
        parameters.declare(*key, value);
    }
    let declared_count = parameters.found.len();
    for (_, alternatives) in &refused {
        for alternative in alternatives.elements().unwrap_or_default() {
            parameters.gather(alternative, &json, 0);
        }
    }
    if rules.plain_parameters
        && let Some(name) = parameters.names().find(|name| !is_plain(name))
    {
        return Err(name.into_owned());
    }

    let is_object = json.get("type").and_then(Json::string).as_deref() == Some("object");
    let lacks_properties = rules.needs_properties && declared.is_none();
    let mut changes = Vec::new();
    if !is_object {
        changes.push("its `type` was made \"object\"".to_owned());
    }
    if lacks_properties {
        changes.push("`properties` were added".to_owned());
    }
    if !refused.is_empty() {
        let names: Vec<_> = refused
            .iter()
            .map(|(key, _)| format!("`{}`", key.decode()))
            .collect();
        changes.push(format!(
            "{} at the top level went into the description",
            names.join(", ")
        ));
    }
    if changes.is_empty() {
        return Ok(Adapted {
            schema: Cow::Borrowed(schema),
            condition: None,
            changes,
        });
    }

    let has_more = parameters.found.len() > declared_count;
    let mut members: Vec<Member<'_>> = vec![("\"type\"", Cow::Borrowed("\"object\""))];
    for (key, value) in kept {
        match &*key.decode() {
            "type" => {}
            "properties" if lacks_properties || has_more => {}
            _ => members.push((key.raw(), Cow::Borrowed(value.raw()))),
        }
    }
    if lacks_properties || has_more {
        members.push(("\"properties\"", Cow::Owned(parameters.object())));
    }
    Ok(Adapted {
        schema: Cow::Owned(raw(object(&members))),
        condition: condition(&refused),
        changes,
    })
}

/// The refused keywords as a schema of their own, in a sentence.
fn condition(refused: &[&(JsonString<'_>, Json<'_>)]) -> Option<String> {
    if refused.is_empty() {
        return None;
    }
    let members: Vec<Member<'_>> = refused
        .iter()
        .map(|(key, value)| (key.raw(), value.compact()))
        .collect();
    Some(format!(
        "The arguments must also match this JSON Schema: {}",
        object(&members)
    ))
}

/// Whether a parameter's name has only letters, digits, `_`, `.` and `-`, 64 at most.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Parameters with the schemas that were found for each.
#[derive(Debug, Default)]
struct Parameters<'a> {
    found: Vec<(JsonString<'a>, Vec<Cow<'a, str>>, bool)>,
}

impl<'a> Parameters<'a> {
    /// Takes a parameter of the schema itself: whatever an alternative says of it holds beside that.
    fn declare(&mut self, key: JsonString<'a>, schema: &Json<'a>) {
        self.found
            .push((key, vec![Cow::Borrowed(schema.raw())], true));
    }

    /// Takes the parameters of an alternative, and of those that it consists of or refers to.
    fn gather(&mut self, schema: &Json<'a>, root: &Json<'a>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for (key, value) in schema
            .get("properties")
            .and_then(Json::members)
            .unwrap_or_default()
        {
            self.add(*key, value);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for part in schema
                .get(keyword)
                .and_then(Json::elements)
                .unwrap_or_default()
            {
                self.gather(part, root, depth + 1);
            }
        }
        if let Some(reference) = schema.get("$ref").and_then(Json::string)
            && let Some(target) = within(root, &reference)
        {
            self.gather(target, root, depth + 1);
        }
    }

    fn add(&mut self, key: JsonString<'a>, schema: &Json<'a>) {
        let known = self
            .found
            .iter_mut()
            .find(|(known, ..)| known.decode() == key.decode());
        match known {
            Some((_, _, true)) => {}
            Some((_, schemas, _)) => {
                let schema = schema.compact();
                if !schemas.contains(&schema) {
                    schemas.push(schema);
                }
            }
            None => self.found.push((key, vec![schema.compact()], false)),
        }
    }

    fn names(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.found.iter().map(|(key, ..)| key.decode())
    }

    fn object(&self) -> String {
        let members = self.found.iter().map(|(key, schemas, _)| {
            let schema = match &schemas[..] {
                [one] => one.clone(),
                several => Cow::Owned(format!("{{\"anyOf\":[{}]}}", several.join(","))),
            };
            (key.raw(), schema)
        });
        object(&members.collect::<Vec<_>>())
    }
}

/// What a reference inside the schema (`#/$defs/Name`) leads to.
fn within<'j, 'a>(root: &'j Json<'a>, reference: &str) -> Option<&'j Json<'a>> {
    let path = reference.strip_prefix("#/")?;
    path.split('/').try_fold(root, |json, part| {
        json.get(&part.replace("~1", "/").replace("~0", "~"))
    })
}

fn object(members: &[Member<'_>]) -> String {
    let members: Vec<_> = members
        .iter()
        .map(|(key, value)| format!("{key}:{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).expect("an object of valid JSON is valid JSON")
}
