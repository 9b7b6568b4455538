//! `shelf mirror --once`: the same tree as plain files.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::support::needs::{lacks_mount, lacks_program};
use crate::support::processes::signal;
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

fn mirror(shelf: &Shelf) -> Finished {
    shelf.run(&[
        "mirror", "mirror", "--once", "--config", "mcp.json", "--skills", "skills",
    ])
}

#[test]
fn a_mirror_is_the_mount_as_plain_files() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--tools", "5"]);
    shelf.skill("one", "A skill.");
    let script = shelf.write("skills/one/run.sh", "#!/bin/sh\necho ran\n");
    fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    shelf.mount();
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("cold"));
    shelf.wait_until_counted();
    mirror(&shelf).succeeds();
    // But for what can only be in a mount.
    let differences = shelf.shell("diff -r mount mirror").stdout;
    assert_eq!(differences, "Only in mount: search\n");
    assert_eq!(shelf.shell("mirror/skills/one/run.sh").succeeds(), "ran\n");
}

#[test]
fn what_is_written_once_has_counts_and_no_estimates() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--tools", "5"]);
    shelf.skill("one", "A skill.");
    mirror(&shelf).succeeds();
    let heads = shelf.shell("head -qn1 mirror/mcp/fake/INDEX.md mirror/skills/INDEX.md");
    let heads = heads.succeeds();
    assert_eq!(heads.matches(" tokens\n").count(), 2, "{heads}");
    assert!(!heads.contains('≈'), "{heads}");
}

#[test]
fn a_second_time_it_writes_nothing_and_then_only_what_changed() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.skill("one", "A skill.");
    shelf.skill("two", "Another skill.");
    mirror(&shelf).succeeds();
    let state = || {
        shelf
            .shell("find mirror -printf '%p %i %C@\\n' | sort")
            .succeeds()
    };
    let first = state();
    mirror(&shelf).succeeds();
    assert_eq!(state(), first);

    fs::remove_dir_all(shelf.path("skills/two")).unwrap();
    shelf.servers(json!({}));
    mirror(&shelf).succeeds();
    assert!(!shelf.path("mirror/skills/two").exists());
    assert!(!shelf.path("mirror/mcp/fake").exists());
    let all = fs::read_to_string(shelf.path("mirror/ALL.md")).unwrap();
    assert!(
        all.contains("skills/one") && !all.contains("fake/"),
        "{all}"
    );
}

#[test]
fn what_a_user_wrote_or_changed_stays() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    let skill = shelf.skill("one", "A skill.");
    shelf.write("mirror/notes.txt", "mine");
    shelf.write("mirror/mcp/fake/echo.md", "mine too");
    let first = mirror(&shelf);
    assert_eq!(first.code, 0);
    assert!(
        first.stderr.contains("echo.md"),
        "it is said: {}",
        first.stderr
    );
    let changed = shelf.write("mirror/skills/one/SKILL.md", "changed by me");
    fs::write(skill, "---\ndescription: A new version.\n---\n").unwrap();
    let second = mirror(&shelf);
    assert_eq!(second.code, 0);
    let said = second.stderr;
    assert!(said.contains("so it stays"), "{said}");
    assert_eq!(fs::read_to_string(changed).unwrap(), "changed by me");
    assert_eq!(
        fs::read_to_string(shelf.path("mirror/notes.txt")).unwrap(),
        "mine"
    );
    assert_eq!(
        fs::read_to_string(shelf.path("mirror/mcp/fake/echo.md")).unwrap(),
        "mine too"
    );
}

#[test]
fn a_mirror_that_could_not_be_written_whole_fails_and_says_everything() {
    let shelf = Shelf::new();
    shelf.skill("one", "A skill.");
    for name in ["large", "larger"] {
        shelf.write(&format!("skills/one/{name}"), vec![b'x'; 200_000]);
    }
    // No file may grow beyond 64 KiB.
    let mirror = shelf.shell(
        "trap '' XFSZ; ulimit -f 64; shelf mirror mirror --once --config mcp.json --skills skills",
    );
    assert_eq!(mirror.code, 6, "{}", mirror.stderr);
    assert_eq!(mirror.stdout, "");
    for said in [
        "skills/one/large: ",
        "skills/one/larger: ",
        "2 of its files",
    ] {
        assert!(mirror.stderr.contains(said), "{}", mirror.stderr);
    }
    assert!(!mirror.stderr.contains("shelf status"), "no daemon remains");
    assert!(shelf.path("mirror/skills/one/SKILL.md").exists());
}

#[test]
fn a_mirror_that_is_interrupted_writes_nothing() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("slow", &["--slow-start", "600", "--starts", "starts"]);
    let mut command = shelf.command(SHELF);
    command.args([
        "mirror", "mirror", "--once", "--config", "mcp.json", "--wait", "600",
    ]);
    let mut child = command.spawn().unwrap();
    wait_until("the server is asked", || shelf.starts("starts") == 1);
    signal(child.id().cast_signed(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!shelf.path("mirror/INDEX.md").exists());
}

#[test]
fn a_mirror_waits_for_definitions_that_are_old() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    mirror(&shelf).succeeds();
    shelf.servers(json!({ "fake": shelf.fake(&["--tools", "1"]) }));
    mirror(&shelf).succeeds();
    assert!(shelf.path("mirror/mcp/fake/extra_0.md").exists());
}
