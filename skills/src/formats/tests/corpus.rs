//! Real definitions, where the corpus is at hand beside the workspace.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{Content, Format, Item, Occasion, names, render};
use crate::entry_id::{EntryId, ServerName};
use crate::tool::Tool;

#[derive(serde::Deserialize)]
struct Listed {
    tools: Vec<Arc<RawValue>>,
}

/// Every tool of the corpus; none, and a word about it, where there is no corpus.
fn items() -> Vec<Item> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let directory = workspace.parent().unwrap().join("shared/corpus/mcp");
    let Ok(files) = fs::read_dir(&directory) else {
        println!("skipped: there is no {}", directory.display());
        return Vec::new();
    };
    let mut items = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        let server = path.file_stem().unwrap().to_string_lossy().into_owned();
        let listed: Listed = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for (position, raw) in listed.tools.into_iter().enumerate() {
            let tool = Tool::parse(&ServerName::new(&server), position, raw).unwrap();
            items.push(Item {
                id: EntryId::tool(&server, &tool.name),
                pinned: false,
                content: Content::Tool {
                    tool: Box::new(tool),
                    about: String::new(),
                },
            });
        }
    }
    items
}

#[test]
fn real_names_are_valid_and_unique_and_lead_back() {
    let items = items();
    let ids: Vec<_> = items.iter().map(|item| item.id.clone()).collect();
    let names: HashSet<_> = ids.iter().map(names::of).collect();
    assert_eq!(names.len(), ids.len());
    for id in ids.iter().step_by(20) {
        assert_eq!(names::id_of(&names::of(id), &ids), Some(id));
    }
}

#[test]
fn real_definitions_are_all_given_in_every_form() {
    let items = items();
    for format in [
        Format::Anthropic,
        Format::OpenAi { call_id: None },
        Format::OpenAi {
            call_id: Some("call_1"),
        },
        Format::Mcp,
    ] {
        let text = render(format, Occasion::List, &items).text;
        let json: Value = serde_json::from_str(&text).unwrap();
        let tools = json["tools"].as_array().unwrap();
        let count = |tool: &Value| tool["tools"].as_array().map_or(1, Vec::len);
        assert_eq!(tools.iter().map(count).sum::<usize>(), items.len());
    }
    let xml = render(Format::Xml, Occasion::List, &items).text;
    assert_eq!(xml.matches("<tool ").count(), items.len());
}
