//! `shelf search`: what is found, what is said where nothing is, and what is known without a daemon.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, lacks_program};
use crate::support::shelf::Shelf;
use crate::support::wait_for;

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
    command.args(["search", "--json", "--limit", "3", "extra"]);
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
    assert_eq!(line["query"], "extra");
    assert!(line["matches"].as_u64().unwrap() >= 3, "{line}");
}

#[test]
fn the_servers_of_the_matches_are_ranked_and_named_beyond_the_limit() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let found = shelf.run(&["search", "--limit", "2", "extra"]);
    assert_eq!(found.stdout.lines().count(), 2, "{}", found.stdout);
    assert!(
        found.stderr.starts_with("2 of ") && found.stderr.contains("fake ("),
        "{}",
        found.stderr
    );
    let servers = shelf.run(&["search", "--servers", "extra"]);
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
    assert!(
        said.contains("shelf list --config mcp.json | grep -i echo"),
        "{said}"
    );
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

#[test]
fn search_is_measured_on_requests_of_ones_own() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf
        .run(&["call", CONFIG[0], CONFIG[1], "fake/echo", "--text", "x"])
        .succeeds();
    let requests = "# ours\nsay it again\tfake/echo,fake/none\n\nfly to the moon\tplane/fly\n";
    shelf.write("requests.tsv", requests);
    let eval = |words: &[&str]| shelf.run(&[&["eval"], &CONFIG[..], words].concat());
    let both = || {
        let text = eval(&["requests.tsv"]);
        let json = eval(&["--json", "requests.tsv"]).succeeds();
        (text.code, text.stdout, text.stderr, json)
    };
    let running = both();
    let (code, text, notes, json) = &running;
    assert_eq!(*code, 0, "{notes}");
    assert!(text.starts_with("1 request "), "{text}");
    assert!(
        text.contains("\nwords and meaning    1.00   1.00"),
        "{text}"
    );
    assert!(notes.contains("line 4 is not counted"), "{notes}");
    assert!(
        notes.contains("not in the catalog: fake/none, plane/fly"),
        "{notes}"
    );
    let json = parsed(json);
    assert_eq!(json["lexical"]["hit_at_1"], json!(1.0));
    assert_eq!(json["unanswerable"][0]["line"], json!(4));
    shelf.run(&[&["unmount"], &CONFIG[..]].concat()).succeeds();
    shelf.wait_until_nothing_is_left();
    assert_eq!(both(), running, "without a daemon it is the same");
    // It is no search of anybody.
    assert!(shelf.log(&[]).iter().all(|line| line["event"] != "search"));

    shelf.write("wrong.tsv", "a request\tfake/echo\nno ids\n");
    let said = eval(&["wrong.tsv"]).fails(2);
    assert!(
        said.contains("wrong.tsv") && said.contains("line 2"),
        "{said}"
    );
    shelf.write("none.tsv", "# nothing\n");
    assert!(eval(&["none.tsv"]).fails(2).contains("no request"));
    assert!(eval(&["absent.tsv"]).fails(2).contains("absent.tsv"));
    shelf.write("other.tsv", "fly\tplane/fly\n");
    let said = eval(&["other.tsv"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
}

#[test]
fn the_index_that_a_shelf_kept_is_searched_when_it_has_ended() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--tools", "12"]);
    shelf.skill("invoices", "Reads invoices and adds up what they ask for.");
    let mut config = parsed(&std::fs::read_to_string(shelf.path("mcp.json")).unwrap());
    config["skills"] = json!(["skills"]);
    shelf.write("mcp.json", config.to_string());
    let search = |words: &[&str]| {
        let words = [&["search", "--json"], &CONFIG[..], words].concat();
        shelf.run(&words).succeeds()
    };
    let ask = || [search(&["echo"]), search(&["add up invoices"])];
    let call = ["call", CONFIG[0], CONFIG[1], "fake/echo", "--text", "x"];
    shelf.run(&call).succeeds();
    let running = ask();
    let directory = shelf.path("cache/toolshelf/search");
    let file = wait_for("the shelf keeps its index", || {
        let mut files = std::fs::read_dir(&directory).ok()?;
        let file = files.next()?.unwrap();
        // While it is written it has another name, and one may be kept before the server has told its tools.
        let has_name = !file.file_name().as_encoded_bytes().starts_with(b".");
        let text = std::fs::read(file.path()).ok()?;
        let is_whole = text.windows(9).any(|part| part == b"fake/echo");
        (has_name && is_whole).then(|| file.path())
    });
    shelf.run(&[&["unmount"], &CONFIG[..]].concat()).succeeds();
    shelf.wait_until_nothing_is_left();
    let metadata = |path: &std::path::Path| std::fs::metadata(path).unwrap();
    let kept = metadata(&file);
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    assert_eq!(ask(), running);
    // Had it been of no use, another would have taken its place.
    assert_eq!(metadata(&file).ino(), kept.ino());

    shelf.skill("invoices", "Sends invoices to whom they add up for.");
    let after = ask();
    assert_ne!(after, running);
    assert_ne!(metadata(&file).ino(), kept.ino());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(ask(), after);
}
