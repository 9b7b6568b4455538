//! What is known without a server, and what a server's state may change: `STATUS`, and nothing else.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use crate::support::needs::lacks_mount;
use crate::support::shelf::Shelf;
use crate::support::wait_until;

/// The indexes, which must not change by what a server does.
const INDEXES: [&str; 4] = ["INDEX.md", "ALL.md", "mcp/fake/INDEX.md", "CHANGES.md"];

/// The bytes and inode numbers of the indexes.
fn indexes(shelf: &Shelf) -> Vec<(String, u64)> {
    let state = |name: &&str| {
        let inode = fs::metadata(shelf.mounted(name)).unwrap().ino();
        (shelf.read(name), inode)
    };
    INDEXES.iter().map(state).collect()
}

#[test]
fn with_a_warm_cache_no_server_is_started() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--starts", "starts"]);
    shelf.mount();
    assert_eq!(shelf.starts("starts"), 1);
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("cold"));
    shelf.wait_until_counted();
    // Bytes and times are kept across mounts.
    let state =
        "cd mount && sha256sum $(find . -type f | sort) && find . -printf '%p %T@\\n' | sort";
    let before = shelf.shell(state).succeeds();
    shelf.unmount();
    shelf.mount();
    assert_eq!(shelf.shell(state).succeeds(), before);
    // Nor is the tokenizer loaded, since every count is known.
    let [(daemon, _)] = &shelf.running()[..] else {
        panic!("the daemon alone: {:?}", shelf.running());
    };
    let threads = format!("cat /proc/{daemon}/task/*/comm");
    let threads = shelf.shell(&threads).succeeds();
    assert!(threads.contains("catalog"), "{threads}");
    assert!(!threads.contains("tokens"), "{threads}");
    // Reading everything starts nothing either.
    shelf.shell("cat mount/mcp/fake/* mount/.schemas/fake/* >/dev/null; grep -r x mount; ls -lR mount; du mount").succeeds();
    assert!(shelf.read("mcp/fake/STATUS").starts_with("cold"));
    assert_eq!(shelf.starts("starts"), 1);
    assert_eq!(shelf.running().len(), 1, "the daemon alone");
    shelf.call(&["fake/echo", "--text", "x"]);
    assert_eq!(shelf.starts("starts"), 2);
}

#[test]
fn no_state_of_a_server_changes_an_index() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.skill("one", "A skill.");
    shelf.mount();
    shelf.wait_until_counted();
    let cold = indexes(&shelf);
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("cold"));
    shelf.call(&["fake/echo", "--text", "x"]);
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("ready"));
    assert_eq!(indexes(&shelf), cold);
    shelf
        .run(&["call", "fake/crash", "--text", "gone"])
        .fails(4);
    shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("failed"));
    assert_eq!(indexes(&shelf), cold);
}

#[test]
fn a_server_that_fails_keeps_its_last_known_definitions() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--tools", "3"]);
    shelf.mount();
    shelf.wait_until_counted();
    let known = indexes(&shelf);
    let definition = shelf.read("mcp/fake/extra_2.md");
    shelf.servers(json!({ "fake": shelf.fake(&["--exit-at-once", "no licence"]) }));
    let status = shelf.wait_for_text("mcp/fake/STATUS", |status| status.starts_with("failed"));
    assert!(status.contains("no licence"), "{status}");
    assert_eq!(indexes(&shelf), known);
    assert_eq!(shelf.read("mcp/fake/extra_2.md"), definition);

    // And across a remount.
    shelf.unmount();
    shelf.mount();
    let status = shelf.wait_for_text("mcp/fake/STATUS", |status| status.contains("no licence"));
    assert!(
        status.contains("stale") || status.contains("failed"),
        "{status}"
    );
    let texts = |states: Vec<(String, u64)>| -> Vec<_> {
        states.into_iter().map(|(text, _)| text).collect()
    };
    assert_eq!(texts(indexes(&shelf)), texts(known));
    assert_eq!(shelf.read("mcp/fake/extra_2.md"), definition);
}

#[test]
fn a_server_that_is_not_known_yet_has_its_line_and_its_status() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.servers(json!({
        "broken": shelf.fake(&["--exit-at-once", "cannot find my key"]),
        "slow": shelf.fake(&["--slow-start", "600"]),
        "remote": { "url": "http://127.0.0.1:9/mcp" },
        "lost": { "command": "${NO_SUCH_VARIABLE}" },
        "off": { "command": "none", "disabled": true },
    }));
    let said = shelf.mount_with(&["--wait", "1"]);
    assert_eq!(said.code, 0);
    assert!(
        said.stderr.contains("not known yet") && said.stderr.contains("slow"),
        "{}",
        said.stderr
    );
    let index = shelf.read("INDEX.md");
    for server in ["broken", "slow", "remote", "lost"] {
        let line = format!("{server}/ — not known yet, see mcp/{server}/STATUS");
        assert!(index.contains(&line), "{line}: {index}");
        assert!(shelf.read("ALL.md").contains(&line), "{line}");
    }
    assert!(!index.contains("off/"), "{index}");
    let status = |server: &str| shelf.read(&format!("mcp/{server}/STATUS"));
    wait_until("the failed one is known", || {
        status("broken").starts_with("failed")
    });
    assert!(
        status("broken").contains("cannot find my key"),
        "{}",
        status("broken")
    );
    assert!(status("slow").starts_with("starting"), "{}", status("slow"));
    wait_until("the one that nobody serves is known", || {
        status("remote").contains("could not be reached")
    });
    assert!(
        status("lost").contains("NO_SUCH_VARIABLE"),
        "{}",
        status("lost")
    );
    assert_eq!(
        shelf.read("INDEX.md"),
        index,
        "a failure is no news for the index"
    );
    let list = shelf.run(&["list", "--json"]).succeeds();
    assert!(list.contains("broken") && list.contains("slow"), "{list}");
}

#[test]
fn a_server_that_is_slow_appears_when_it_answers() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("slow", &["--slow-start", "2"]);
    shelf.mount_with(&["--wait", "0.1"]).succeeds();
    assert!(shelf.read("INDEX.md").contains("slow/ — not known yet"));
    shelf.wait_for_text("INDEX.md", |index| {
        index.contains("slow/echo — Says it again.")
    });
    assert!(!shelf.read("INDEX.md").contains("not known yet"));
}

#[test]
fn a_server_is_switched_off_and_on_while_the_shelf_is_mounted() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.skill("one", "A skill.");
    shelf.mount();
    let revision = || -> String {
        let said = shelf.run(&["changes", "--json"]).succeeds();
        let said: Value = serde_json::from_str(&said).unwrap();
        said["revision"].as_str().unwrap().to_owned()
    };
    let before = revision();
    let off = || {
        let mut off = shelf.fake(&[]);
        off["disabled"] = true.into();
        shelf.servers(json!({ "fake": off }));
    };
    off();
    shelf.wait_for_text("INDEX.md", |index| !index.contains("fake"));
    for file in ["INDEX.md", "ALL.md"] {
        let text = shelf.read(file);
        assert!(
            text.contains("skills/one") && !text.contains("fake"),
            "{text}"
        );
    }
    for directory in ["mcp", "bin", ".schemas"] {
        wait_until("its files are gone", || {
            fs::read_dir(shelf.mounted(directory))
                .unwrap()
                .next()
                .is_none()
        });
    }
    assert!(!shelf.run(&["list"]).succeeds().contains("fake"));
    shelf.run(&["search", "says it again"]).fails(3);
    for command in [&["status"][..], &["servers"]] {
        let said = shelf.run(command).succeeds();
        let line = said.lines().find(|line| line.contains("fake"));
        assert!(line.is_some_and(|line| line.contains("disabled")), "{said}");
    }
    let refused = shelf.run(&["call", "fake/echo", "--text", "x"]).fails(3);
    assert!(
        refused.contains("switched off in the configuration"),
        "{refused}"
    );
    let changes = || shelf.run(&["changes", "--since", &before]).succeeds();
    assert!(changes().contains("- fake/echo"), "{}", changes());

    // A daemon that starts meanwhile has nothing to add.
    let later = revision();
    shelf.unmount();
    shelf.mount();
    assert_eq!(revision(), later);

    shelf.servers(json!({ "fake": shelf.fake(&[]) }));
    shelf.wait_for_text("ALL.md", |all| all.contains("fake/echo"));
    shelf.call(&["fake/echo", "--text", "x"]);
    assert!(changes().contains("+ fake/"), "{}", changes());
}
