//! Configurations: taking over those of other clients, editing one's own, and having one explained.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, lacks_program};
use crate::support::shelf::Shelf;
use crate::support::wait_until;

const OWN: &str = "home/config/toolshelf/shelf.toml";
const SECRET: &str = "s3cret-value";

/// A place where two clients are configured, one of them with the fake server.
fn with_clients() -> Shelf {
    let shelf = Shelf::new();
    let mut fake = shelf.fake(&["--starts", "starts"]);
    fake["env"] = json!({ "TOKEN": SECRET, "LEVEL": "${env:LEVEL}" });
    let cursor =
        json!({ "mcpServers": { "fake": fake, "no": { "command": "${workspaceFolder}/x" } } });
    shelf.write("home/.cursor/mcp.json", cursor.to_string());
    let codex = "[mcp_servers.remote]\nurl = \"https://remote.example/mcp?key=s3cret-value\"\nbearer_token_env_var = \"REMOTE\"\n";
    shelf.write("home/.codex/config.toml", codex);
    shelf
}

#[test]
fn servers_of_other_clients_are_listed_and_taken_over() {
    if lacks_program("python3") {
        return;
    }
    let shelf = with_clients();
    let listed = shelf.run(&["servers", "import"]);
    let said = format!("{}{}", listed.stdout, listed.stderr);
    assert!(!said.contains(SECRET), "{said}");
    assert!(said.contains("2 servers would be added to "), "{said}");
    let list = listed.succeeds();
    let cursor = shelf.path("home/.cursor/mcp.json");
    for line in [
        "+ fake — python3 ",
        &format!("    cursor {}:1\n", cursor.display()),
        "    env LEVEL=${LEVEL} TOKEN=***\n",
        "! no\n",
        "    not taken over: `command`: `${workspaceFolder}` is the project",
        "+ remote — https://remote.example/mcp?***\n",
        "    headers Authorization=Bearer ${REMOTE}\n",
    ] {
        assert!(list.contains(line), "{line}\n{list}");
    }
    let json = shelf
        .run(&["servers", "import", "--from", "codex", "--json"])
        .succeeds();
    assert!(!json.contains(SECRET), "{json}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["servers"][0]["name"], "remote");
    assert_eq!(json["servers"][0]["standing"], "new");
    assert_eq!(json["servers"][0]["origins"][0]["line"], 1);
    assert!(
        !shelf.path(OWN).exists(),
        "nothing is written without being asked"
    );

    let written = shelf.run(&["servers", "import", "--write"]);
    assert!(
        written.stderr.contains("added 2 servers to "),
        "{}",
        written.stderr
    );
    written.succeeds();
    let text = fs::read_to_string(shelf.path(OWN)).unwrap();
    assert!(text.contains(SECRET), "{text}");
    let mode = fs::metadata(shelf.path(OWN)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(shelf.starts("starts"), 0, "nothing was started");
    assert_eq!(shelf.running(), []);

    // What is there stays, also when the other client says something else now.
    shelf.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"fake": {"command": "other"}}}"#,
    );
    let again = shelf.run(&["servers", "import", "--write"]);
    assert!(
        again.stderr.contains("nothing is new to "),
        "{}",
        again.stderr
    );
    assert!(again.succeeds().contains("your own stays (line 1)"));
    assert_eq!(fs::read_to_string(shelf.path(OWN)).unwrap(), text);

    // It is what the client would have started.
    let mut call = shelf.command(crate::support::SHELF);
    call.env("LEVEL", "1")
        .args(["call", "fake/echo", "--text", "hello"]);
    assert_eq!(
        crate::support::shelf::Finished::of(&mut call).succeeds(),
        "hello"
    );
    shelf.run(&["unmount", "--config", OWN]).succeeds();
}

#[test]
fn others_who_could_read_a_secret_are_warned_of() {
    let shelf = with_clients();
    let own = shelf.write(OWN, "[servers]\n");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o644)).unwrap();
    let finished = shelf.run(&["servers", "import", "--write", "--from", "cursor"]);
    assert!(
        finished.stderr.contains("can be read by others"),
        "{}",
        finished.stderr
    );
    assert!(!finished.stderr.contains(SECRET));
    finished.succeeds();
}

#[test]
fn without_other_clients_nothing_is_found() {
    let shelf = Shelf::new();
    let said = shelf.run(&["servers", "import"]).fails(3);
    assert!(said.contains("no settings of other clients"), "{said}");
    shelf.write("home/.gemini/settings.json", "{ broken");
    let said = shelf.run(&["servers", "import"]).fails(3);
    assert!(said.contains("settings.json:1: "), "{said}");
}

#[test]
fn a_running_shelf_takes_over_what_is_added_and_removed() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    let before = "# Mine.\n[servers] # none yet\n\n[index]\nmax_tokens = 3000 # less\n";
    shelf.write("shelf.toml", before);
    let config = ["--config", "shelf.toml"];
    shelf
        .run(&["mount", "mount", "--config", "shelf.toml"])
        .succeeds();
    let fake = shelf.fake(&[]);
    let program = fake["args"][0].as_str().unwrap();
    let add = ["servers", "add", "fake", "--env", "A=b", "--cwd", "."];
    let command = ["--", "python3", program];
    let add = [&add[..], &config, &command].concat();
    shelf.run(&add).succeeds();
    shelf.wait_for_text("ALL.md", |text| text.contains("fake/echo"));
    let said = shelf.run(&add).fails(2);
    assert!(
        said.contains("shelf.toml:7: there is a server `fake` already"),
        "{said}"
    );
    shelf
        .run(&[&["servers", "remove", "fake"][..], &config].concat())
        .succeeds();
    wait_until("it is gone", || !shelf.mounted("mcp/fake").exists());
    let after = fs::read_to_string(shelf.path("shelf.toml")).unwrap();
    assert_eq!(after.trim_end(), before.trim_end());
    let said = shelf
        .run(&[&["servers", "remove", "fake"][..], &config].concat())
        .fails(3);
    assert!(said.contains("there is no server `fake`"), "{said}");
    shelf.unmount();
}

#[test]
fn a_server_over_http_is_added_with_its_headers() {
    let shelf = Shelf::new();
    let add = [
        "servers",
        "add",
        "remote",
        "--url",
        "https://remote.example/mcp",
    ];
    shelf
        .run(&[&add[..], &["--header", "Authorization: Bearer ${T}"]].concat())
        .succeeds();
    assert_eq!(
        fs::read_to_string(shelf.path(OWN)).unwrap(),
        "[servers.remote]\nurl = \"https://remote.example/mcp\"\nheaders = { Authorization = \"Bearer ${T}\" }\n"
    );
}

#[test]
fn adding_the_first_server_takes_no_skill_away() {
    let shelf = Shelf::new();
    shelf.write(
        "home/.claude/skills/mine/SKILL.md",
        "---\nname: mine\ndescription: My own.\n---\n",
    );
    let listed = shelf.run(&["list"]).succeeds();
    assert_eq!(listed, "skills/mine — My own.\n");
    shelf.run(&["servers", "add", "a", "--", "x"]).succeeds();
    assert_eq!(shelf.run(&["list"]).succeeds(), listed);
    assert_eq!(
        fs::read_to_string(shelf.path(OWN)).unwrap(),
        "# The skills that clients share.\nskills = [\"~/.claude/skills\"]\n\n[servers.a]\ncommand = \"x\"\n"
    );
}

#[test]
fn json_is_not_edited_and_no_toml_takes_its_place() {
    let shelf = Shelf::new();
    let before = fs::read(shelf.path("mcp.json")).unwrap();
    let said = shelf
        .run(&["servers", "add", "a", "--config", "mcp.json", "--", "x"])
        .fails(2);
    assert!(said.contains("JSON is not edited"), "{said}");
    assert_eq!(fs::read(shelf.path("mcp.json")).unwrap(), before);
    shelf.write("home/config/toolshelf/mcp.json", "{}");
    let said = shelf.run(&["servers", "add", "a", "--", "x"]).fails(2);
    assert!(said.contains("would take its place"), "{said}");
    assert!(!shelf.path(OWN).exists());
}

#[test]
fn what_is_json_is_said_before_it_is_to_be_written() {
    let shelf = with_clients();
    shelf.write("other.json", "{\"mcpServers\": {}}");
    let listed = shelf.run(&["servers", "import", "--config", "other.json"]);
    assert!(
        listed.stderr.contains("JSON is not edited"),
        "{}",
        listed.stderr
    );
    assert!(!listed.stderr.contains("--write"), "{}", listed.stderr);
    listed.succeeds();
}

#[test]
fn a_shelf_without_a_configuration_is_said_not_to_take_the_first_one_over() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.run(&["mount", "mount"]).succeeds();
    let first = shelf.run(&["servers", "add", "a", "--", "x"]);
    assert!(
        first.stderr.contains("mount again to take it over"),
        "{}",
        first.stderr
    );
    first.succeeds();
    let second = shelf.run(&["servers", "add", "b", "--", "x"]);
    assert!(!second.stderr.contains("mount again"), "{}", second.stderr);
    second.succeeds();
    shelf.unmount();
}

#[test]
fn a_server_that_would_not_be_read_is_not_added() {
    let shelf = Shelf::new();
    let before = "[[servers]]\ncommand = \"x\"\n";
    let own = shelf.write(OWN, before);
    let said = shelf.run(&["servers", "add", "a", "--", "x"]).fails(2);
    assert!(said.contains("would not be read"), "{said}");
    assert_eq!(fs::read_to_string(&own).unwrap(), before);
    let said = shelf
        .run(&[
            "servers",
            "add",
            "a",
            "--config",
            "new.toml",
            "--url",
            "http://u:s3cret@h/",
        ])
        .fails(2);
    assert!(said.contains("has a user name in it"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    assert!(!shelf.path("new.toml").exists());
}

#[test]
fn a_check_says_all_that_is_wrong_at_once() {
    let shelf = Shelf::new();
    let faulty = "skills = [\"none\"]\n[servers.a]\ncommand = \"\"\n[servers.b]\ncommand = \"x\"\ntimeuot = \"1s\"\n[log]\nqueries = \"no\"\n";
    shelf.write("faulty.toml", faulty);
    let said = shelf.run(&["config", "check", "faulty.toml"]).fails(2);
    for line in [
        "faulty.toml:3: ",
        "faulty.toml:6: ",
        "faulty.toml:8: ",
        "unknown key `timeuot`",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let json = shelf.run(&["config", "check", "--json", "faulty.toml"]);
    assert_eq!(json.code, 2);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["problems"].as_array().unwrap().len(), 3);
    assert_eq!(json["warnings"].as_array().unwrap().len(), 1);

    shelf.write("broken.toml", "[servers\n");
    let said = shelf.run(&["config", "check", "broken.toml"]).fails(2);
    assert!(said.contains("broken.toml:1: "), "{said}");
    let said = shelf.run(&["config", "check", "absent.toml"]).fails(2);
    assert!(said.contains("absent.toml: cannot be read"), "{said}");
    shelf.run(&["config", "check"]).fails(3);
}

#[test]
fn what_may_be_there_for_the_shelf_is_a_warning() {
    let shelf = Shelf::new();
    let text = "[servers.a]\ncommand = \"x\"\nenv = { K = \"${NOT_SET_HERE}\", L = \"${X:-y}\" }\n[servers.off]\ncommand = \"${NOR_THIS}\"\ndisabled = true\n";
    shelf.write("shelf.toml", text);
    let finished = shelf.run(&["config", "check", "shelf.toml"]);
    assert!(
        finished.stderr.contains("shelf.toml:1: "),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stderr.contains("`NOT_SET_HERE`"),
        "{}",
        finished.stderr
    );
    assert!(!finished.stderr.contains("NOR_THIS"), "{}", finished.stderr);
    let path = shelf.path("shelf.toml");
    let verdict = format!(
        "{}: 2 servers, 0 skill directories, 1 warning\n",
        path.display()
    );
    assert_eq!(finished.succeeds(), verdict);
}

#[test]
fn the_default_configuration_can_be_started_from() {
    let shelf = Shelf::new();
    let text = shelf.run(&["config", "default"]).succeeds();
    let own = shelf.write(OWN, &text);
    let verdict = format!(
        "{}: 0 servers, 0 skill directories, nothing wrong\n",
        own.display()
    );
    assert_eq!(shelf.run(&["config", "check"]).succeeds(), verdict);
    shelf.run(&["servers", "add", "a", "--", "x"]).succeeds();
    let after = fs::read_to_string(&own).unwrap();
    assert_eq!(after, format!("{text}\n[servers.a]\ncommand = \"x\"\n"));
    let verdict = shelf.run(&["config", "check"]).succeeds();
    assert!(
        verdict.ends_with("1 server, 0 skill directories, nothing wrong\n"),
        "{verdict}"
    );
}
