//! `shelf search`: what is found, what is said where nothing is, and what is known without a daemon.

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, lacks_program};
use crate::support::shelf::Shelf;

const CONFIG: [&str; 2] = ["--config", "mcp.json"];

/// A mounted shelf with a server and a skill.
fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &["--tools", "12"]);
    shelf.skill("invoices", "Reads invoices and adds up what they ask for.");
    shelf.mount();
    shelf
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn what_is_found_is_printed_best_first_and_logged() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let found = shelf.run(&["search", "echo"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    let first = found.stdout.lines().next().unwrap();
    assert_eq!(first, "fake/echo — Says it again.");
    let skill = shelf.run(&["search", "--kind", "skill", "invoices"]);
    let line = "skills/invoices — Reads invoices and adds up what they ask for.\n";
    assert_eq!(skill.stdout, line);

    let mut command = shelf.command(crate::support::SHELF);
    command.args(["search", "--json", "--limit", "3", "extra", "tool"]);
    let output = command.env("SHELF_SESSION", "my session").output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let matches = answer["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 3, "{answer}");
    let is_extra = |found: &Value| {
        let id = found["id"].as_str().unwrap();
        id.starts_with("fake/extra_") && found["kind"] == "tool" && found["score"].is_number()
    };
    assert!(matches.iter().all(is_extra), "{answer}");
    assert_eq!(answer["unknown"], json!([]));

    let line = shelf.wait_for_line("the search is logged", |line| {
        line["event"] == "search" && line["session"] == "my session"
    });
    assert_eq!(line["query"], "extra tool");
    assert!(line["matches"].as_u64().unwrap() >= 3, "{line}");
}

#[test]
fn the_servers_of_the_matches_are_ranked_and_named_beyond_the_limit() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let found = shelf.run(&["search", "--limit", "2", "extra", "tool"]);
    assert_eq!(found.stdout.lines().count(), 2, "{}", found.stdout);
    assert!(
        found.stderr.starts_with("2 of ") && found.stderr.contains("fake ("),
        "{}",
        found.stderr
    );
    let servers = shelf.run(&["search", "--servers", "extra", "tool"]);
    assert_eq!(servers.stderr, "");
    assert!(servers.stdout.starts_with("fake ("), "{}", servers.stdout);
    assert!(servers.stdout.contains(" matches)"), "{}", servers.stdout);
}

#[test]
fn where_nothing_matches_it_is_said_with_ways_to_look_around() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mount = shelf.path("mount");
    let said = shelf.run(&["search", "qwxzv"]).fails(3);
    assert!(said.contains("nothing matches \"qwxzv\""), "{said}");
    let grep = format!("grep -i qwxzv {}/ALL.md", mount.display());
    assert!(said.contains(&grep), "{said}");
    // As data, too.
    let json = shelf.run(&["search", "--json", "qwxzv"]);
    assert_eq!(json.code, 3);
    assert_eq!(parsed(&json.stdout)["matches"], json!([]));
    assert!(json.stderr.contains("nothing matches"), "{}", json.stderr);
    // Each way works.
    for line in said.lines().filter(|line| line.contains(": ls ")) {
        let (_, commands) = line.rsplit_once(": ").unwrap();
        for command in commands.split(", ") {
            shelf.shell(command).succeeds();
        }
    }

    let said = shelf.run(&["search", "--server", "fak", "echo"]).fails(3);
    assert!(said.contains("there is no server `fak`"), "{said}");
    assert!(said.contains("the servers are fake"), "{said}");
    let dashes = shelf.run(&["search", "--", "--qwxzv", "-q"]).fails(3);
    assert!(
        dashes.contains("nothing matches \"--qwxzv -q\""),
        "{dashes}"
    );
    for wrong in [
        &["search"][..],
        &["search", " "],
        &["search", "--limit", "0", "x"],
    ] {
        shelf.run(wrong).fails(2);
    }
}

#[test]
fn servers_that_are_not_known_yet_are_named_and_waited_for() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.servers(json!({
        "broken": shelf.fake(&["--exit-at-once", "no licence"]),
        "slow": shelf.fake(&["--slow-start", "3"]),
    }));
    shelf.mount_with(&["--wait", "0.1"]).succeeds();
    let search = ["search", "echo"];
    let said = shelf.run(&search).fails(3);
    assert!(said.contains("slow — not known yet"), "{said}");
    // A wait that is too short is no error of its own.
    let said = shelf.run(&["search", "--wait=50ms", "echo"]).fails(3);
    assert!(said.contains("slow — not known yet"), "{said}");
    let found = shelf.run(&["search", "--wait", "echo"]);
    assert!(found.stdout.starts_with("slow/echo — "), "{found:?}");
    assert!(found.stderr.contains("broken — not known yet"), "{found:?}");
    assert!(!found.stderr.contains("slow — "), "{found:?}");
}

#[test]
fn without_a_daemon_the_cache_is_searched_and_nothing_is_started() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--starts", "starts"]);
    let search = |words: &[&str]| shelf.run(&[&["search"], &CONFIG[..], words].concat());
    let said = search(&["echo"]).fails(3);
    assert!(
        said.contains("fake — not known yet, no shelf runs"),
        "{said}"
    );
    assert!(said.contains("shelf list | grep -i echo"), "{said}");
    assert_eq!(shelf.starts("starts"), 0);
    assert_eq!(shelf.running(), []);

    // To wait means that somebody asks.
    let waited = search(&["--wait", "--json", "echo"]).succeeds();
    assert_eq!(parsed(&waited)["matches"][0]["id"], "fake/echo");
    assert_eq!(shelf.starts("starts"), 1);
    let running = search(&["--json", "echo"]).succeeds();
    assert_eq!(running, waited);
    shelf.run(&[&["unmount"], &CONFIG[..]].concat()).succeeds();
    shelf.wait_until_nothing_is_left();

    // Now it is known: the same answer, and no reason to start anything.
    for wait in [&[][..], &["--wait"]] {
        let offline = search(&[wait, &["--json", "echo"]].concat()).succeeds();
        assert_eq!(offline, running);
    }
    let said = search(&["--server", "none", "echo"]).fails(3);
    assert!(said.contains("the servers are fake"), "{said}");
    assert_eq!(shelf.starts("starts"), 1);
    assert_eq!(shelf.running(), []);
}
