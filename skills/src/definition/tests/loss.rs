//! Checks that no keyword and no value of a schema is lost on its way into a definition.

use std::collections::BTreeSet;

use super::types_of;
use crate::definition::notes::same_words;
use crate::definition::schema::{Target, resolve};
use crate::json::{Json, Node};
use crate::summary::visible;

/// A schema with everything that TypeScript can't say.
pub(super) const NASTY: &str = r##"{
  "type":"object","description":"The whole.","minProperties":1,
  "properties":{
    "pattern":{"type":"string","pattern":"^[a-z]+/\\d{3}$","minLength":4,"maxLength":40,"description":"A code"},
    "number":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e3,"multipleOf":0.1000,"default":123456789012345678901234567890},
    "at":{"type":"string","format":"date-time","examples":["2026-01-31","x"],"deprecated":true},
    "with-hyphen":{"type":["string","null","integer"],"x-vendor":{"nested":["kept",7]},"title":"Other words"},
    "fixed":{"const":"one"},
    "choice":{"enum":["a",1,null,{"k":2}]},
    "odd":{"type":"string","enum":["a",5]},
    "either":{"oneOf":[{"type":"string","maxLength":8,"description":"as text"},{"type":"string","format":"uri"}],"description":"Text or address"},
    "apart":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"number","minimum":3}}]},
    "both":{"allOf":[{"$ref":"#/$defs/A"},{"type":"object","properties":{"more":{"type":"boolean"}},"required":["more"]}]},
    "map":{"type":"object","additionalProperties":{"type":"integer","minimum":-7},"propertyNames":{"pattern":"^k"}},
    "rest":{"type":"object","properties":{"known":{"type":"string"}},"additionalProperties":{"type":"number"}},
    "open":{"type":"object","properties":{"p":{"type":"string"}},"additionalProperties":true},
    "shut":{"type":"object","properties":{"q":{"type":"string"}},"additionalProperties":false},
    "patterned":{"type":"object","patternProperties":{"^S_":{"$ref":"#/$defs/B"}}},
    "pair":{"type":"array","prefixItems":[{"type":"string","description":"first"},{"type":"number"}],"items":false,"minItems":2},
    "old":{"items":[{"type":"string"}],"additionalItems":{"type":"null"}},
    "many":{"type":"array","items":{"type":"string","description":"One tag","pattern":"^t"},"minItems":1,"maxItems":5,"uniqueItems":true,"contains":{"const":"must"}},
    "never":false,"anything":true,"unsaid":{},
    "not":{"not":{"type":"string"}},
    "when":{"if":{"properties":{"x":{"const":1}}},"then":{"required":["y"]},"else":{"required":["z"]}},
    "lines":{"type":"string","description":"First\n  - second */ end\n  - third"},
    "wrong":{"type":"strnig","minimum":"low","maxItems":null,"required":"no"},
    "same":{"type":"string","default":"\u001b[31m","description":"\u001b[31mred\u001b[0m"},
    "twice":{"type":"string"},"twice":{"type":"number","description":"The later counts"},
    "exact":{"type":"number","maximum":9007199254740991},
    "text":5
  },
  "required":["pattern","undeclared"],
  "dependentRequired":{"at":["number"]},
  "anyOf":[{"required":["at"]},{"required":["number"]}],
  "$comment":"kept too",
  "$defs":{"A":{"type":"object","properties":{"a":{"$ref":"#/$defs/B","description":"beside a reference"}}},"B":{"type":"string","minLength":2}}
}"##;

/// The types that the renderer translates.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// The strings and numbers of a schema that its types do not hold.
pub(super) fn lost(schema: &Json<'_>, name: &str, types: &str) -> Vec<String> {
    let mut check = Check {
        root: schema,
        types: squeezed(&types.replace("*\\/", "*/")),
        visited: BTreeSet::new(),
        lost: Vec::new(),
    };
    check.schema(schema, name);
    check.lost
}

struct Check<'s, 'a> {
    root: &'s Json<'a>,
    types: String,
    visited: BTreeSet<String>,
    lost: Vec<String>,
}

fn squeezed(text: &str) -> String {
    visible(text).split_whitespace().collect()
}

impl<'s, 'a> Check<'s, 'a> {
    fn schema(&mut self, schema: &'s Json<'a>, name: &str) {
        for (key, value) in schema.members().unwrap_or_default() {
            match (&*key.decode(), value.node()) {
                ("$defs" | "definitions", _) => {}
                ("additionalProperties" | "uniqueItems" | "deprecated", Node::Bool(_)) => {}
                ("type", Node::String(name)) if TYPES.contains(&&*name.decode()) => {}
                ("type", Node::Array(names))
                    if names.iter().all(|name| name.string().is_some()) => {}
                ("$schema", Node::String(dialect))
                    if dialect.decode().contains("json-schema.org") => {}
                ("title", Node::String(title)) if says_nothing(name, &title.decode()) => {}
                ("minimum" | "maximum", Node::Number)
                    if value.raw().ends_with("9007199254740991") => {}
                ("properties" | "patternProperties", Node::Object(members)) => {
                    for (position, (key, value)) in members.iter().enumerate() {
                        let key = key.decode();
                        if members[position + 1..]
                            .iter()
                            .any(|(later, _)| later.decode() == key)
                        {
                            continue;
                        }
                        self.leaf(&key, None);
                        self.schema(value, &key);
                    }
                }
                ("$ref", Node::String(reference)) => {
                    let reference = reference.decode();
                    match resolve(self.root, &reference) {
                        Target::Inside(target) => {
                            if self.visited.insert(reference.to_string()) {
                                self.schema(target, reference.rsplit('/').next().unwrap());
                            }
                        }
                        Target::Root => {}
                        Target::Unknown => self.leaf(&reference, None),
                    }
                }
                (
                    "items"
                    | "additionalProperties"
                    | "additionalItems"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames",
                    Node::Object(_),
                ) => self.schema(value, ""),
                ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Node::Array(parts)) => {
                    parts.iter().for_each(|part| self.schema(part, ""));
                }
                _ => self.value(value),
            }
        }
    }

    fn value(&mut self, value: &Json<'a>) {
        match value.node() {
            Node::Object(members) => {
                for (key, value) in members {
                    self.leaf(&key.decode(), Some(key.raw()));
                    self.value(value);
                }
            }
            Node::Array(elements) => elements.iter().for_each(|element| self.value(element)),
            Node::String(text) => self.leaf(&text.decode(), Some(text.raw())),
            Node::Number | Node::Deep => self.leaf(value.raw(), None),
            Node::Bool(_) | Node::Null => {}
        }
    }

    fn leaf(&mut self, text: &str, raw: Option<&str>) {
        let json = serde_json::Value::from(text).to_string();
        let inner = &json[1..json.len() - 1];
        let candidates = [Some(text), Some(inner), raw];
        let found = candidates
            .into_iter()
            .flatten()
            .any(|text| self.types.contains(&squeezed(text)));
        if !found {
            self.lost.push(text.to_owned());
        }
    }
}

fn says_nothing(name: &str, title: &str) -> bool {
    same_words(name, title)
        || ["Arguments", "Output", "Response", "DictOutput"]
            .iter()
            .any(|suffix| same_words(&format!("{name}{suffix}"), title))
}

#[test]
fn nothing_of_a_nasty_schema_is_lost() {
    let raw = serde_json::value::RawValue::from_string(NASTY.to_owned()).unwrap();
    let schema = Json::parse(&raw);
    assert_eq!(
        lost(&schema, "tool", &types_of(NASTY)),
        Vec::<String>::new()
    );
}

#[test]
fn the_check_sees_each_loss() {
    let raw = serde_json::value::RawValue::from_string(NASTY.to_owned()).unwrap();
    let schema = Json::parse(&raw);
    let types = types_of(NASTY);
    for part in [
        "^[a-z]+",
        "A code",
        "0.1000",
        "12345678901234567890",
        "date-time",
        "2026-01-31",
        "kept",
        "Other words",
        "as text",
        "^k",
        "^S_",
        "first",
        "must",
        "strnig",
        "low",
        "undeclared",
        "beside a reference",
        "- third",
    ] {
        assert!(types.contains(part), "{part}");
        let without = types.replace(part, "");
        assert!(!lost(&schema, "tool", &without).is_empty(), "{part}");
    }
}
