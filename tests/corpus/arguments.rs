//! Every argument of every real tool, given both ways.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Map, Value};

use super::values::{fits, pick, with_root};

#[test]
fn every_argument_arrives_by_flags_and_as_json() {
    let Some((shelf, servers)) = super::shelf() else {
        return;
    };
    fs::create_dir(shelf.path("sent")).unwrap();
    let (mut script, mut expected, mut without_value) = (String::new(), Vec::new(), Vec::new());
    let mut given = 0;
    for (server, tools) in &servers {
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            if tool["execution"]["taskSupport"] == "required" {
                continue;
            }
            let id = format!("{server}/{name}");
            let schema = &tool["inputSchema"];
            for arguments in calls(schema, &id, &mut without_value) {
                let number = expected.len();
                let (words, by_flags) = as_flags(schema, &arguments);
                shelf.write(
                    &format!("sent/{number}.json"),
                    Value::from(arguments.clone()).to_string(),
                );
                writeln!(
                    script,
                    "shelf call {id} {words} >sent/{number}.flags || echo failed: {id} {number}\n\
                     shelf call --args @sent/{number}.json {id} >sent/{number}.args || echo failed: {id} {number}"
                )
                .unwrap();
                given += arguments.len();
                expected.push((id.clone(), arguments, by_flags));
            }
        }
    }
    // Longer than a command line may be.
    shelf.write("calls.sh", script);
    let said = shelf.shell(". ./calls.sh");
    // What answers in the servers' place has no structured content, which is said wherever it is promised.
    let is_other =
        |line: &&str| !line.ends_with("no structured content, although there is an outputSchema");
    let others: Vec<_> = said.stderr.lines().filter(is_other).collect();
    assert_eq!((&*said.stdout, others), ("", Vec::new()));
    for (number, (id, as_json, by_flags)) in expected.into_iter().enumerate() {
        for (way, sent) in [("flags", by_flags), ("args", as_json)] {
            let result = fs::read(shelf.path(&format!("sent/{number}.{way}"))).unwrap();
            let result: Value = serde_json::from_slice(&result).unwrap();
            assert_eq!(result["arguments"], Value::from(sent), "{id} by {way}");
        }
    }
    // Forms that only a person could think of a value for.
    assert!(given > 3000, "{given}");
    assert!(
        without_value.len() * 50 < given,
        "{given} given, but not {without_value:?}"
    );
}

/// The objects of arguments that together give every argument of a schema.
fn calls(schema: &Value, id: &str, without_value: &mut Vec<String>) -> Vec<Map<String, Value>> {
    let mut all = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        match pick(schema, property) {
            Some(value) => {
                all.insert(name.clone(), value);
            }
            None => without_value.push(format!("{id} {name}")),
        }
    }
    if fits(schema, &Value::from(all.clone())) {
        return vec![all];
    }
    // Some exclude each other: each with what is required.
    let names = schema["required"].as_array().into_iter().flatten();
    let required: Map<String, Value> = names
        .filter_map(|name| all.get_key_value(name.as_str()?))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let each = all.into_iter().map(|pair| {
        let mut call = required.clone();
        call.extend([pair]);
        call
    });
    each.filter(|call| fits(schema, &Value::from(call.clone())))
        .collect()
}

/// The words that give these arguments, and what they are by the rule that a text which may be a string is one.
fn as_flags(schema: &Value, arguments: &Map<String, Value>) -> (String, Map<String, Value>) {
    let (mut words, mut meant) = (String::new(), Map::new());
    for (name, value) in arguments {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let as_text = Value::from(text.clone());
        let is_scalar = !(value.is_array() || value.is_object());
        let value = if is_scalar && fits(&with_root(schema, &schema["properties"][name]), &as_text)
        {
            as_text
        } else {
            value.clone()
        };
        let escape = if text.starts_with('@') { "@" } else { "" };
        let word = format!("--{name}={escape}{text}").replace('\'', r"'\''");
        write!(words, "'{word}' ").unwrap();
        meant.insert(name.clone(), value);
    }
    (words, meant)
}
