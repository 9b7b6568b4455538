//! `shelf mirror`: plain files that are kept current, with the socket and the commands of a mount.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::support::needs::{lacks_program, lacks_root};
use crate::support::processes::{freeze, signal};
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

fn mirrored(options: &[&str]) -> Shelf {
    let shelf = Shelf::with_fake("fake", options);
    shelf.skill("one", "A skill.");
    let said = shelf.mirror();
    assert!(said.stdout.contains("/mount: "), "{}", said.stdout);
    assert_eq!(said.stderr, "");
    shelf
}

#[test]
fn it_is_kept_current() {
    if lacks_program("python3") {
        return;
    }
    let shelf = mirrored(&[]);
    assert!(shelf.read("INDEX.md").contains("fake/echo"));
    let skill = shelf.skill("one", "A skill that was edited.");
    shelf.wait_for_text("skills/one/SKILL.md", |text| text.contains("edited"));
    shelf.wait_for_text("ALL.md", |text| text.contains("edited"));
    shelf.skill("two", "Another skill.");
    shelf.wait_for_text("INDEX.md", |text| text.contains("skills/two"));
    fs::remove_dir_all(skill.parent().unwrap()).unwrap();
    wait_until("the skill is gone", || {
        !shelf.mounted("skills/one").exists()
    });

    shelf.servers(json!({ "fake": shelf.fake(&["--tools", "1"]), "more": shelf.fake(&[]) }));
    shelf.wait_for_text("mcp/fake/extra_0.md", |text| !text.is_empty());
    shelf.wait_for_text("mcp/more/echo.md", |text| !text.is_empty());
    shelf.wait_for_text("CHANGES.md", |text| text.contains("skills/one"));
    shelf.run(&["unmount", "mount"]).succeeds();

    // And it is what would be written at once.
    let once = [
        "mirror", "again", "--once", "--config", "mcp.json", "--skills", "skills",
    ];
    shelf.run(&once).succeeds();
    assert_eq!(shelf.shell("diff -r mount again").succeeds(), "");
}

#[test]
fn its_end_leaves_the_files_and_no_server_that_seems_to_run() {
    if lacks_program("python3") {
        return;
    }
    let shelf = mirrored(&[]);
    assert_eq!(shelf.call(&["fake/echo", "--text", "x"]), "x");
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("ready"));
    shelf.run(&["unmount", "mount"]).succeeds();
    // At once: unmount returns when the last word is written.
    assert!(shelf.read("mcp/fake/STATUS").starts_with("cold"));
    assert!(shelf.read("skills/one/SKILL.md").contains("A skill."));
    shelf.wait_until_nothing_is_left();
    let again = shelf.run(&["unmount", "mount"]).fails(3);
    assert!(again.contains("no shelf is mounted here"), "{again}");
}

#[test]
fn every_command_takes_a_path_in_it() {
    if lacks_program("python3") {
        return;
    }
    let shelf = mirrored(&[]);
    let path = "./mount/mcp/fake/echo.md";
    assert_eq!(shelf.call(&[path, "--text", "x"]), "x");
    assert_eq!(
        shelf.run(&["show", path]).succeeds(),
        shelf.read("mcp/fake/echo.md")
    );
    let skill = shelf.run(&["show", "mount/skills/one/SKILL.md"]).succeeds();
    assert_eq!(skill, shelf.read("skills/one/SKILL.md"));
    for words in [&["status"][..], &["status", "mount/mcp"]] {
        let status = shelf.run(words).succeeds();
        assert!(status.contains("/mount (opens are not seen)"), "{status}");
    }
    assert_eq!(shelf.status()["output"], "mirror");
    shelf.wait_for_line("the call", |line| line["event"] == "call");
    let calls = shelf.log(&["--entry", path]);
    assert!(
        calls.iter().any(|line| line["event"] == "call"),
        "{calls:?}"
    );
    let inside = shelf.run(&["unmount", "mount/mcp"]).fails(3);
    assert!(inside.contains("lies in a shelf"), "{inside}");
    let said = shelf.run(&["status", "skills"]).fails(3);
    assert!(said.contains("/mount"), "it is said where one is: {said}");
    shelf.unmount();
}

#[test]
fn what_a_user_changed_stays_and_is_reported_until_it_is_moved_away() {
    if lacks_program("python3") {
        return;
    }
    let shelf = mirrored(&[]);
    shelf.write("mount/notes.txt", "mine");
    shelf.write("mount/skills/one/SKILL.md", "mine too");
    shelf.skill("one", "A new version.");
    let problems = || shelf.status()["problems"].to_string();
    wait_until("it is reported", || problems().contains("SKILL.md"));
    assert_eq!(shelf.read("skills/one/SKILL.md"), "mine too");
    // What changes elsewhere is written, and does not end the report.
    shelf.skill("two", "Another skill.");
    shelf.wait_for_text("INDEX.md", |text| text.contains("skills/two"));
    wait_until("it is still reported", || problems().contains("SKILL.md"));
    fs::remove_file(shelf.mounted("skills/one/SKILL.md")).unwrap();
    shelf.skill("three", "The next change.");
    shelf.wait_for_text("skills/one/SKILL.md", |text| text.contains("new version"));
    wait_until("it is no longer reported", || problems() == "[]");
    shelf.unmount();
    assert_eq!(shelf.read("notes.txt"), "mine");
}

#[test]
fn a_directory_has_one_mirror() {
    if lacks_program("python3") {
        return;
    }
    let shelf = mirrored(&[]);
    for words in [
        &["mirror", "mount", "--skills", "skills"][..],
        &["mirror", "mount", "--once", "--skills", "skills"],
        &["mirror", "mount", "--foreground", "--skills", "skills"],
    ] {
        let said = shelf.run(words).fails(2);
        assert!(said.contains("another shelf is writing"), "{said}");
        assert!(said.contains("shelf unmount"), "{said}");
    }
    assert!(shelf.read("INDEX.md").contains("fake/echo"));
    shelf.unmount();
}

#[test]
fn its_place_may_be_any_bytes_but_not_the_root_of_all() {
    let shelf = Shelf::new();
    shelf.skill("one", "A skill.");
    let said = shelf.run(&["mirror", "/", "--skills", "skills"]).fails(2);
    assert!(said.contains("a directory of its own"), "{said}");
    let script = r"
        set -e
        m=$'m\xff'
        shelf mirror $m --skills skills >&2
        cat $m/INDEX.md
        shelf status $m
        shelf unmount $m";
    let life = shelf.shell(script).succeeds();
    assert!(life.contains("skills/one"), "{life}");
    assert!(life.contains("(opens are not seen)"), "{life}");
    shelf.wait_until_nothing_is_left();
}

#[test]
fn one_that_hangs_is_said_with_its_process() {
    let shelf = Shelf::new();
    shelf.skill("one", "A skill.");
    shelf
        .run(&["mirror", "mount", "--skills", "skills"])
        .succeeds();
    let daemon = shelf.daemon();
    freeze(daemon);
    let said = shelf
        .run(&["call", "--timeout", "500ms", "./mount/skills/one"])
        .fails(6);
    assert!(said.contains(&format!("kill -9 {daemon}")), "{said}");
    signal(daemon, Signal::CONT);
    shelf.unmount();
}

#[test]
fn in_the_foreground_it_lives_until_it_is_told_to_end() {
    if lacks_program("python3") {
        return;
    }
    for sent in [Signal::TERM, Signal::INT] {
        let shelf = Shelf::with_fake("fake", &[]);
        let mut command = shelf.command(SHELF);
        command.args(["mirror", "mount", "--config", "mcp.json", "--foreground"]);
        let mut child = command.spawn().unwrap();
        shelf.wait_for_text("INDEX.md", |text| text.contains("fake/echo"));
        assert_eq!(shelf.daemon(), child.id().cast_signed());
        signal(child.id().cast_signed(), sent);
        assert!(child.wait().unwrap().success());
        shelf.wait_until_nothing_is_left();
    }
}

#[test]
fn what_a_killed_daemon_left_is_taken_over_by_the_next() {
    if lacks_program("python3") {
        return;
    }
    let shelf = mirrored(&[]);
    signal(shelf.daemon(), Signal::KILL);
    wait_until("everything has ended", || shelf.running().is_empty());
    shelf.skill("two", "Another skill.");
    let said = shelf.mirror();
    assert_eq!(said.stderr, "", "every file is known as its own");
    assert!(shelf.read("INDEX.md").contains("skills/two"));
    shelf.unmount();
}

#[test]
fn a_directory_that_is_removed_ends_it_with_the_next_change() {
    if lacks_program("python3") {
        return;
    }
    let shelf = mirrored(&[]);
    // Not at the first try where something is being written just then.
    wait_until("the directory is removed", || {
        fs::remove_dir_all(shelf.path("mount")).is_ok() || !shelf.path("mount").exists()
    });
    shelf.skill("two", "Another skill.");
    shelf.wait_until_nothing_is_left();
    assert!(!shelf.path("mount").exists());
}

#[test]
fn it_never_takes_its_own_files_for_skills() {
    let shelf = Shelf::new();
    shelf.skill("one", "A skill.");
    let config = shelf.write("shelf.toml", "");
    let mirror = [
        "mirror",
        "mount",
        "--skills",
        "skills",
        "--config",
        "shelf.toml",
    ];
    shelf.run(&mirror).succeeds();
    // The root is the place itself, which has the mirror in it.
    fs::write(config, "skills = [\".\"]\n").unwrap();
    wait_until("the root is refused", || {
        let problems = shelf.status()["problems"].to_string();
        problems.contains("contains the shelf")
    });
    assert_eq!(shelf.status()["skill_entries"], 1);
    shelf.unmount();
}

/// A container as most are: no FUSE, a bare `/dev`, process ids of its own.
#[test]
fn where_there_is_no_fuse_it_has_a_whole_life() {
    if lacks_root() || lacks_program("unshare") || lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.skill("one", "A skill.");
    let script = "set -e
        mount -t tmpfs none /dev
        mknod -m 666 /dev/null c 1 3; mknod -m 444 /dev/urandom c 1 9
        wait_for() { for i in $(seq 1000); do if grep -qs \"$1\" \"$2\"; then return; fi; sleep 0.01; done; exit 9; }
        ! shelf mount other --config mcp.json 2>refused
        grep -q 'shelf mirror' refused
        shelf mirror mount --config mcp.json --skills skills >ready
        grep -q 'fake/echo' mount/INDEX.md
        shelf call mount/mcp/fake/echo.md --text called; echo
        mkdir skills/two; printf -- '---\\nname: two\\ndescription: New.\\n---\\n' >skills/two/SKILL.md
        wait_for skills/two mount/INDEX.md
        shelf status | grep -q 'opens are not seen'
        shelf unmount mount
        shelf list --config mcp.json | grep -q 'fake/echo'
        shelf call --config mcp.json fake/echo --text again; echo
        shelf unmount --config mcp.json";
    let mut command = shelf.command("unshare");
    command.args(["--mount", "--propagation", "private", "--pid", "--fork"]);
    command.args(["--mount-proc", "bash", "-c", script]);
    let life = Finished::of(&mut command);
    assert_eq!(life.code, 0, "{}\n{}", life.stdout, life.stderr);
    assert_eq!(life.stdout, "called\nagain\n");
}
