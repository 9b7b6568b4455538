//! A shelf whose server and skill change, with pins that are strict or not.

use std::fs;

use serde_json::{Value, json};

use super::shelf::{Finished, Shelf};
use super::wait_for;

/// A place with a fake server and a skill, not yet mounted.
pub(crate) fn place(pin: &str) -> Shelf {
    let shelf = Shelf::new();
    shelf.skill("pdf", "Reads PDF files.");
    shelf.write("skills/pdf/scripts/run.sh", "echo first\n");
    describe(&shelf, "Says it again.");
    shelf.write("said", "Speak softly.");
    configure(&shelf, pin, &Value::Null);
    shelf
}

/// Writes the configuration, in place of what was there.
pub(crate) fn configure(shelf: &Shelf, pin: &str, policy: &Value) {
    let fake = shelf.fake(&[
        "--merge",
        "fields.json",
        "--instructions",
        "said",
        "--calls",
        "calls",
    ]);
    let config = json!({ "mcpServers": { "fake": fake }, "skills": ["skills"], "pin": pin, "policy": policy });
    let written = shelf.write("mcp.json.new", config.to_string());
    fs::rename(written, shelf.path("mcp.json")).unwrap();
}

/// What the server is to say of its tool `echo` from its next start on.
pub(crate) fn describe(shelf: &Shelf, description: &str) {
    let fields = json!({ "echo": { "description": description } });
    shelf.write("fields.json", fields.to_string());
}

/// Mounts with what the configuration says alone, so that commands without a daemon know the same; that has to work.
#[track_caller]
pub(crate) fn mount(shelf: &Shelf) -> Finished {
    let finished = shelf.run(&["mount", "mount", "--config", "mcp.json"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    finished
}

/// Starts the server anew, by which it is listed anew.
#[track_caller]
pub(crate) fn restart(shelf: &Shelf) {
    shelf.run(&["servers", "restart", "fake"]).succeeds();
}

/// Waits until the list of changes has a line.
#[track_caller]
pub(crate) fn wait_for_change(shelf: &Shelf, line: &str) -> String {
    wait_for(line, || {
        let changes = shelf.run(&["changes"]).succeeds();
        changes
            .lines()
            .any(|known| known == line || known.starts_with(&format!("{line} ")))
            .then_some(changes)
    })
}
