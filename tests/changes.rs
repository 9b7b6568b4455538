//! What changes while a shelf is mounted shows without mounting it again, through the kernel's year-long cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::needs::lacks_mount;
use crate::support::shelf::Shelf;
use crate::support::wait_until;

/// The names in a directory of the mount.
fn names(shelf: &Shelf, directory: &str) -> Vec<String> {
    let entries = fs::read_dir(shelf.mounted(directory)).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn skills_come_change_move_and_go() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("one", "The first skill.");
    shelf.mount();
    assert_eq!(names(&shelf, "skills"), ["INDEX.md", "one"]);

    shelf.skill("two", "The second skill.");
    wait_until("a new one shows", || {
        names(&shelf, "skills").contains(&"two".into())
    });
    shelf.wait_for_text("INDEX.md", |index| {
        index.contains("skills/two — The second skill.")
    });
    shelf.skill("two", "Another description.");
    shelf.wait_for_text("INDEX.md", |index| {
        index.contains("skills/two — Another description.")
    });
    assert!(
        shelf
            .read("skills/two/SKILL.md")
            .contains("Another description.")
    );

    shelf.write("skills/two/scripts/run.sh", "echo run");
    wait_until("a new file shows", || {
        names(&shelf, "skills/two").contains(&"scripts".into())
    });
    assert_eq!(shelf.read("skills/two/scripts/run.sh"), "echo run");

    fs::rename(shelf.path("skills/two"), shelf.path("skills/three")).unwrap();
    wait_until("its name changes", || {
        names(&shelf, "skills") == ["INDEX.md", "one", "three"]
    });
    assert!(!shelf.mounted("skills/two/SKILL.md").exists());
    fs::remove_dir_all(shelf.path("skills/three")).unwrap();
    wait_until("it goes", || names(&shelf, "skills") == ["INDEX.md", "one"]);
    shelf.wait_for_text("INDEX.md", |index| !index.contains("three"));
    fs::remove_file(shelf.path("skills/one/SKILL.md")).unwrap();
    wait_until("without its SKILL.md it is none", || {
        names(&shelf, "skills") == ["INDEX.md"]
    });
}

#[test]
fn the_next_cat_is_never_old() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("one", "The first skill.");
    shelf.write("skills/one/notes.txt", "0");
    shelf.mount();
    for file in ["skills/one/notes.txt", "skills/one/SKILL.md"] {
        for version in 1..=50 {
            let text = format!("---\ndescription: Version {version}.\n---\n");
            // Replaced, as editors do it: in between there is no version without text.
            let written = shelf.write("written", &text);
            fs::rename(written, shelf.path(file)).unwrap();
            assert_eq!(shelf.read(file), text, "at once");
        }
    }
}

#[test]
fn an_open_file_keeps_the_bytes_that_it_was_opened_with() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    let source = shelf.skill("one", "The first skill.");
    shelf.mount();
    let before = shelf.read("skills/one/SKILL.md");
    let mut open = fs::File::open(shelf.mounted("skills/one/SKILL.md")).unwrap();
    fs::write(source, "---\ndescription: The second.\n---\n").unwrap();
    shelf.wait_for_text("skills/one/SKILL.md", |text| text.contains("The second."));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut open, &mut text).unwrap();
    assert_eq!(text, before);
}

#[test]
fn a_running_server_says_that_its_tools_changed() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.servers(
        json!({ "modern": shelf.fake(&["--modern"]), "legacy": shelf.fake(&["--legacy"]) }),
    );
    shelf.mount();
    for server in ["modern", "legacy"] {
        let directory = format!("mcp/{server}");
        let before = names(&shelf, &directory);
        shelf.call(&[&format!("{server}/change")]);
        let added = format!("{server}/added_0");
        shelf.wait_for_text("ALL.md", |all| all.contains(&added));
        let after = names(&shelf, &directory);
        assert!(after.len() > before.len());
        assert!(after.contains(&"added_0.md".into()));
        shelf.wait_for_text("CHANGES.md", |changes| {
            changes.contains(&format!("+ {added}"))
        });
        // The fake server does not run what it added, so the answer is its own.
        let said = shelf.run(&["call", &added]).fails(1);
        assert!(said.contains("no tool added_0"), "{said}");
    }
}

#[test]
fn servers_come_change_and_go_with_the_configuration() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("one", &["--starts", "one.starts"]);
    shelf.mount();
    let one = shelf.fake(&["--starts", "one.starts"]);
    shelf.servers(json!({ "one": one, "two": shelf.fake(&[]) }));
    shelf.wait_for_text("INDEX.md", |index| {
        index.contains("two/echo — Says it again.")
    });
    assert_eq!(names(&shelf, "mcp"), ["one", "two"]);
    assert_eq!(shelf.starts("one.starts"), 1, "one did not change");

    shelf.servers(json!({ "one": one, "two": shelf.fake(&["--tools", "2"]) }));
    shelf.wait_for_text("mcp/two/INDEX.md", |index| index.contains("extra_1"));
    shelf.servers(json!({ "two": shelf.fake(&["--tools", "1"]) }));
    shelf.wait_for_text("INDEX.md", |index| {
        !index.contains("one/echo") && !index.contains("extra_1")
    });
    assert_eq!(names(&shelf, "mcp"), ["two"]);
    shelf.run(&["call", "one/echo", "--text", "x"]).fails(3);

    let changes = shelf.read("CHANGES.md");
    for line in ["+ two/", "+ two/extra_1", "- two/extra_1", "- one"] {
        assert!(changes.contains(line), "{line}: {changes}");
    }
    shelf.unmount();
    shelf.mount();
    assert_eq!(shelf.read("CHANGES.md"), changes, "across mounts");
}

#[test]
fn a_broken_configuration_changes_nothing_and_is_said_with_its_line() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("one", &[]);
    shelf.mount();
    let index = shelf.read("INDEX.md");
    shelf.write("mcp.json", "{\n  \"mcpServers\": {\n    \"one\": oops\n");
    let place = format!("{}:3", shelf.path("mcp.json").display());
    wait_until("it is said", || {
        shelf.run(&["status"]).stdout.contains(&place)
    });
    assert_eq!(shelf.read("INDEX.md"), index);
    assert_eq!(shelf.call(&["one/echo", "--text", "still"]), "still");

    shelf.servers(json!({ "one": shelf.fake(&[]), "two": shelf.fake(&[]) }));
    shelf.wait_for_text("INDEX.md", |index| index.contains("two/echo"));
    assert_eq!(shelf.status()["problems"], json!([]), "it is mended");
}

#[test]
fn a_configuration_that_is_a_link_is_followed() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("one", &[]);
    let kept = shelf.path("kept/elsewhere.json");
    fs::create_dir(kept.parent().unwrap()).unwrap();
    fs::rename(shelf.path("mcp.json"), &kept).unwrap();
    symlink(&kept, shelf.path("mcp.json")).unwrap();
    shelf.mount();
    let write = |path: &Path, name: &str| {
        let config = json!({ "mcpServers": { name: shelf.fake(&[]) } });
        fs::write(path, config.to_string()).unwrap();
    };
    write(&kept, "edited");
    shelf.wait_for_text("INDEX.md", |index| index.contains("edited/echo"));
    let other = shelf.path("other.json");
    write(&other, "relinked");
    symlink(&other, shelf.path("link")).unwrap();
    fs::rename(shelf.path("link"), shelf.path("mcp.json")).unwrap();
    shelf.wait_for_text("INDEX.md", |index| index.contains("relinked/echo"));
    write(&other, "again");
    shelf.wait_for_text("INDEX.md", |index| index.contains("again/echo"));
}

#[test]
fn an_edit_while_the_daemon_starts_is_seen() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("one", &["--slow-start", "2", "--starts", "starts"]);
    std::thread::scope(|scope| {
        let mounting = scope.spawn(|| shelf.mount());
        wait_until("the server is asked", || shelf.starts("starts") == 1);
        shelf.servers(json!({ "two": shelf.fake(&[]) }));
        mounting.join().unwrap();
    });
    shelf.wait_for_text("INDEX.md", |index| {
        index.contains("two/echo") && !index.contains("one")
    });
}

#[test]
fn the_journal_says_what_changed_while_nothing_was_mounted() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("kept", "Stays.");
    shelf.skill("edited", "Before.");
    shelf.skill("removed", "Goes.");
    shelf.mount();
    shelf.unmount();
    shelf.skill("edited", "After.");
    shelf.skill("added", "Comes.");
    fs::remove_dir_all(shelf.path("skills/removed")).unwrap();
    shelf.mount();
    let changes = shelf.read("CHANGES.md");
    for line in ["~ skills/edited", "+ skills/added", "- skills/removed"] {
        assert!(changes.contains(line), "{line}: {changes}");
    }
    assert!(!changes.contains("~ skills/kept"), "{changes}");
}
