//! The schemas of real servers, where they are at hand.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{id, nothing_to_read, tool};
use crate::arguments::{ResultValidator, Validator, parse_flags};
use crate::entry_id::ServerName;
use crate::tool::Tool;

#[test]
fn every_real_schema_compiles_and_names_its_arguments() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/mcp");
    if !directory.is_dir() {
        println!("skipped: {} is absent", directory.display());
        return;
    }
    let started = Instant::now();
    let (mut tools, mut faults, mut slowest) = (0, Vec::new(), 0);
    for file in fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let server: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for definition in server["tools"].as_array().unwrap() {
            tools += 1;
            let name = format!("{} {}", path.display(), definition["name"]);
            let tool = tool(&definition["inputSchema"]);
            let compiling = Instant::now();
            match Validator::new(&tool) {
                Ok(validator) => drop(validator.check(&tool, &id(), &serde_json::Map::new())),
                Err(problem) => faults.push(format!("{name}: {problem}")),
            }
            slowest = slowest.max(compiling.elapsed().as_micros());
            let flag = "--surely-no-name-of-an-argument".to_owned();
            let problem = parse_flags(&tool, &id(), &[flag], &mut nothing_to_read).unwrap_err();
            if let Some(properties) = definition["inputSchema"]["properties"].as_object() {
                for property in properties.keys() {
                    assert!(
                        problem.message.contains(&format!("\n  --{property} ")),
                        "{name}: {problem}"
                    );
                }
            }
        }
    }
    println!(
        "{tools} tools in {:?}, the slowest {slowest} µs",
        started.elapsed()
    );
    assert!(tools > 0);
    assert_eq!(faults, [""; 0], "schemas that can't be used");
}

#[test]
fn every_real_output_schema_compiles() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/mcp");
    if !directory.is_dir() {
        println!("skipped: {} is absent", directory.display());
        return;
    }
    let (mut schemas, mut faults) = (0, Vec::new());
    for file in fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let server: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for definition in server["tools"].as_array().unwrap() {
            let raw = RawValue::from_string(definition.to_string()).unwrap();
            let tool = Tool::parse(&ServerName::new("real"), 0, Arc::from(raw)).unwrap();
            let Some(compiled) = ResultValidator::new(&tool) else {
                continue;
            };
            schemas += 1;
            if let Err(problem) = compiled {
                faults.push(format!("{} {}: {problem}", path.display(), tool.name));
            }
        }
    }
    println!("{schemas} output schemas");
    assert!(schemas > 0);
    assert_eq!(faults, [""; 0], "schemas that can't be used");
}
