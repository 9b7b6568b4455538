//! Resources and prompts: the files that list them, `shelf read` and `shelf prompt`.

use std::fs;

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, lacks_program};
use crate::support::shelf::{Finished, Shelf};
use crate::support::wait_until;

/// What the fake server offers.
fn offers() -> Value {
    json!({
        "resources": [
            {"uri": "x:notes", "name": "notes", "title": "My\u{1b}[2J notes", "mimeType": "text/plain", "size": 12, "description": "What\nI noted.\u{202e}"},
            {"uri": "x:it's $(touch pwned)`touch pwned`", "name": "odd"},
        ],
        "templates": [{"uriTemplate": "x:{id}", "name": "any"}],
        "prompts": [
            {"name": "two", "description": "Says two things."},
            {"name": "it's; one", "arguments": [{"name": "a b", "required": true}, {"name": "c"}]},
        ],
    })
}

/// A place with the fake server, which offers this, and one that offers nothing.
fn shelf(more: &Value) -> Shelf {
    let shelf = Shelf::new();
    shelf.write("offers.json", offers().to_string());
    configure(&shelf, more);
    shelf
}

fn configure(shelf: &Shelf, more: &Value) {
    let options = [
        "--offers",
        "offers.json",
        "--calls",
        "calls",
        "--starts",
        "starts",
        "--merge",
        "merge.json",
    ];
    shelf.write("merge.json", r#"{"pid": {"name": "RESOURCES"}}"#);
    let mut config =
        json!({ "mcpServers": { "fake": shelf.fake(&options), "plain": shelf.fake(&[]) } });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    let written = shelf.write("mcp.json.new", config.to_string());
    fs::rename(written, shelf.path("mcp.json")).unwrap();
}

/// Runs a command with the configuration of the place.
fn run(shelf: &Shelf, command: &str, words: &[&str]) -> Finished {
    shelf.run(&[&[command, "--config", "mcp.json"], words].concat())
}

fn end(shelf: &Shelf) {
    run(shelf, "unmount", &[]).succeeds();
    shelf.wait_until_nothing_is_left();
}

/// What the server was asked.
fn asked(shelf: &Shelf) -> Vec<Value> {
    let text = fs::read_to_string(shelf.path("calls")).unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with('['));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The command lines in a file.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
    lines.filter(|line| line.starts_with("shelf ")).collect()
}

#[test]
fn the_files_list_what_there_is_and_their_commands_work_as_they_stand() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf(&json!({}));
    shelf.mount();
    let starts = shelf.starts("starts");
    let resources = shelf.read("mcp/fake/RESOURCES.md");
    assert!(resources.contains("2 resources, 1 template"), "{resources}");
    assert!(
        resources.contains("\nx:notes — My notes (text/plain, 12 bytes): What I noted.\n"),
        "{resources}"
    );
    assert!(
        resources.contains("\n    a value goes in the place of: id\n"),
        "{resources}"
    );
    let prompts = shelf.read("mcp/fake/PROMPTS.md");
    assert!(
        prompts.contains("\n    a b (required)\n    c\n"),
        "{prompts}"
    );
    let index = shelf.read("mcp/fake/INDEX.md");
    assert!(
        index.ends_with("\nRESOURCES.md: 2 resources, 1 template; PROMPTS.md: 2 prompts\n"),
        "{index}"
    );
    // A tool of that name has another file, and a server without any has none.
    let tool = index
        .lines()
        .find_map(|line| line.strip_prefix("fake/RESOURCES~"));
    assert!(tool.is_some(), "{index}");
    assert!(!shelf.mounted("mcp/plain/RESOURCES.md").exists());
    assert!(!shelf.read("mcp/plain/INDEX.md").contains(".md"));
    assert_eq!(
        (shelf.starts("starts"), asked(&shelf).len()),
        (starts, 0),
        "reading acts on nothing"
    );

    let read = commands(&resources);
    assert_eq!(read.len(), 3, "{read:?}");
    assert_eq!(
        shelf.shell(read[0]).succeeds(),
        "x:it's $(touch pwned)`touch pwned`"
    );
    assert_eq!(shelf.shell(read[1]).succeeds(), "x:notes");
    let said = shelf.shell(read[2]).fails(2);
    assert!(
        said.contains("write a value in the place of {id}"),
        "{said}"
    );
    let ask = commands(&prompts);
    assert_eq!(
        shelf.shell(ask[0]).succeeds(),
        r#"it's; one: {"a b": "text"}"#
    );
    assert!(
        shelf
            .shell(ask[1])
            .succeeds()
            .starts_with("user:\ntwo: null\nassistant:\n")
    );
    assert!(!shelf.path("pwned").exists());
    assert_eq!(asked(&shelf).len(), 4, "the template was sent to nobody");

    // What a result links to says how it is read.
    let linked = shelf.run(&[
        "call",
        "--args",
        r#"{"uri": "x:$(touch pwned)"}"#,
        "fake/link",
    ]);
    assert_eq!(linked.stderr, "shelf read fake 'x:$(touch pwned)'\n");
    assert_eq!(linked.succeeds(), "see\nx:$(touch pwned)\nx:$(touch pwned)");

    // What changes while it runs is shown.
    shelf.write("offers.json", r#"{"resources": [{"uri": "x:new"}]}"#);
    shelf.call(&["fake/change_offers"]);
    shelf.wait_for_text("mcp/fake/RESOURCES.md", |text| {
        text.contains("x:new") && !text.contains("x:notes")
    });
    wait_until("there are no prompts", || {
        !shelf.mounted("mcp/fake/PROMPTS.md").exists()
    });
    shelf.unmount();
}

#[test]
fn a_mirror_has_the_files_too() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&json!({}));
    shelf.mirror();
    let text = shelf.wait_for_text("mcp/fake/RESOURCES.md", |text| text.contains("x:notes"));
    let read = commands(&text)[1];
    assert_eq!(
        shelf
            .shell(&read.replacen("shelf read", "shelf read --config mcp.json", 1))
            .succeeds(),
        "x:notes"
    );
    end(&shelf);
    assert_eq!(
        fs::read_to_string(shelf.mounted("mcp/fake/RESOURCES.md")).unwrap(),
        text
    );
}

#[test]
fn a_resource_is_printed_by_the_rules_of_a_call() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&json!({}));
    let read = |words: &[&str]| run(&shelf, "read", words);
    assert_eq!(read(&["fake", "x:unlisted"]).succeeds(), "x:unlisted");
    assert_eq!(read(&["fake", "x:two"]).succeeds(), "one\ntwo\u{1b}[2J\n");
    let whole = read(&["--json", "fake", "x:a"]).succeeds();
    assert_eq!(
        whole,
        "{\"contents\":[{\"uri\":\"x:a\",\"text\":\"x:a\",\"x-odd\":1e3}]}\n"
    );

    let blob = read(&["fake", "x:blob"]);
    let path = blob.stderr.trim_end().to_owned();
    assert_eq!(
        (blob.succeeds().as_str(), fs::read(path).unwrap()),
        ("", vec![0, 1, 255])
    );
    read(&["--out", "blob", "fake", "x:blob"]).succeeds();
    assert_eq!(fs::read(shelf.path("blob")).unwrap(), [0, 1, 255]);
    read(&["--out", "none", "fake", "x:two"]).fails(65);
    let cut = read(&["--max-output", "4", "fake", "x:two"]);
    assert!(
        cut.stderr.contains("printed 4 of 12 bytes"),
        "{}",
        cut.stderr
    );
    assert_eq!(cut.succeeds(), "one\n");

    let said = read(&["fake", "x:gone"]).fails(3);
    assert!(
        said.contains("there is no resource x:gone") && said.contains("mcp/fake/RESOURCES.md"),
        "{said}"
    );
    read(&["fake", "x:invalid"]).fails(3);
    read(&["fake", "x:broken"]).fails(1);
    read(&["nowhere", "x:a"]).fails(3);
    read(&["--timeout", "500ms", "fake", "x:slow"]).fails(124);
    let before = asked(&shelf).len();
    for uri in ["notes", "x:{id}", "x:a b", "x:%"] {
        read(&["fake", uri]).fails(2);
    }
    assert_eq!(
        asked(&shelf).len(),
        before,
        "what is no URI is sent to nobody"
    );

    let line = shelf.wait_for_line("the read is logged", |line| line["uri"] == "x:gone");
    assert_eq!(
        (&line["event"], &line["entry"]),
        (&json!("read"), &json!("fake/RESOURCES"))
    );
    assert_eq!(
        (&line["ok"], &line["kind"]),
        (&json!(false), &json!("not-found"))
    );
    assert!(line["duration_ms"].is_u64());
    let shown = shelf.run(&["log", "--event", "read"]).succeeds();
    assert!(
        shown.contains("fake/RESOURCES  x:gone, not-found, "),
        "{shown}"
    );
    end(&shelf);
}

#[test]
fn a_prompt_is_checked_before_anything_is_sent() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&json!({}));
    let ask = |words: &[&str]| run(&shelf, "prompt", words);
    let said = ask(&["fake", "it's; one"]).fails(2);
    assert!(
        said.contains("needs the argument a b") && said.contains("a b (required), c"),
        "{said}"
    );
    let said = ask(&["--arg", "a b=1", "--arg", "d=2", "fake", "it's; one"]).fails(2);
    assert!(said.contains("has no argument d"), "{said}");
    let said = ask(&["fake", "tow"]).fails(3);
    assert!(
        said.contains("there is no prompt `tow`") && said.contains("did you mean two?"),
        "{said}"
    );
    let said = ask(&["plain", "two"]).fails(3);
    assert!(said.contains("the server has none"), "{said}");
    assert_eq!(asked(&shelf).len(), 0);

    shelf.write("text", "from a file");
    let printed = ask(&["fake", "it's; one", "--arg", "a b=@text", "--arg", "c=-x=y"]).succeeds();
    assert_eq!(printed, r#"it's; one: {"a b": "from a file", "c": "-x=y"}"#);
    let input = [
        "prompt",
        "--config",
        "mcp.json",
        "--arg",
        "a b=-",
        "fake",
        "it's; one",
    ];
    let printed = shelf.run_with_input(&input, b"from a pipe").succeeds();
    assert_eq!(printed, r#"it's; one: {"a b": "from a pipe"}"#);

    let two = ask(&["fake", "two"]);
    assert!(two.stderr.trim_end().ends_with(".png"), "{}", two.stderr);
    assert_eq!(two.succeeds(), "user:\ntwo: null\nassistant:\n");
    let whole = ask(&["--json", "fake", "two"]).succeeds();
    assert!(
        whole.starts_with(r#"{"messages":[{"role":"user""#),
        "{whole}"
    );

    let is_sent = |line: &Value| line["event"] == "prompt" && line["ok"] == true;
    let line = shelf.wait_for_line("the prompt is logged", is_sent);
    assert_eq!(
        (&line["entry"], &line["prompt"]),
        (&json!("fake/PROMPTS"), &json!("it's; one"))
    );
    assert_eq!(
        (&line["arguments"], line.get("values")),
        (&json!(["a b", "c"]), None)
    );
    end(&shelf);
}

#[test]
fn a_policy_judges_them_as_the_files_that_list_them() {
    if lacks_program("python3") {
        return;
    }
    let policy = json!({ "policy": { "deny": ["plain/*"], "ask": ["fake/RESOURCES"], "hide": ["fake/PROMPTS"] } });
    let shelf = shelf(&policy);
    shelf.mirror();
    let said = shelf.run(&["read", "plain", "x:a"]).fails(5);
    assert!(
        said.contains("plain/RESOURCES: refused by deny \"plain/*\""),
        "{said}"
    );
    assert!(!shelf.mounted("mcp/fake/PROMPTS.md").exists());
    assert!(!shelf.read("mcp/fake/INDEX.md").contains("PROMPTS"));
    let said = shelf.run(&["prompt", "fake", "two"]).fails(3);
    assert!(said.contains("no prompts on the shelf"), "{said}");

    let said = shelf.run(&["read", "fake", "x:notes"]).fails(5);
    let (_, after) = said.split_once("waits for approval ").expect(&said);
    let id = after.split_once(',').unwrap().0;
    let listed = shelf.run(&["approvals"]).succeeds();
    assert!(
        listed.contains(": resources of server fake\n") && listed.contains(r#"uri: "x:notes""#),
        "{listed}"
    );
    shelf.run(&["read", "fake", "x:other"]).fails(5);
    assert_eq!(asked(&shelf).len(), 0);
    shelf.run(&["approve", id]).succeeds();
    assert_eq!(
        shelf.run(&["read", "fake", "x:notes"]).succeeds(),
        "x:notes"
    );
    shelf.run(&["read", "fake", "x:notes"]).fails(5);
    // No rule is said to name nothing.
    let status = shelf.run(&["status"]).succeeds();
    assert!(!status.contains("names no"), "{status}");

    // They only read, whatever they are.
    configure(&shelf, &json!({ "policy": { "deny": ["read-only"] } }));
    wait_until("the new policy is in force", || {
        shelf.run(&["prompt", "fake", "two"]).code == 5
    });
    shelf.run(&["unmount", "mount"]).succeeds();
    shelf.wait_until_nothing_is_left();
}

#[test]
fn completion_offers_them_from_the_cache() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf(&json!({}));
    run(&shelf, "read", &["fake", "x:a"]).succeeds();
    let offered = || {
        let complete = |words: &[&str]| {
            let all = [&["__complete", "fish", "--"], words].concat();
            shelf.run(&all).succeeds()
        };
        let config = "--config=mcp.json";
        [
            complete(&["read", config, "f"]),
            complete(&["read", config, "fake", "x:n"]),
            complete(&["prompt", config, "fake", "t"]),
            complete(&["prompt", config, "nowhere", ""]),
        ]
    };
    let expected = [
        "fake\n",
        "x:notes\tWhat I noted\n",
        "two\tSays two things\n",
        "",
    ];
    assert_eq!(offered().map(|text| text.replace(".\n", "\n")), expected);
    end(&shelf);
    let starts = shelf.starts("starts");
    assert_eq!(offered().map(|text| text.replace(".\n", "\n")), expected);
    assert_eq!(shelf.starts("starts"), starts);
}
