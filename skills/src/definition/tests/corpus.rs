//! Real definitions, where the corpus is at hand beside the workspace.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::loss::lost;
use super::{read_back, types};
use crate::definition::{example_call, render};
use crate::entry_id::{EntryId, ServerName};
use crate::json::Json;
use crate::summary::{MAX_CHARACTERS, one_line, summarize};
use crate::tool::Tool;

#[derive(serde::Deserialize)]
struct Listed {
    tools: Vec<Arc<RawValue>>,
}

/// Every tool of the corpus; `None`, and a word about it, where there is no corpus.
fn tools() -> Option<Vec<(EntryId, Tool)>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let directory = workspace.parent().unwrap().join("shared/corpus/mcp");
    let Ok(files) = fs::read_dir(&directory) else {
        println!("skipped: there is no {}", directory.display());
        return None;
    };
    let mut tools = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        let server = path.file_stem().unwrap().to_string_lossy().into_owned();
        let listed: Listed = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for (position, raw) in listed.tools.into_iter().enumerate() {
            let tool = Tool::parse(&ServerName::new(&server), position, raw).unwrap();
            tools.push((EntryId::tool(&server, &tool.name), tool));
        }
    }
    assert!(!tools.is_empty());
    Some(tools)
}

#[test]
fn no_real_definition_loses_anything() {
    for (id, tool) in tools().unwrap_or_default() {
        let definition = render(&tool, &id, "path");
        let types = types(&definition);
        let (arguments, result) = match types.split_once("\ntype Result = ") {
            Some((arguments, result)) => (arguments, Some(result)),
            None => (types, None),
        };
        let schema = Json::parse(&tool.input_schema);
        assert_eq!(
            lost(&schema, &tool.name, arguments),
            Vec::<String>::new(),
            "{id}"
        );
        if let (Some(schema), Some(_)) = (&tool.output_schema, result) {
            assert_eq!(
                lost(&Json::parse(schema), &tool.name, types),
                Vec::<String>::new(),
                "{id}"
            );
        }
    }
}

#[test]
fn every_real_example_fits_its_schema() {
    for (id, tool) in tools().unwrap_or_default() {
        let command = example_call(&tool, &id).unwrap();
        assert!(
            render(&tool, &id, "path").contains(&format!("`{command}`")),
            "{id}"
        );
        let arguments = read_back(&tool, &id, &command);
        let schema = serde_json::from_str(tool.input_schema.get()).unwrap();
        let checked = jsonschema::validate(&schema, &arguments);
        assert!(checked.is_ok(), "{command}\n{checked:?}");
    }
}

#[test]
fn every_real_description_has_a_summary() {
    for (id, tool) in tools().unwrap_or_default() {
        let summary = summarize(&tool.description);
        assert!(
            !summary.is_empty() && summary.chars().count() <= MAX_CHARACTERS,
            "{id}: {summary}"
        );
        assert_eq!(
            (one_line(&summary), summarize(&summary)),
            (summary.clone(), summary.clone()),
            "{id}"
        );
    }
}
