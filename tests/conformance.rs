//! The conformance suite of the protocol, with `shelf` as the client that it tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::SHELF;
use crate::support::needs::{lacks_program, real_servers, workspace};

/// Runs one scenario and holds every check of it to what the suite says.
fn passes(revision: &str, scenario: &str) {
    let Some(programs) = real_servers().filter(|_| !lacks_program("python3")) else {
        return;
    };
    let results = tempfile::tempdir().unwrap();
    let client = workspace().join("tests/conformance/client.py");
    let suite = Command::new(programs.join("node22"))
        .arg(programs.join("conformance"))
        .args(["client", "--scenario", scenario, "--spec-version", revision])
        .args(["--timeout", "120000"])
        .arg("--command")
        .arg(format!("python3 {}", client.display()))
        .arg("--output-dir")
        .arg(results.path())
        .env("SHELF", SHELF)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&suite.stdout),
        String::from_utf8_lossy(&suite.stderr)
    );
    let checks = checks(results.path()).unwrap_or_else(|| panic!("no checks: {said}"));
    let passed = checks.iter().filter(|check| check["status"] == "SUCCESS");
    assert!(passed.count() > 0, "{said}");
    for check in &checks {
        let status = check["status"].as_str().unwrap();
        assert!(
            ["SUCCESS", "INFO", "SKIPPED"].contains(&status),
            "{check:#}\n{said}"
        );
    }
    assert!(suite.status.success(), "{said}");
}

/// What the suite wrote of the one scenario.
fn checks(results: &Path) -> Option<Vec<Value>> {
    let mut pending = vec![results.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.ends_with("checks.json") {
                return serde_json::from_slice(&fs::read(path).unwrap()).ok();
            }
        }
    }
    None
}

/// A test for each scenario, so that one that fails is named.
macro_rules! scenarios {
    ($revision:literal: $($name:ident $scenario:literal)*) => {
        $(#[test]
        fn $name() {
            passes($revision, $scenario);
        })*
    };
}

mod earlier {
    use super::passes;

    scenarios! { "2025-11-25":
        initialize "initialize"
        tools_call "tools_call"
        sse_retry "sse-retry"
        elicitation_defaults "elicitation-sep1034-client-defaults"
        schema_preservation "json-schema-2020-12-preservation"
    }
}

mod later {
    use super::passes;

    scenarios! { "2026-07-28":
        tools_call "tools_call"
        request_metadata "request-metadata"
        request_state "sep-2322-client-request-state"
        standard_headers "http-standard-headers"
        custom_headers "http-custom-headers"
        invalid_tool_headers "http-invalid-tool-headers"
        no_dereference "json-schema-ref-no-deref"
        schema_preservation "json-schema-2020-12-preservation"
    }
}
