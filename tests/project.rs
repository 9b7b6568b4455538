//! A project's own servers and skills: found where somebody works, and used only once they are trusted.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, lacks_program, lacks_root, workspace};
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

const NOTICE: &str = "not trusted: see shelf trust";

/// A user with a server of their own, and a project with one server and one skill.
fn shelf() -> Shelf {
    let shelf = Shelf::new();
    let own = json!({ "mcpServers": { "own": shelf.fake(&["--starts", "own-starts"]) } });
    shelf.write("home/config/toolshelf/mcp.json", own.to_string());
    fs::create_dir_all(shelf.path("app/.git")).unwrap();
    fs::create_dir_all(shelf.path("app/src")).unwrap();
    servers(&shelf, json!({ "theirs": theirs(&shelf, "starts") }));
    shelf.write(
        "app/.agents/skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Take notes of a meeting.\n---\n",
    );
    shelf
}

/// The project's server, which tells its starts in a file of the project: that is where it runs.
fn theirs(shelf: &Shelf, starts: &str) -> Value {
    let mut server = shelf.fake(&["--starts", starts]);
    server.as_object_mut().unwrap().remove("cwd");
    server
}

fn servers(shelf: &Shelf, servers: Value) {
    let written = shelf.write("app/new.json", json!({ "mcpServers": servers }).to_string());
    fs::rename(written, shelf.path("app/.mcp.json")).unwrap();
}

/// Runs `shelf` below the project.
fn within(shelf: &Shelf, arguments: &[&str]) -> Finished {
    let mut command = shelf.command(SHELF);
    command.current_dir(shelf.path("app/src")).args(arguments);
    Finished::of(&mut command)
}

fn trust(shelf: &Shelf) {
    shelf.run(&["trust", "app", "--yes"]).succeeds();
}

fn mount(shelf: &Shelf) -> PathBuf {
    shelf.path("mount")
}

fn problems(shelf: &Shelf) -> String {
    within(shelf, &["status", "--json"]).succeeds()
}

#[test]
fn an_untrusted_project_is_told_and_changes_nothing() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let place = mount(&shelf);
    let place = place.to_str().unwrap();
    let notice = format!(
        "this project has .mcp.json and .agents/skills, not trusted: see shelf trust {}\n",
        shelf.path("app").display()
    );
    let mounted = within(&shelf, &["mount", place]);
    assert_eq!(mounted.stderr, notice);
    mounted.succeeds();
    // With the `/` that a shell completes it reads like the id of a server.
    let misread = shelf.run(&["trust", "app/"]).fails(3);
    assert!(misread.contains("shelf trust ./app/"), "{misread}");
    let names: Vec<_> = fs::read_dir(shelf.mounted("mcp")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(!shelf.read("ALL.md").contains("notes"));
    for command in [&["list"][..], &["status"], &["search", "echo"]] {
        let finished = within(&shelf, command);
        assert!(finished.stderr.starts_with(&notice), "{}", finished.stderr);
        finished.succeeds();
    }
    // A call would say it each time, and who named a shelf has chosen.
    let call = within(&shelf, &["call", "own/echo", "--text", "x"]);
    assert_eq!((&*call.stdout, &*call.stderr), ("x", ""));
    within(&shelf, &["call", "theirs/echo", "--text", "x"]).fails(3);
    for named in [
        &["status", place][..],
        &["list", "--config", "../../home/config/toolshelf/mcp.json"],
    ] {
        assert_eq!(within(&shelf, named).stderr, "");
    }
    assert_eq!(shelf.run(&["list"]).stderr, "");
    shelf.unmount();
    // Without a daemon it is the same.
    let listed = within(&shelf, &["list"]);
    assert!(listed.stderr.contains(NOTICE) && !listed.stdout.contains("notes"));
    let mirrored = within(&shelf, &["mirror", "--once", "../../mirror"]);
    assert!(mirrored.stderr.contains(NOTICE), "{}", mirrored.stderr);
    assert!(!shelf.path("mirror/mcp/theirs").exists() && shelf.path("mirror/mcp/own").exists());
    assert_eq!(shelf.starts("app/starts"), 0);
    let given = [
        "mirror",
        "--once",
        "../../given",
        "--skills",
        "../../skills",
    ];
    assert_eq!(within(&shelf, &given).stderr, "");
}

#[test]
fn what_would_be_started_is_shown_and_only_a_yes_trusts_it() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    let evil = "sh\u{1b}[2K\r -c true";
    servers(
        &shelf,
        json!({
            "theirs": { "command": "server", "args": ["--key", "sk-12345678", "a b\u{202e}"],
                "env": { "TOKEN": "secret", "FROM": "${HOME}", "LD_PRELOAD": "./a8f3k2l9x7q1z33bb.so",
                "NODE_OPTIONS": "${NONE:---require=./payload.js}" }, "cwd": "sub" },
            evil: { "command": "x" },
            "safe: npx good": { "command": "evil" },
            "web": { "url": "https://example.test/mcp?x=@&key=secret", "headers": { "Authorization": "secret" } },
            "own": { "command": "shadow" },
            "broken": { "command": 1 },
        }),
    );
    let shown = shelf.run(&["trust", "app"]);
    assert_eq!(shown.code, 2, "{}", shown.stderr);
    assert!(shown.stderr.contains("--yes"), "{}", shown.stderr);
    for line in [
        "  theirs: server --key sk-12345678 'a b\\u{202e}'\n",
        "    in sub\n",
        "    env FROM=${HOME} LD_PRELOAD=./a8f3k2l9x7q1z33bb.so NODE_OPTIONS=${NONE:---require=./payload.js} TOKEN=***\n",
        "  'sh\\u{1b}[2K\\u{d} -c true': x\n",
        "  'safe: npx good': evil\n",
        "  web: connects to https://example.test/mcp?x=@&key=***\n",
        "    headers Authorization=***\n",
        "  own: shadow\n    left out: your own configuration has a server of this name\n",
        "  broken: can't be used: ",
        ".agents/skills has 1 skill: notes\n",
    ] {
        assert!(shown.stdout.contains(line), "{line}\n{}", shown.stdout);
    }
    let json = shelf.run(&["trust", "app", "--json"]).succeeds();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["trusted"], false);
    assert_eq!(json["skills"][0]["skills"], json!(["notes"]));
    assert!(!json.to_string().contains("secret"), "{json}");
    let mut servers = json["servers"].as_array().unwrap().iter();
    let theirs = servers.find(|server| server["name"] == "theirs").unwrap();
    assert_eq!(
        (&theirs["env"]["NODE_OPTIONS"], &theirs["env"]["LD_PRELOAD"]),
        (
            &json!("${NONE:---require=./payload.js}"),
            &json!("./a8f3k2l9x7q1z33bb.so")
        )
    );
    if !lacks_root() {
        std::os::unix::fs::chown(shelf.path("app/.mcp.json"), Some(1234), None).unwrap();
        let shown = shelf.run(&["trust", "app"]).stdout;
        assert!(
            shown.contains("app/.mcp.json belongs to user 1234\n"),
            "{shown}"
        );
    }

    let is_trusted = || shelf.run(&["trust", "--list"]).succeeds() != "";
    let answered = |answer: &str, meanwhile: &str| {
        let mut command = shelf.command("python3");
        let program = workspace().join("tests/servers/terminal.py");
        command.env("BEFORE_ANSWER", meanwhile).arg(program);
        // What was typed before the question stood there is no answer.
        Finished::of(command.args(["y\n", "[N]o: ", answer, SHELF, "trust", "app"]))
    };
    // A terminal that goes away ends the command.
    for (no, code) in [("\n", 5), ("no\n", 5), ("hang-up", 129)] {
        assert_eq!(answered(no, "").code, code, "{no}");
        assert!(!is_trusted());
    }
    // What is trusted is what was shown, not what lies there when the answer comes.
    let replace = r#"echo '{"mcpServers": {"evil": {"command": "evil"}}}' > app/.mcp.json"#;
    let yes = answered("y\n", replace);
    assert_eq!(yes.code, 0, "{}", yes.stdout);
    let listed = shelf.run(&["trust", "--list"]).succeeds();
    assert!(
        listed.contains("not as it was trusted: .mcp.json"),
        "{listed}"
    );
    let listed = within(&shelf, &["list"]);
    assert!(
        listed
            .stderr
            .contains("has .mcp.json, not as it was trusted")
    );

    shelf.run(&["trust", "--remove", "app"]).succeeds();
    assert!(!is_trusted());
    shelf.run(&["trust", "--remove", "app"]).fails(3);
    shelf.write("app/.mcp.json", "{\n\"mcpServers\": [}\n}");
    let fault = shelf.run(&["trust", "app", "--yes"]).fails(2);
    assert!(fault.contains("app/.mcp.json:2"), "{fault}");
    assert!(!is_trusted());
    // An id is no project, and neither is the home directory.
    shelf.run(&["trust", "own/echo", "--json"]).fails(2);
    shelf.run(&["trust", "home", "--yes"]).fails(2);
}

#[test]
fn what_is_no_text_is_told_by_its_bytes() {
    let shelf = Shelf::new();
    let place = shelf.path("app").join(OsStr::from_bytes(b"p\xff"));
    let skill = place
        .join(".agents/skills")
        .join(OsStr::from_bytes(b"n\xff"));
    fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: n\ndescription: Take notes of a meeting.\n---\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    let mut command = shelf.command(SHELF);
    command.args(["trust", "--yes", "--json"]).arg(&place);
    let trusted: Value = serde_json::from_str(&Finished::of(&mut command).succeeds()).unwrap();
    let bytes = |path: PathBuf| json!(path.into_os_string().into_vec());
    let directory = fs::canonicalize(&place).unwrap();
    assert_eq!(trusted["directory"], bytes(directory.clone()));
    let skills = &trusted["skills"][0];
    assert_eq!(skills["path"], bytes(directory.join(".agents/skills")));
    assert_eq!(skills["skills"], json!([[110, 255]]));
    let listed = shelf.run(&["trust", "--list", "--json"]).succeeds();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        listed["projects"][0]["trust"]["directory"],
        trusted["directory"]
    );
}

#[test]
fn a_trusted_project_comes_beside_the_users_own_and_is_served_as_it_was_trusted() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    servers(
        &shelf,
        json!({ "theirs": theirs(&shelf, "starts"), "own": theirs(&shelf, "shadow-starts") }),
    );
    trust(&shelf);
    let place = mount(&shelf);
    let mounted = within(&shelf, &["mount", place.to_str().unwrap()]);
    assert!(!mounted.stderr.contains("trusted"), "{}", mounted.stderr);
    mounted.succeeds();
    for (server, starts) in [("theirs", "app/starts"), ("own", "own-starts")] {
        let id = format!("{server}/echo");
        within(&shelf, &["call", &id, "--text", "x"]).succeeds();
        assert_ne!(shelf.starts(starts), 0, "{server}");
    }
    assert_eq!(shelf.starts("app/shadow-starts"), 0);
    let said = problems(&shelf);
    assert!(
        said.contains("server `own` of the project is left out"),
        "{said}"
    );
    assert!(shelf.read("skills/notes/SKILL.md").contains("Take notes"));

    // Changed, it goes on as it was trusted; mended, nothing is said any more.
    let trusted = fs::read(shelf.path("app/.mcp.json")).unwrap();
    servers(&shelf, json!({ "evil": theirs(&shelf, "evil-starts") }));
    wait_until("the change is told", || {
        problems(&shelf)
            .contains("has changed since it was trusted; what was trusted is still in use")
    });
    within(&shelf, &["call", "theirs/echo", "--text", "x"]).succeeds();
    let told = within(&shelf, &["status"]).stderr;
    assert!(
        told.contains("has .mcp.json, not as it was trusted"),
        "{told}"
    );
    let own = fs::read_to_string(shelf.path("home/config/toolshelf/mcp.json")).unwrap();
    shelf.write(
        "home/config/toolshelf/mcp.json",
        own.replace("\"own\"", "\"mine\""),
    );
    shelf.wait_for_text("mcp/mine/STATUS", |_| true);
    within(&shelf, &["call", "theirs/echo", "--text", "x"]).succeeds();
    assert_eq!(shelf.starts("app/evil-starts"), 0);

    // A daemon of its own that starts now has only what is trusted as it is.
    let mirrored = within(&shelf, &["mirror", "--once", "../../mirror"]);
    assert!(
        mirrored.stderr.contains("its servers are left out"),
        "{}",
        mirrored.stderr
    );
    assert!(!shelf.path("mirror/mcp/theirs").exists());
    assert!(shelf.path("mirror/skills/notes/SKILL.md").exists());

    trust(&shelf);
    shelf.wait_for_text("mcp/evil/STATUS", |_| true);
    wait_until("it is listed", || shelf.starts("app/evil-starts") > 0);
    assert!(!shelf.mounted("mcp/theirs").exists());
    shelf.write("app/.mcp.json", trusted);
    trust(&shelf);
    shelf.wait_for_text("mcp/theirs/STATUS", |_| true);

    // Trust can be taken back whatever the user's own configuration is like.
    shelf.write("home/config/toolshelf/mcp.json", "{");
    wait_until("the fault is told", || {
        problems(&shelf).contains("the configuration from before is still in use")
    });
    within(&shelf, &["call", "theirs/echo", "--text", "x"]).succeeds();
    shelf.run(&["trust", "--remove", "app"]).succeeds();
    wait_until("its servers and skills go", || {
        !shelf.mounted("mcp/theirs").exists() && !shelf.mounted("skills/notes").exists()
    });
    assert!(shelf.mounted("mcp/mine").exists());
    shelf.unmount();
}

#[test]
fn within_a_trusted_project_another_shelf_is_not_taken_for_its_own() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let place = mount(&shelf);
    let place = place.to_str().unwrap();
    shelf.run(&["mount", place]).succeeds();
    let pid = |finished: Finished| {
        let status: Value = serde_json::from_str(&finished.succeeds()).unwrap();
        (status["pid"].clone(), status["catalog"].clone())
    };
    let status = ["status", "--json"];
    let outside = pid(shelf.run(&status));
    // It is the one that is meant everywhere as long as the project is not trusted.
    assert_eq!(pid(within(&shelf, &status)), outside);
    trust(&shelf);
    let none = within(&shelf, &status).fails(6);
    assert!(
        none.contains("trusted project") && none.contains("app"),
        "{none}"
    );
    assert_eq!(pid(within(&shelf, &["status", place, "--json"])), outside);
    assert!(within(&shelf, &["list"]).stdout.contains("skills/notes"));
    let own = "../../home/config/toolshelf/mcp.json";
    let named = within(&shelf, &["list", "--config", own]).succeeds();
    assert!(named.contains("own/echo") && !named.contains("skills/notes"));
    let given = ["mirror", "--once", "../../given", "--config", own];
    within(&shelf, &given).succeeds();
    assert!(!shelf.path("given/skills/notes").exists());
    // A call starts one that has both.
    within(&shelf, &["call", "theirs/echo", "--text", "x"]).succeeds();
    within(&shelf, &["call", "own/echo", "--text", "x"]).succeeds();
    let inside = pid(within(&shelf, &status));
    assert!(inside.0 != outside.0 && inside.1 != outside.1);
    let shown = within(&shelf, &["status"]).stdout;
    let line = format!("project: {}\n", shelf.path("app").display());
    assert!(shown.contains(&line), "{shown}");
    // Outside it is nobody's choice.
    assert_eq!(pid(shelf.run(&status)), outside);
    shelf.run(&["call", "theirs/echo", "--text", "x"]).fails(3);
    // A project within the project is not trusted with it.
    shelf.write("app/src/.mcp.json", "{}");
    assert_eq!(pid(within(&shelf, &status)), outside);
    shelf.run(&["unmount", "--project", "app"]).succeeds();
    shelf.run(&["unmount", "--project", "app"]).fails(6);
    shelf.unmount();
}
