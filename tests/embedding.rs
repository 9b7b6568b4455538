//! The daemon as a library, by the example that shows it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::SHELF;
use crate::support::needs::{lacks_program, workspace};
use crate::support::shelf::{Finished, Shelf};

/// The example, which a run of all tests has built already.
fn example() -> PathBuf {
    let built = Path::new(SHELF).with_file_name("examples/embed_daemon");
    if !built.exists() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args([
            "build",
            "--quiet",
            "--package",
            "cli",
            "--example",
            "embed_daemon",
        ]);
        assert!(cargo.current_dir(workspace()).status().unwrap().success());
    }
    built
}

#[test]
fn a_program_lists_and_calls_without_a_mount() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    let said = |id: &str, arguments: &str| -> Finished {
        let mut command = shelf.command(example());
        Finished::of(command.arg(shelf.path("mcp.json")).args([id, arguments]))
    };
    let worked = said("fake/add", r#"{"a": 1, "b": 2}"#).succeeds();
    assert!(worked.contains("fake/echo — Says it again."), "{worked}");
    assert!(
        worked.contains(r#""structuredContent":{"sum":3}"#),
        "{worked}"
    );
    shelf.wait_until_nothing_is_left();
    let failed = said("fake/no_such_tool", "{}");
    assert!(
        failed.code != 0 && failed.stderr.contains("no_such_tool"),
        "{}",
        failed.stderr
    );
    shelf.wait_until_nothing_is_left();
}
