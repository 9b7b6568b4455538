//! The definitions of real servers, replayed page by page behind a line of noise. Skipped where they are not at hand.

use std::path::Path;

use serde_json::Value;
use skills::entry_id::ServerName;
use skills::json::canonical;

use super::shelf::{Shelf, options, python};
use crate::config::{StdioConfig, Transport};

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_real_servers() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let Ok(files) = std::fs::read_dir(shared.join("corpus/mcp")) else {
        println!("skipped: there is no corpus");
        return;
    };
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    let replay = shared.join("tools/replay-server.py");
    let mut expected = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let server = shelf.add(&name, &[]);
        server.transport = Transport::Stdio(StdioConfig {
            command: "python3".to_owned(),
            args: [replay.as_path(), &path]
                .map(|path| path.display().to_string())
                .into_iter()
                .chain(["--page", "7", "--noise"].map(str::to_owned))
                .collect(),
            env: std::collections::BTreeMap::new(),
            cwd: None,
        });
        let corpus: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        expected.push((name, corpus["tools"].as_array().unwrap().clone()));
    }
    shelf.configure().await;
    shelf.refresh().await;
    let mut total = 0;
    for (name, tools) in &expected {
        let known = shelf.known[name].definitions.as_ref();
        let known = known.unwrap_or_else(|| panic!("{name}: {:?}", shelf.states[name]));
        assert!(shelf.problems[name].is_empty(), "{name}");
        assert_eq!(known.tools.len(), tools.len(), "{name}");
        for (tool, sent) in known.tools.iter().zip(tools) {
            let sent = serde_json::value::to_raw_value(sent).unwrap();
            assert_eq!(
                canonical(&tool.raw),
                canonical(&sent),
                "{name}/{}",
                tool.name
            );
        }
        total += tools.len();
    }
    assert!(total > 800, "{total} tools");

    let (name, tools) = &expected[0];
    let tool = tools[0]["name"].as_str().unwrap();
    let server = ServerName::new(name);
    let arguments = serde_json::from_str(r#"{"text":"007","n":1}"#).unwrap();
    let call = shelf.servers.call(&server, tool, arguments, options());
    let text = super::shelf::text(&call.await.unwrap());
    assert!(text.contains(r#""text": "007""#), "{text}");
}
