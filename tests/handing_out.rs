//! What a harness asks for: the changes since it asked last, and what a session was handed out.

use std::fs;

use daemon::client::{Client, Identity};
use daemon::protocol::Load;
use serde_json::{Value, json};

use crate::support::needs::lacks_program;
use crate::support::shelf::{Finished, Shelf};
use crate::support::wait_until;

const CONFIG: [&str; 2] = ["--config", "mcp.json"];

/// A place whose configuration has a server with some more tools, and the skills.
fn place(tools: &str) -> Shelf {
    let shelf = Shelf::new();
    shelf.skill("one", "The first skill.");
    configure(&shelf, tools);
    shelf
}

fn configure(shelf: &Shelf, tools: &str) {
    let config = json!({
        "mcpServers": { "fake": shelf.fake(&["--tools", tools]) },
        "skills": ["skills"],
    });
    let written = shelf.write("mcp.json.new", config.to_string());
    fs::rename(written, shelf.path("mcp.json")).unwrap();
}

/// Starts a daemon, which shows a mirror: that works everywhere.
fn start(shelf: &Shelf) {
    shelf
        .run(&[&["mirror", "mount"], CONFIG.as_slice()].concat())
        .succeeds();
}

fn run(shelf: &Shelf, command: &str, words: &[&str]) -> Finished {
    shelf.run(&[&[command], CONFIG.as_slice(), words].concat())
}

fn json_of(shelf: &Shelf, command: &str, words: &[&str]) -> Value {
    let text = run(shelf, command, &[&["--json"], words].concat()).succeeds();
    serde_json::from_str(&text).unwrap()
}

/// The ids of changes or entries.
fn ids(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap();
    list.iter().map(|one| one["id"].as_str().unwrap()).collect()
}

/// Hands entries out to a session, as a harness does.
fn load(shelf: &Shelf, session: &str, entries: &[&str]) {
    let socket = shelf.status()["socket"].as_str().unwrap().to_owned();
    let identity = Identity {
        version: "test".into(),
        session: Some(session.into()),
    };
    let mut client = Client::connect(socket.as_ref(), &identity).unwrap();
    let entries: Vec<_> = entries.iter().map(|&entry| entry.to_owned()).collect();
    let count = entries.len();
    let loaded = client.load(&Load { entries }).unwrap();
    assert_eq!(loaded.entries.len(), count);
}

#[test]
fn the_changes_are_one_list_that_grows_across_daemons_and_without_one() {
    if lacks_program("python3") {
        return;
    }
    let shelf = place("2");
    assert_eq!(run(&shelf, "changes", &[]).succeeds(), "revision 0\n");
    start(&shelf);
    let first = json_of(&shelf, "changes", &[]);
    assert_eq!(first["complete"], true);
    let told = ids(&first["changes"]);
    assert!(
        told.contains(&"skills/one") && told.contains(&"fake/echo"),
        "{told:?}"
    );
    let server = told.iter().position(|id| *id == "fake/").unwrap();
    let tools = first["changes"][server]["tools"].as_u64().unwrap();
    let of_server = told.iter().filter(|id| id.starts_with("fake/")).count();
    assert_eq!(of_server as u64, 1 + tools);
    let text = run(&shelf, "changes", &[]).succeeds();
    assert!(text.contains("\n+ fake/extra_1 — "), "{text}");
    let revision = first["revision"].as_str().unwrap();
    assert!(
        text.ends_with(&format!("\nrevision {revision}\n")),
        "{text}"
    );
    let since = ["--since", revision];
    assert_eq!(json_of(&shelf, "changes", &since)["changes"], json!([]));

    shelf.skill("two", "The second skill.");
    wait_until("the new skill is told", || {
        let list = json_of(&shelf, "changes", &since);
        ids(&list["changes"]) == ["skills/two"]
    });
    shelf.unmount();
    // Nobody serves it now: what was seen is told all the same, and the next daemon goes on from there.
    fs::remove_dir_all(shelf.path("skills/one")).unwrap();
    let offline = run(&shelf, "changes", &since).succeeds();
    assert!(
        offline.starts_with("+ skills/two — The second skill.\nrevision "),
        "{offline}"
    );
    configure(&shelf, "1");
    start(&shelf);
    wait_until("the tool and the skill that went are told", || {
        let list = json_of(&shelf, "changes", &since);
        let mut told = ids(&list["changes"]);
        // Whichever of the two was noticed first.
        let (first, rest) = told.split_first_mut().unwrap();
        rest.sort_unstable();
        *first == "skills/two" && rest == ["fake/extra_1", "skills/one"]
    });
    let all = json_of(&shelf, "changes", &[]);
    let before = first["changes"].as_array().unwrap().len();
    let begun = ids(&all["changes"])[..before].to_vec();
    assert_eq!(begun, ids(&first["changes"]), "the head stays as it was");
    shelf.unmount();
}

#[test]
fn a_revision_that_is_none_is_refused() {
    let shelf = place("0");
    for revision in ["9", "x", "9-", "0-a"] {
        let finished = run(&shelf, "changes", &["--since", revision]);
        assert!(
            finished
                .fails(2)
                .contains("what an earlier answer ended with")
        );
    }
    let complaint = run(&shelf, "changes", &["--since", "9-k3v9qa2c"]).fails(2);
    assert!(complaint.contains("not of this catalog"), "{complaint}");
    assert!(
        complaint.contains("hint: take the list anew"),
        "{complaint}"
    );
}

#[test]
fn what_is_no_longer_kept_is_said() {
    let shelf = place("0");
    let daemon_less = run(&shelf, "changes", &["--json"]);
    assert_eq!(daemon_less.stderr, "");
    start(&shelf);
    shelf.unmount();
    let revision = json_of(&shelf, "changes", &[])["revision"].clone();
    let (_, journal) = revision.as_str().unwrap().split_once('-').unwrap();
    let kept = fs::read_dir(shelf.path("state/toolshelf/catalogs")).unwrap();
    let file = kept
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "journal"))
        .unwrap();
    fs::write(
        file,
        format!("journal {journal}\n90 2026-11-30T06:12:01Z + skills/one\n"),
    )
    .unwrap();
    let finished = run(&shelf, "changes", &["--since", &format!("7-{journal}")]);
    assert_eq!(finished.code, 0);
    assert!(
        finished.stderr.contains("no longer kept"),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stderr.contains("hint: take the list anew"),
        "{}",
        finished.stderr
    );
    assert_eq!(
        finished.stdout,
        format!("+ skills/one — The first skill.\nrevision 90-{journal}\n")
    );
    let since = format!("7-{journal}");
    assert_eq!(
        json_of(&shelf, "changes", &["--since", &since])["complete"],
        false
    );
    let since = format!("89-{journal}");
    assert_eq!(
        json_of(&shelf, "changes", &["--since", &since])["complete"],
        true
    );
}

#[test]
fn what_a_session_was_handed_out_is_replayed_over_all_daemons() {
    if lacks_program("python3") {
        return;
    }
    let shelf = place("2");
    start(&shelf);
    load(&shelf, "run 7", &["skills/one", "fake/echo"]);
    load(&shelf, "other", &["fake/add"]);
    shelf.unmount();
    start(&shelf);
    load(&shelf, "run 7", &["fake/extra_1", "mcp/fake/echo.md"]);
    let session = ["--session", "run 7"];
    let expected = ["skills/one", "fake/echo", "fake/extra_1"];
    // At once: the answer to a load is sent when the log has it.
    let loaded = json_of(&shelf, "loaded", &session);
    assert_eq!(ids(&loaded["entries"]), expected);
    assert_eq!(loaded["gone"], json!([]));
    let lines = shelf.log(&["--event", "load"]);
    assert_eq!(lines.len(), 5);
    assert!(
        lines.iter().all(|line| line["hash"].is_string()),
        "{lines:?}"
    );
    shelf.run(&["log", "--event", "call"]).fails(3);
    let text = shelf.run(&["log", "--session", "other"]).succeeds();
    assert!(text.contains("  load     fake/add"), "{text}");
    shelf.unmount();

    // Without a daemon; what is gone is said apart.
    fs::remove_dir_all(shelf.path("skills/one")).unwrap();
    let finished = run(&shelf, "loaded", &session);
    assert_eq!(finished.stderr, "skills/one — gone\n");
    let lines: Vec<_> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("fake/echo — "), "{lines:?}");
    assert_eq!(
        json_of(&shelf, "loaded", &session)["gone"],
        json!(["skills/one"])
    );
    // Nobody was told that it was looked at.
    assert_eq!(shelf.log(&[]).len(), 5);

    let mut named = shelf.command(crate::support::SHELF);
    named.args(["loaded", "--config", "mcp.json", "--json"]);
    let named = Finished::of(named.env("SHELF_SESSION", "other")).succeeds();
    let named: Value = serde_json::from_str(&named).unwrap();
    assert_eq!(ids(&named["entries"]), ["fake/add"]);
    assert_eq!(run(&shelf, "loaded", &["--session", "none"]).succeeds(), "");
}

/// Loads an entry over the socket named by its first argument, without a session of its own.
const HARNESS: &str = r#"
import json, socket, sys
stream = socket.socket(socket.AF_UNIX)
stream.connect(sys.argv[1])
lines = stream.makefile("rw")
for id, (method, params) in enumerate([
    ("hello", {"protocol": 1, "version": "test"}),
    ("load", {"entries": ["fake/echo"]}),
]):
    lines.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
    lines.flush()
    assert "result" in json.loads(lines.readline())
"#;

#[test]
fn without_a_name_the_session_is_the_one_that_the_command_runs_in() {
    if lacks_program("python3") {
        return;
    }
    let shelf = place("0");
    start(&shelf);
    shelf.write("harness.py", HARNESS);
    let socket = shelf.status()["socket"].as_str().unwrap().to_owned();
    let script = format!("python3 harness.py {socket} && shelf loaded --config mcp.json; true");
    let loaded = shelf
        .shell(&format!("exec setsid -w bash -c '{script}'"))
        .succeeds();
    assert!(loaded.starts_with("fake/echo — "), "{loaded}");
    let other = "exec setsid -w bash -c 'shelf loaded --config mcp.json; true'";
    assert_eq!(shelf.shell(other).succeeds(), "");
    shelf.unmount();
}

#[test]
fn a_search_leaves_out_what_its_session_has() {
    if lacks_program("python3") {
        return;
    }
    let shelf = place("2");
    start(&shelf);
    load(&shelf, "run", &["fake/extra_0", "skills/one"]);
    let found = |session: &str, words: &[&str]| {
        let mut command = shelf.command(crate::support::SHELF);
        command.args([&["search"], CONFIG.as_slice(), words].concat());
        Finished::of(command.env("SHELF_SESSION", session))
    };
    let extra = |session: &str, option: &[&str]| {
        let text = found(session, &[option, &["extra"]].concat()).succeeds();
        let ids = text.lines().filter_map(|line| line.split(' ').next());
        let mut ids: Vec<_> = ids.map(str::to_owned).collect();
        ids.retain(|id| id.starts_with("fake/extra_"));
        ids.sort_unstable();
        ids
    };
    let exclude = ["--exclude-loaded"];
    assert_eq!(extra("run", &[]), ["fake/extra_0", "fake/extra_1"]);
    assert_eq!(extra("run", &exclude), ["fake/extra_1"]);
    assert_eq!(extra("other", &exclude), ["fake/extra_0", "fake/extra_1"]);
    shelf.unmount();
    assert_eq!(extra("run", &exclude), ["fake/extra_1"], "without a daemon");
    let skill = ["--kind", "skill", "first"];
    assert!(found("run", &skill).succeeds().starts_with("skills/one — "));
    let nothing = found("run", &[&exclude, skill.as_slice()].concat()).fails(3);
    assert!(
        nothing.contains("handed out already: skills/one"),
        "{nothing}"
    );
}

#[test]
fn definitions_of_changes_are_handed_out_and_those_of_a_replay_are_not_logged_again() {
    if lacks_program("python3") {
        return;
    }
    let shelf = place("1");
    start(&shelf);
    let formatted = |command: &str, words: &[&str]| {
        let mut shelf_command = shelf.command(crate::support::SHELF);
        let format = ["--format", "mcp"];
        shelf_command.args([&[command], CONFIG.as_slice(), &format, words].concat());
        Finished::of(shelf_command.env("SHELF_SESSION", "run"))
    };
    let tools = |finished: &Finished| {
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        let given: Value = serde_json::from_str(&finished.stdout).unwrap();
        let tools = given["tools"].as_array().unwrap().clone();
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let revision = json_of(&shelf, "changes", &[])["revision"].clone();
    let changed = formatted("changes", &["--since", "0"]);
    let given = tools(&changed);
    assert!(given.contains(&"extra_0".into()), "{given:?}");
    let last = changed.stderr.lines().last().unwrap();
    assert_eq!(last, format!("revision {}", revision.as_str().unwrap()));
    let loads = shelf.log(&["--event", "load", "--session", "run"]);
    assert_eq!(loads.len(), given.len());
    assert_eq!(tools(&formatted("loaded", &[])), given);
    shelf.unmount();
    assert_eq!(tools(&formatted("loaded", &[])), given, "without a daemon");
    let again = shelf.log(&["--event", "load", "--session", "run"]);
    assert_eq!(again.len(), given.len());
}
