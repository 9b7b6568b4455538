use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{CallError, Content, Format, Item, Occasion, Rendered, call_error, names, render};
use crate::catalog::EntryKind;
use crate::entry_id::{EntryId, ServerName};
use crate::tool::Tool;

mod corpus;

const COUNT: &str = r#"{"name":"count_text","description":"Counts the lines, words and characters of a text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}"#;
/// Numbers, spaces and unknown members as only a server writes them.
const ODD: &str = r#"{ "name": "a.b", "title": "Odd", "inputSchema": { "type":"object", "properties": {"n": {"type": "number", "maximum": 1e3}}, "anyOf": [ {"required": ["n"]}, {"properties": {"m": {"type": "string"}}, "required": ["m"]} ] }, "x-own": 1.0 }"#;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn tool(server: &str, json: &str, about: &str, pinned: bool) -> Item {
    let tool = Tool::parse(&ServerName::new(server), 0, Arc::from(raw(json))).unwrap();
    Item {
        id: EntryId::tool(server, &tool.name),
        pinned,
        content: Content::Tool {
            tool: Box::new(tool),
            about: about.to_owned(),
        },
    }
}

fn count_text() -> Item {
    tool("desk", COUNT, "Small tools for a desk.", false)
}

fn skill() -> Item {
    Item {
        id: EntryId::skill("meeting-notes"),
        pinned: false,
        content: Content::Skill {
            description: "Turn a raw transcript into decisions & tasks.".to_owned(),
            location: PathBuf::from("/mnt/tools/skills/meeting-notes/SKILL.md"),
        },
    }
}

/// Two servers, a tool whose name and schema don't suit providers, one that is pinned, and a skill.
fn mixed() -> Vec<Item> {
    vec![
        tool("odd", ODD, "", false),
        count_text(),
        skill(),
        tool(
            "desk",
            &COUNT.replace("count_text", "count"),
            "Small tools for a desk.",
            true,
        ),
    ]
}

/// The text and, below a line, the notes.
fn shown(rendered: &Rendered) -> String {
    format!("{}---\n{}", rendered.text, rendered.notes.join("\n"))
}

const SEARCH: Occasion<'_> = Occasion::Search("count words");

#[test]
fn each_form_is_as_it_was_read_last() {
    let items = mixed();
    for (name, format, occasion) in [
        ("xml", Format::Xml, SEARCH),
        ("xml_list", Format::Xml, Occasion::List),
        ("anthropic", Format::Anthropic, SEARCH),
        ("anthropic_list", Format::Anthropic, Occasion::List),
        ("openai", Format::OpenAi { call_id: None }, Occasion::Show),
        (
            "openai_search",
            Format::OpenAi {
                call_id: Some("call_1"),
            },
            SEARCH,
        ),
        ("mcp", Format::Mcp, Occasion::Show),
    ] {
        insta::assert_snapshot!(name, shown(&render(format, occasion, &items)));
    }
}

#[test]
fn nothing_is_a_form_too() {
    for (format, expected) in [
        (
            Format::Xml,
            "<search-results query=\"count words\" count=\"0\">\n</search-results>\n",
        ),
        (
            Format::Anthropic,
            "{\"tools\":[],\"tool_result_content\":[]}\n",
        ),
        (Format::OpenAi { call_id: None }, "{\"tools\":[]}\n"),
        (
            Format::Mcp,
            "{\"tools\":[],\"_meta\":{\"toolshelf/ids\":[]}}\n",
        ),
    ] {
        let rendered = render(format, SEARCH, &[]);
        assert_eq!((&*rendered.text, rendered.notes.len()), (expected, 0));
    }
}

#[test]
fn skills_alone_are_the_block_of_the_specification() {
    let text = render(Format::Xml, Occasion::List, &[skill()]).text;
    assert!(
        text.starts_with("<available_skills>\n  <skill>\n    <name>meeting-notes</name>\n"),
        "{text}"
    );
    assert!(
        text.ends_with("  </skill>\n</available_skills>\n"),
        "{text}"
    );
}

#[test]
fn what_the_api_would_refuse_is_said() {
    let notes = |items: &[Item]| render(Format::Anthropic, SEARCH, items).notes;
    let [all_deferred] = &notes(&[count_text()])[..] else {
        panic!("one note")
    };
    assert!(
        all_deferred.contains("every tool here is deferred"),
        "{all_deferred}"
    );
    let bad = COUNT.replace("\"text\":{", "\"text[]\":{");
    let rendered = render(Format::Anthropic, SEARCH, &[tool("desk", &bad, "", false)]);
    assert_eq!(rendered.text, "{\"tools\":[],\"tool_result_content\":[]}\n");
    assert!(
        rendered.notes[0].contains("desk/count_text is left out")
            && rendered.notes[0].contains("text[]")
    );
    // The other provider takes it.
    let other = render(
        Format::OpenAi { call_id: None },
        SEARCH,
        &[tool("desk", &bad, "", false)],
    );
    assert!(other.text.contains("text[]") && other.notes.is_empty());
}

#[test]
fn a_reference_leads_only_to_what_is_deferred() {
    let text = render(Format::Anthropic, SEARCH, &mixed()).text;
    let json: Value = serde_json::from_str(&text).unwrap();
    let deferred: Vec<_> = json["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["defer_loading"] == true)
        .map(|tool| &tool["name"])
        .collect();
    let referred: Vec<_> = json["tool_result_content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["tool_name"])
        .collect();
    assert_eq!(referred, deferred);
    assert_eq!(referred.len(), 2);
}

#[test]
fn only_what_the_model_reads_is_handed_out() {
    for format in [Format::Xml, Format::OpenAi { call_id: None }, Format::Mcp] {
        assert!(format.shows_model(Occasion::List, false));
    }
    assert!(!Format::Anthropic.shows_model(Occasion::List, false));
    assert!(Format::Anthropic.shows_model(Occasion::List, true));
    assert!(Format::Anthropic.shows_model(SEARCH, false));
    assert!(Format::Xml.takes(EntryKind::Skill) && !Format::Mcp.takes(EntryKind::Skill));
}

#[test]
fn an_error_tells_the_schema() {
    let schema = raw(r#"{"type": "object"}"#);
    let error = CallError {
        tool: "a/\"b",
        message: "<no>\u{1b}",
        hint: None,
        parameters: Some(&schema),
    };
    let expected = "<tool-call-error tool=\"a/&quot;b\">\n  <message>&lt;no&gt;</message>\n  <parameters>{\"type\":\"object\"}</parameters>\n</tool-call-error>\n";
    assert_eq!(call_error(&error), expected);
}

/// The blocks of code in the section of the README, in their order.
fn examples() -> Vec<String> {
    let readme = include_str!("../../../README.md");
    let section = readme
        .split("\n## Formats\n")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let blocks = section.split("\n```").skip(1).step_by(2);
    blocks
        .map(|block| block.split_once('\n').unwrap().1.to_owned() + "\n")
        .collect()
}

#[test]
fn the_examples_of_the_readme_are_what_is_printed() {
    let items = [count_text(), skill()];
    let written = |format| render(format, SEARCH, &items).text;
    let [xml, error, anthropic, openai, mcp] = &examples()[..] else {
        panic!("five examples: {:#?}", examples());
    };
    assert_eq!(*xml, written(Format::Xml));
    let Content::Tool { tool, .. } = count_text().content else {
        panic!("a tool")
    };
    let call = CallError {
        tool: "desk/count_text",
        message: "desk/count_text: unknown flag \"--txet\"\narguments of desk/count_text:\n  --text  string, required",
        hint: Some(
            "did you mean --text?; an option of shelf itself goes before the id; a call that would work: shelf call desk/count_text --text text",
        ),
        parameters: Some(&tool.input_schema),
    };
    assert_eq!(*error, call_error(&call));
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(json(anthropic), json(&written(Format::Anthropic)));
    assert_eq!(
        json(openai),
        json(&written(Format::OpenAi {
            call_id: Some("call_1")
        }))
    );
    assert_eq!(json(mcp), json(&written(Format::Mcp)));
}

#[test]
fn bytes_stay_as_they_were_sent() {
    let items = mixed();
    assert!(render(Format::Mcp, SEARCH, &items).text.contains(ODD));
    let text = render(Format::Anthropic, SEARCH, &items).text;
    let name = names::of(&items[0].id);
    assert!(
        text.contains(&name) && text.contains("\"maximum\": 1e3"),
        "{text}"
    );
}
