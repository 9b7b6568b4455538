//! The first minutes of a user: the commands with which the README opens, as they are typed.

use serde_json::{Value, json};

use crate::support::needs::lacks_mount;
use crate::support::shelf::Shelf;

/// A shelf with one server, which has a tool `echo`, and one skill.
fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("everything", &[]);
    shelf.skill("screenshots", "Takes a screenshot of a page.");
    shelf
}

#[test]
fn the_commands_of_the_first_minute_work_as_they_are_typed() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let said = shelf
        .shell("shelf mount mount --config mcp.json --skills skills")
        .succeeds();
    assert!(said.contains(" entries in "), "{said}");
    let names = shelf.shell("ls mount").succeeds();
    assert_eq!(
        names.lines().collect::<Vec<_>>(),
        [
            "ALL.md",
            "CHANGES.md",
            "INDEX.md",
            "README.md",
            "bin",
            "mcp",
            "search",
            "skills"
        ]
    );
    let index = shelf.shell("cat mount/INDEX.md").succeeds();
    assert!(
        index.contains("everything/echo — Says it again."),
        "{index}"
    );
    assert!(
        index.contains("skills/screenshots — Takes a screenshot"),
        "{index}"
    );
    let found = shelf.shell("grep -ril SCREENSHOT mount/skills").succeeds();
    assert!(
        found.contains("mount/skills/screenshots/SKILL.md"),
        "{found}"
    );
    let definition = shelf.shell("cat mount/mcp/everything/echo.md").succeeds();
    assert!(
        definition.contains("shelf call everything/echo --text"),
        "{definition}"
    );
    let result = shelf
        .shell("shelf call everything/echo --text hello | tr a-z A-Z")
        .succeeds();
    assert_eq!(result.trim(), "HELLO");
    let status = shelf.shell("shelf status").succeeds();
    assert!(
        status.contains("everything") && status.contains("ready"),
        "{status}"
    );
    shelf.wait_for_line("the call", |line| line["event"] == "call");
    let log = shelf.shell("shelf log").succeeds();
    for part in ["mcp/everything/echo.md", "call", "INDEX.md"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    shelf.shell("shelf unmount mount").succeeds();
    shelf.wait_until_nothing_is_left();
    assert_eq!(shelf.shell("ls -A mount").succeeds(), "");
}

#[test]
fn whatever_a_script_may_read_is_json() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&shelf.run(arguments).succeeds()).unwrap()
    };
    let mounted: Value = serde_json::from_str(&shelf.mount_with(&["--json"]).succeeds()).unwrap();
    assert_eq!(mounted["mount_point"], json!(shelf.path("mount")));
    assert_eq!(mounted["problems"], json!([]));
    let entries = mounted["entries"].as_u64().unwrap();

    let status = json(&["status", "--json"]);
    assert_eq!(status["servers"][0]["name"], "everything");
    assert_eq!(status["tools"].as_u64().unwrap() + 1, entries);
    let list = json(&["list", "--json", "--kind", "skill"]);
    assert_eq!(list["entries"][0]["id"], "skills/screenshots");
    let shown = json(&["show", "--json", "everything/echo"]);
    assert_eq!(shown["text"], shelf.read("mcp/everything/echo.md"));
    let called = json(&["call", "--json", "everything/add", "--a", "1", "--b", "2"]);
    assert_eq!(called["structuredContent"]["sum"], 3);
    let line = shelf.wait_for_line("the call", |line| line["event"] == "call");
    assert_eq!(line["entry"], "everything/add");
}

#[test]
fn an_entry_is_named_by_its_id_or_by_any_path_to_it() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.mount();
    let by_id = shelf.run(&["show", "everything/echo"]).succeeds();
    let absolute = shelf.mounted("mcp/everything/echo.md");
    let schema = shelf.mounted(".schemas/everything/echo.json");
    for path in [
        "mount/mcp/everything/echo.md",
        "./mount/mcp/everything/echo.md",
        absolute.to_str().unwrap(),
        schema.to_str().unwrap(),
    ] {
        assert_eq!(shelf.run(&["show", path]).succeeds(), by_id, "{path}");
    }
    let skill = shelf
        .run(&["show", "./mount/skills/screenshots"])
        .succeeds();
    assert_eq!(skill, shelf.read("skills/screenshots/SKILL.md"));
    let missing = shelf.run(&["show", "everything/ecko"]).fails(3);
    assert!(missing.contains("everything/echo"), "{missing}");
    let elsewhere = shelf.run(&["show", "./mcp.json"]).fails(3);
    assert!(elsewhere.contains("mount"), "{elsewhere}");
}
