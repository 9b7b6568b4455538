//! What is remembered, who trusts what changed, and what that comes to.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, workspace};
use crate::support::pinned::{configure, describe, mount, place, restart, wait_for_change};
use crate::support::processes::signal;
use crate::support::shelf::Finished;
use crate::support::{SHELF, wait_until};

#[test]
fn two_daemons_of_a_catalog_trust_the_same() {
    if lacks_mount() {
        return;
    }
    let shelf = place("strict");
    mount(&shelf);
    let mirror = ["mirror", "other", "--config", "mcp.json"];
    shelf.run(&mirror).succeeds();
    let other = || fs::read_to_string(shelf.path("other/skills/pdf/SKILL.md")).unwrap();
    shelf.skill("pdf", "Sends files elsewhere.");
    let status = |place: &str| shelf.run(&["status", place]).succeeds();
    for place in ["mount", "other"] {
        wait_until("both hold it back", || {
            status(place).contains("shelf trust skills/pdf")
        });
    }
    assert!(other().contains("Reads PDF files."));
    let changes = |place: &str| {
        let id = shelf.path(place).join("skills/pdf");
        shelf
            .run(&["changes", "--diff", id.to_str().unwrap()])
            .succeeds()
    };
    let told = changes("mount");
    assert_eq!(told.matches("? skills/pdf").count(), 1, "{told}");
    assert_eq!(changes("other"), told);
    let entry = shelf.path("other/skills/pdf/SKILL.md");
    shelf
        .run(&["trust", "--yes", entry.to_str().unwrap()])
        .succeeds();
    wait_until("both serve it", || {
        other().contains("elsewhere") && shelf.read("skills/pdf/SKILL.md").contains("elsewhere")
    });
    wait_until("nothing is left to trust", || {
        ["mount", "other"]
            .iter()
            .all(|place| !status(place).contains("not trusted"))
    });
    assert_eq!(changes("mount").matches("~ skills/pdf").count(), 1);
    shelf.run(&["unmount", "other"]).succeeds();
}

#[test]
fn without_the_ledger_nothing_is_known_and_a_damaged_one_trusts_nothing() {
    if lacks_mount() {
        return;
    }
    let shelf = place("strict");
    mount(&shelf);
    shelf.unmount();
    let pins = fs::read_dir(shelf.path("state/toolshelf/pins")).unwrap();
    let ledger = pins
        .map(|pins| pins.unwrap().path())
        .next()
        .unwrap()
        .join("ledger.json");
    let good = fs::read(&ledger).unwrap();
    fs::write(&ledger, &good[..good.len() / 2]).unwrap();
    let mounted = mount(&shelf);
    assert!(
        mounted.stderr.contains("the pins can't be used"),
        "{}",
        mounted.stderr
    );
    assert!(!shelf.mounted("skills/pdf").exists() && !shelf.mounted("mcp/fake/echo.md").exists());
    shelf.run(&["call", "fake/echo", "--text", "x"]).fails(3);
    assert_eq!(
        fs::read(&ledger).unwrap().len(),
        good.len() / 2,
        "it stays as it is"
    );
    let offline = shelf
        .command(SHELF)
        .args(["list", "--config", "mcp.json"])
        .env("XDG_RUNTIME_DIR", shelf.path("home"))
        .output();
    let said = Finished::from(offline.unwrap()).fails(70);
    assert!(said.contains("the pins can't be used"), "{said}");
    let said = shelf.run(&["trust", "--all", "--yes"]).fails(70);
    assert!(said.contains("the pins can't be used"), "{said}");
    // Restored, it counts at once.
    fs::write(&ledger, &good).unwrap();
    wait_until("everything is back", || {
        shelf.mounted("skills/pdf").exists() && shelf.mounted("mcp/fake/echo.md").exists()
    });
    shelf.unmount();
    fs::write(&ledger, "oops").unwrap();
    configure(&shelf, "off", &Value::Null);
    let mounted = mount(&shelf);
    assert!(
        mounted.stderr.contains("the pins can't be used"),
        "{}",
        mounted.stderr
    );
    let status = shelf.run(&["status"]).succeeds();
    assert!(status.contains("begun anew"), "{status}");
    assert!(
        shelf.mounted("skills/pdf").exists(),
        "where nothing is strict"
    );
}

#[test]
fn only_approvers_trust() {
    if lacks_mount() {
        return;
    }
    let shelf = place("strict");
    configure(&shelf, "strict", &json!({ "approvers": [54_321] }));
    mount(&shelf);
    shelf.skill("pdf", "Sends files elsewhere.");
    wait_for_change(&shelf, "? skills/pdf");
    let said = shelf.run(&["trust", "--yes", "skills/pdf"]).fails(5);
    assert!(said.contains("do not count here"), "{said}");
    assert!(
        shelf
            .read("skills/pdf/SKILL.md")
            .contains("Reads PDF files.")
    );
    // Switched off, everything is served as it is.
    configure(&shelf, "off", &Value::Null);
    shelf.wait_for_text("skills/pdf/SKILL.md", |text| text.contains("elsewhere"));
}

#[test]
fn on_a_terminal_it_is_asked_and_only_a_yes_trusts() {
    if lacks_mount() {
        return;
    }
    let shelf = place("strict");
    mount(&shelf);
    shelf.skill("pdf", "Sends\u{202e} files\u{1b}[2K elsewhere.");
    wait_for_change(&shelf, "? skills/pdf");
    let answer = |answer: &str| {
        let program = workspace().join("tests/servers/terminal.py");
        let mut command = shelf.command("python3");
        command
            .arg(program)
            .args(["y\n", "[N]o: ", answer, SHELF, "trust", "skills/pdf"]);
        Finished::of(&mut command)
    };
    let said = answer("n\n");
    assert_eq!(said.code, 5, "{}", said.stdout);
    assert!(
        said.stdout
            .contains("Sends\\u{202e} files\\u{1b}[2K elsewhere."),
        "{}",
        said.stdout
    );
    assert!(
        shelf
            .read("skills/pdf/SKILL.md")
            .contains("Reads PDF files.")
    );
    let said = answer("y\n");
    assert_eq!(said.code, 0, "{}", said.stdout);
    shelf.wait_for_text("skills/pdf/SKILL.md", |text| text.contains("elsewhere"));
}

#[test]
fn without_strict_pins_a_change_is_served_and_told_with_its_difference() {
    if lacks_mount() {
        return;
    }
    let shelf = place("off");
    shelf.write("skills/pdf/logo.png", b"\x89PNG\0old");
    mount(&shelf);
    // What was never recorded has no version before it.
    wait_until("it is remembered", || {
        let diff = shelf
            .run(&["changes", "--diff", "skills/pdf", "fake/echo"])
            .succeeds();
        diff.contains("skills/pdf is as it was on") && diff.contains("fake/echo is as it was on")
    });
    shelf.write("skills/pdf/scripts/run.sh", "echo second\n");
    shelf.write("skills/pdf/logo.png", b"\x89PNG\0newer");
    wait_for_change(&shelf, "~ skills/pdf");
    shelf.wait_for_text("CHANGES.md", |changes| changes.contains("~ skills/pdf"));
    let diff = shelf.run(&["changes", "--diff"]).succeeds();
    assert!(
        diff.contains("--- skills/pdf/scripts/run.sh (before)\n"),
        "{diff}"
    );
    assert!(diff.contains("\n-echo first\n+echo second\n"), "{diff}");
    assert!(
        diff.contains("differs: skills/pdf/logo.png, 8 bytes, now 10 bytes\n"),
        "{diff}"
    );
    describe(&shelf, "Says it twice.");
    restart(&shelf);
    shelf.wait_for_text("mcp/fake/echo.md", |text| text.contains("Says it twice."));
    let diff = shelf.run(&["changes", "--diff", "fake/echo"]).succeeds();
    assert!(
        diff.contains("\n-  \"description\": \"Says it again.\",\n"),
        "{diff}"
    );
    assert!(!diff.contains("skills/pdf"), "{diff}");
    // The same without a daemon.
    shelf.unmount();
    let offline = shelf.run(&["changes", "--config", "mcp.json", "--diff", "fake/echo"]);
    assert_eq!(offline.succeeds(), diff);
    let said = shelf
        .run(&["changes", "--config", "mcp.json", "--diff", "fake/ech"])
        .fails(3);
    assert!(said.contains("fake/echo"), "{said}");

    // Trusting makes now what the next one is compared with.
    shelf
        .run(&["trust", "--config", "mcp.json", "--yes", "fake/echo"])
        .succeeds();
    let told = shelf
        .run(&["changes", "--config", "mcp.json", "--diff", "fake/echo"])
        .succeeds();
    assert!(told.contains("fake/echo is as it was on"), "{told}");
    wait_until("the daemon that this started ends", || {
        for (pid, _) in shelf.running() {
            signal(pid, Signal::TERM);
        }
        shelf.running().is_empty()
    });
}
