//! Real definitions and real skills, all at once: the folder beside the repository, where it is there.

mod arguments;
mod values;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, shared};
use crate::support::shelf::Shelf;

/// The servers by name, each with its tools as the file has them.
type Servers = BTreeMap<String, Vec<Value>>;

/// A mounted shelf with every server, replayed, and every skill; `None` where there is no corpus or no mount.
fn shelf() -> Option<(Shelf, Servers)> {
    let shared = shared()?;
    if lacks_mount() {
        return None;
    }
    let shelf = Shelf::new();
    let (mut servers, mut configuration) = (Servers::new(), serde_json::Map::new());
    let mut files: Vec<PathBuf> = fs::read_dir(shared.join("corpus/mcp"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for (position, file) in files.iter().enumerate() {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut arguments = vec![json!(shared.join("tools/replay-server.py")), json!(file)];
        match position % 5 {
            0 => arguments.extend([json!("--page"), json!("7")]),
            1 => arguments.push(json!("--noise")),
            _ => {}
        }
        // Stopped soon, so that not all of them run at the end.
        let server = json!({ "command": "python3", "args": arguments, "idle": "2s" });
        configuration.insert(name.clone(), server);
        let mut recorded: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let tools = recorded["tools"].as_array_mut().unwrap();
        servers.insert(name, std::mem::take(tools));
    }
    shelf.servers(Value::Object(configuration));
    for archive in ["awesome-copilot", "superpowers"] {
        let archive = shared.join(format!("corpus/skills/{archive}.tar.gz"));
        shelf
            .shell(&format!("tar -xzf '{}' -C skills", archive.display()))
            .succeeds();
    }
    shelf.mount_with(&["--wait", "120"]).succeeds();
    Some((shelf, servers))
}

#[test]
fn every_tool_is_there_as_it_was_sent_and_its_example_arrives() {
    let Some((shelf, servers)) = shelf() else {
        return;
    };
    let mut script = String::new();
    let mut expected = Vec::new();
    for (server, tools) in &servers {
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let schema = shelf.read(&format!(".schemas/{server}/{name}.json"));
            // The order of the keys is kept, so equal text is an equal sequence of tokens.
            let shown: Value = serde_json::from_str(&schema).unwrap();
            assert_eq!(shown.to_string(), tool.to_string(), "{server}/{name}");
            let definition = shelf.read(&format!("mcp/{server}/{name}.md"));
            let command = example(&definition, &format!("{server}/{name}"));
            if tool["execution"]["taskSupport"] == "required" {
                let said = shelf.shell(&command).fails(2);
                assert!(said.contains("only as a task"), "{said}");
                continue;
            }
            let number = expected.len();
            writeln!(
                script,
                "{command} >results/{number} || echo failed: {server}/{name}"
            )
            .unwrap();
            expected.push((name, tool, command));
        }
    }
    assert!(expected.len() > 800, "{}", expected.len());
    fs::create_dir(shelf.path("results")).unwrap();
    let said = shelf.shell(&script);
    // What answers in the servers' place has no structured content, which is said wherever it is promised, and nothing else is.
    let is_other =
        |line: &&str| !line.ends_with("no structured content, although there is an outputSchema");
    let others: Vec<_> = said.stderr.lines().filter(is_other).collect();
    assert_eq!((&*said.stdout, others), ("", Vec::new()));
    let promised = |tool: &Value| tool["outputSchema"].is_object();
    assert_eq!(
        said.stderr.lines().count(),
        expected
            .iter()
            .filter(|(_, tool, _)| promised(tool))
            .count()
    );
    for (number, (name, tool, command)) in expected.iter().enumerate() {
        let result = fs::read(shelf.path(&format!("results/{number}"))).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["tool"], **name, "{command}");
        arrived(tool, command, &result["arguments"]);
    }
}

/// The command line that a definition gives: the one line of code that is a call of this tool.
fn example(definition: &str, id: &str) -> String {
    let start = definition.find("`shelf call ").expect(id) + 1;
    let length = definition[start..].find("`\n").expect(id);
    definition[start..start + length].to_owned()
}

/// Compares what a server got with what stands on the command line.
fn arrived(tool: &Value, command: &str, arguments: &Value) {
    let arguments = arguments.as_object().unwrap();
    let required = tool["inputSchema"]["required"].as_array();
    for name in required.into_iter().flatten() {
        assert!(
            arguments.contains_key(name.as_str().unwrap()),
            "{name}: {command}"
        );
    }
    let unquoted = command.replace("'\\''", "'");
    for (name, value) in arguments {
        assert!(unquoted.contains(name.as_str()), "{name}: {command}");
        let written = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            // Their text on the line may be spaced otherwise.
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => continue,
        };
        assert!(unquoted.contains(&written), "{name} = {written}: {command}");
    }
}

#[test]
fn every_skill_is_there_byte_for_byte_or_reported() {
    let Some((shelf, _)) = shelf() else {
        return;
    };
    let status = shelf.status();
    let problems = status["problems"].as_array().unwrap();
    let reported = serde_json::to_string(problems).unwrap();
    let skills = shelf.shell("find -L skills -name SKILL.md").succeeds();
    let mut shown = 0;
    for file in skills.lines() {
        let source = shelf.path(file);
        let directory = source.parent().unwrap();
        let name = directory.file_name().unwrap().to_str().unwrap();
        let mounted = shelf.mounted("skills").join(name);
        let is_shown = fs::read(mounted.join("SKILL.md")).ok() == Some(fs::read(&source).unwrap());
        assert!(
            is_shown || reported.contains(file),
            "{file} is neither shown nor reported"
        );
        if is_shown {
            shown += 1;
            same_files(directory, &mounted);
        }
    }
    assert!(shown > 200, "{shown}");
    assert_eq!(
        shelf
            .read("ALL.md")
            .lines()
            .filter(|line| line.starts_with("skills/"))
            .count(),
        usize::try_from(status["skill_entries"].as_u64().unwrap()).unwrap(),
    );
}

/// Compares the regular files of a skill with what is mounted of it.
fn same_files(source: &Path, mounted: &Path) {
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        let shown = mounted.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            same_files(&entry.path(), &shown);
        } else if kind.is_file() {
            assert!(
                fs::read(entry.path()).unwrap() == fs::read(&shown).unwrap(),
                "{}",
                shown.display()
            );
        }
    }
}
