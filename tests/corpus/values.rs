//! Values made from a schema, by trying what a schema says and a few forms against it.

use serde_json::{Map, Value, json};

/// How deep values nest.
const DEPTH: usize = 6;

/// Texts that look like something else come first: they have to stay texts.
const TEXTS: [&str; 16] = [
    "007",
    "true",
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
    "ABCDEFGHIJ",
    "0123456789abcdef01234567",
];

/// A value that fits a part of a schema.
pub(super) fn pick(root: &Value, part: &Value) -> Option<Value> {
    pick_at(root, part, DEPTH)
}

fn pick_at(root: &Value, part: &Value, depth: usize) -> Option<Value> {
    let schema = with_root(root, part);
    let validator = jsonschema::validator_for(&schema).ok()?;
    let mut found = candidates(root, part, depth).into_iter();
    found.find(|value| validator.is_valid(value))
}

/// Whether a value fits a schema.
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    jsonschema::is_valid(schema, value)
}

/// A part of a schema as a schema of its own.
pub(super) fn with_root(root: &Value, part: &Value) -> Value {
    let mut schema = Map::new();
    for keyword in ["$schema", "$defs", "definitions"] {
        if let Some(value) = root.get(keyword) {
            schema.insert(keyword.to_owned(), value.clone());
        }
    }
    schema.insert("allOf".to_owned(), json!([part]));
    Value::Object(schema)
}

fn candidates(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    let Some(deeper) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let Some(target) = schema["$ref"]
        .as_str()
        .and_then(|to| root.pointer(to.strip_prefix('#')?))
    {
        found.extend(candidates(root, target, deeper));
    }
    found.extend(schema.get("const").cloned());
    for keyword in ["enum", "examples"] {
        found.extend(
            schema[keyword]
                .as_array()
                .into_iter()
                .flatten()
                .rev()
                .cloned(),
        );
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for branch in schema[keyword].as_array().into_iter().flatten() {
            found.extend(candidates(root, branch, deeper));
        }
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if schema.get("properties").is_some() => vec!["object"],
        _ if schema.get("items").is_some() => vec!["array"],
        _ => vec!["string"],
    };
    for kind in kinds {
        match kind {
            "string" => found.extend(texts(schema)),
            "integer" | "number" => {
                for keyword in ["minimum", "maximum", "default"] {
                    found.extend(schema.get(keyword).cloned());
                }
                if kind == "number" {
                    found.push(json!(0.5));
                }
                found.extend([7, 1, 0, 10, 100, 1000, -1].map(Value::from));
            }
            "boolean" => found.extend([json!(false), json!(true)]),
            "null" => found.push(Value::Null),
            "array" => found.extend(arrays(root, schema, deeper)),
            "object" => found.extend(objects(root, schema, deeper)),
            _ => {}
        }
    }
    found.extend(schema.get("default").cloned());
    found
}

fn texts(schema: &Value) -> Vec<Value> {
    let description = schema["description"].as_str().unwrap_or_default();
    let quoted = ['\'', '"', '`']
        .into_iter()
        .flat_map(|mark| description.split(mark).skip(1).step_by(2));
    let sized = [schema["minLength"].as_u64(), schema["maxLength"].as_u64()];
    let sized = sized.into_iter().flatten().filter(|length| *length < 1000);
    TEXTS
        .into_iter()
        .chain(quoted.filter(|text| !text.is_empty() && *text != "-"))
        .map(Value::from)
        .chain(sized.map(|length| "x".repeat(usize::try_from(length).unwrap()).into()))
        .collect()
}

fn arrays(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    let tuple = schema["prefixItems"]
        .as_array()
        .or(schema["items"].as_array());
    if let Some(parts) = tuple {
        let items: Option<Vec<Value>> = parts
            .iter()
            .map(|part| pick_at(root, part, depth))
            .collect();
        return items.map(Value::from).into_iter().collect();
    }
    let any = json!({});
    let items = schema.get("items").unwrap_or(&any);
    let Some(item) = pick_at(root, items, depth) else {
        return vec![json!([])];
    };
    let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(2).min(100)).unwrap();
    vec![
        Value::from(vec![item.clone(); least]),
        Value::from(vec![item]),
        json!([]),
    ]
}

fn objects(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    let (mut all, mut required) = (Map::new(), Map::new());
    let is_required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|known| known == name))
    };
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = pick_at(root, member, depth) {
            if is_required(name) {
                required.insert(name.clone(), value.clone());
            }
            all.insert(name.clone(), value);
        }
    }
    let mut more = all.clone();
    let others = schema
        .get("additionalProperties")
        .filter(|others| others.is_object());
    if let Some(value) = others.and_then(|others| pick_at(root, others, depth)) {
        more.insert("other".to_owned(), value);
    }
    [more, all, required].map(Value::from).into()
}
