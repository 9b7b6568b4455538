//! `shelf lint`: what it prints, its exit codes, and that it leaves nothing.

use std::fs;

use serde_json::{Value, json};

use crate::support::shelf::Shelf;

/// A place with a skill that has one warning, and in `broken` one that has an error.
fn shelf() -> Shelf {
    let shelf = Shelf::new();
    shelf.write(
        "skills/pack/SKILL.md",
        "---\nname: pack\ndescription: Packs boxes.\nversion: 2\n---\n",
    );
    shelf.write("broken/bad/SKILL.md", "# Bad\n");
    shelf.write("mcp.json", r#"{ "mcpServers": {}, "skills": ["skills"] }"#);
    shelf
}

const WARNING: &str = "skills/pack/SKILL.md:4: warning: the specification has no field \"version\" \
    (move it below `metadata`, unless it is meant for one client alone)\n";

#[test]
fn paths_are_checked_and_warnings_fail_only_when_strict() {
    let shelf = shelf();
    for path in ["skills", "skills/pack", "./skills/pack/SKILL.md"] {
        let finished = shelf.run(&["lint", path]);
        assert_eq!(finished.stderr, "1 skill: 0 errors, 1 warning\n");
        assert_eq!(finished.succeeds(), WARNING);
    }
    let strict = shelf.run(&["lint", "--strict", "skills"]);
    assert_eq!((strict.code, &*strict.stdout), (1, WARNING));
}

#[test]
fn errors_fail_and_stand_in_the_order_of_their_paths() {
    let shelf = shelf();
    let finished = shelf.run(&["lint", "skills", "broken"]);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(
        lines[0].starts_with("broken/bad/SKILL.md:1: error: no frontmatter (begin the file"),
        "{lines:?}"
    );
    assert_eq!(lines[1], WARNING.trim_end());
    assert_eq!(finished.code, 1);
}

#[test]
fn json_gives_the_problems_with_their_severity() {
    let shelf = shelf();
    let printed = shelf.run(&["lint", "--json", "skills"]).succeeds();
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        printed,
        json!({
            "skills": 1,
            "findings": [{
                "severity": "warning",
                "kind": "skill-warning",
                "location": { "file": { "path": "skills/pack/SKILL.md", "line": 4 } },
                "message": "the specification has no field \"version\"",
                "hint": "move it below `metadata`, unless it is meant for one client alone",
            }],
        })
    );
}

#[test]
fn without_a_path_it_is_the_configuration_and_nothing_is_left() {
    let shelf = shelf();
    let finished = shelf.run(&["lint", "--config", "mcp.json"]);
    let path = shelf.path(WARNING.trim_end());
    assert_eq!(
        finished.succeeds().trim_end(),
        path.to_str().unwrap(),
        "the skills of the configuration"
    );
    assert_eq!(shelf.running(), []);
    for directory in ["home", "runtime"] {
        let left = fs::read_dir(shelf.path(directory)).unwrap().count();
        assert_eq!(left, 0, "{directory}");
    }
}

#[test]
fn where_there_is_nothing_to_check_it_says_so() {
    let shelf = shelf();
    shelf.write("empty/README.md", "");
    let nothing = shelf.run(&["lint", "empty"]).fails(3);
    assert!(nothing.contains("there is no skill to check"), "{nothing}");
    let missing = shelf.run(&["lint", "gone"]).fails(2);
    assert!(missing.contains("gone: can't be read"), "{missing}");
    let other = shelf.run(&["lint", "empty/README.md"]).fails(2);
    assert!(
        other.contains("neither a directory nor a SKILL.md"),
        "{other}"
    );
}

#[test]
fn loading_says_no_more_than_before() {
    let shelf = shelf();
    let listed = shelf.run(&["list", "--config", "mcp.json"]);
    assert_eq!(listed.stderr, "");
    assert_eq!(listed.succeeds(), "skills/pack — Packs boxes.\n");
}
