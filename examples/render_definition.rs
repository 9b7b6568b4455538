//! Prints the definitions of a server's tools as `<tool>.md` shows them.
//!
//! `cargo run --example render_definition -- FILE.json [TOOL]` reads a `tools/list` result or `{"tools": […]}`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints"
)]

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use serde_json::value::RawValue;
use skills::entry_id::{EntryId, ServerName};
use skills::names::encode;
use skills::tool::Tool;

#[derive(serde::Deserialize)]
struct ToolsList {
    tools: Vec<Arc<RawValue>>,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments
        .next()
        .context("usage: render_definition FILE.json [TOOL]")?;
    let wanted = arguments.next();
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {file}"))?;
    let list: ToolsList = serde_json::from_str(&text).with_context(|| format!("parsing {file}"))?;
    let stem = Path::new(&file)
        .file_stem()
        .context("the file has no name")?;
    let server = ServerName::new(stem.to_string_lossy());

    let mut found = false;
    for (position, raw) in list.tools.into_iter().enumerate() {
        match Tool::parse(&server, position, raw) {
            Ok(tool) if wanted.as_deref().is_none_or(|name| name == &*tool.name) => {
                let id = EntryId::tool(&encode(server.as_str()), &encode(&*tool.name));
                let schema_path = format!(".schemas/{id}.json");
                println!("{}", skills::definition::render(&tool, &id, &schema_path));
                found = true;
            }
            Ok(_) => {}
            Err(problem) => eprintln!("{problem}"),
        }
    }
    if let (false, Some(name)) = (found, wanted) {
        anyhow::bail!("{file} has no tool {name}");
    }
    Ok(())
}
