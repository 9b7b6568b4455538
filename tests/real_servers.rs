//! Servers as they are published, from npm and PyPI in the versions that `tests/run` pins.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, real_servers};
use crate::support::shelf::Shelf;
use crate::support::wait_until;

/// A mounted shelf with one of them; `None` where it or a mount is missing.
fn shelf(program: &str, arguments: &[&str]) -> Option<Shelf> {
    shelf_with(program, arguments, &json!({}))
}

/// The same, with more in its entry of the configuration.
fn shelf_with(program: &str, arguments: &[&str], more: &Value) -> Option<Shelf> {
    if lacks_mount() {
        return None;
    }
    let program = real_servers()?.join(program);
    let shelf = Shelf::new();
    let mut server = json!({ "command": program, "args": arguments });
    for (key, value) in more.as_object().unwrap() {
        server[key] = value.clone();
    }
    shelf.servers(json!({ "real": server }));
    // Node and Python start slowly on a machine that does other things.
    shelf.mount_with(&["--wait", "60"]).succeeds();
    let index = shelf.read("INDEX.md");
    assert!(
        !index.contains("not known yet"),
        "{}",
        shelf.read("mcp/real/STATUS")
    );
    Some(shelf)
}

#[test]
fn everything() {
    let Some(shelf) = shelf("mcp-server-everything", &["stdio"]) else {
        return;
    };
    assert!(shelf.read("mcp/real/INDEX.md").contains("echo"));
    let echoed = shelf.call(&["real/echo", "--message", "007"]);
    assert!(echoed.contains("007"), "{echoed}");
    let sum = shelf.call(&["real/get-sum", "--a", "2", "--b", "40"]);
    assert!(sum.contains("42"), "{sum}");

    let image = shelf.run(&["call", "real/get-tiny-image"]);
    assert_eq!(image.code, 0, "{}", image.stderr);
    assert!(
        !image.stdout.contains("iVBOR"),
        "no base64: {}",
        image.stdout
    );
    let path = image
        .stderr
        .lines()
        .find(|line| line.ends_with(".png"))
        .unwrap();
    is_private_png(Path::new(path));
    let chosen = shelf.path("chosen.png");
    shelf.call(&["--out", chosen.to_str().unwrap(), "real/get-tiny-image"]);
    assert_eq!(fs::read(chosen).unwrap(), fs::read(path).unwrap());

    let structured = shelf.call(&[
        "--data",
        "real/get-structured-content",
        "--location",
        "Chicago",
    ]);
    let structured: Value = serde_json::from_str(&structured).unwrap();
    assert!(structured["temperature"].is_number(), "{structured}");
    let refused = shelf.run(&[
        "call",
        "real/get-structured-content",
        "--location",
        "Atlantis",
    ]);
    assert!(refused.fails(2).contains("Chicago"));
}

#[test]
fn what_everything_offers_beside_its_tools() {
    let Some(shelf) = shelf("mcp-server-everything", &["stdio"]) else {
        return;
    };
    let resources = shelf.read("mcp/real/RESOURCES.md");
    let command = resources
        .lines()
        .find(|line| line.contains("shelf read real ") && line.ends_with("/startup.md"))
        .unwrap();
    let document = shelf.shell(command.trim_start()).succeeds();
    assert!(document.contains("Startup"), "{document}");
    let read = |uri: &str| shelf.run(&["read", "real", uri]);
    let text = read("demo://resource/dynamic/text/7").succeeds();
    assert!(text.starts_with("Resource 7"), "{text}");
    let blob = read("demo://resource/dynamic/blob/7");
    let kept = fs::read_to_string(blob.stderr.trim_end()).unwrap();
    assert!(kept.starts_with("Resource 7"), "{kept}");
    read("demo://resource/static/nothing").fails(3);
    assert!(
        resources.contains("'demo://resource/dynamic/text/{resourceId}'"),
        "{resources}"
    );

    let prompts = shelf.read("mcp/real/PROMPTS.md");
    assert!(
        prompts.contains("shelf prompt --arg city=text real args-prompt"),
        "{prompts}"
    );
    let weather = shelf.run(&["prompt", "real", "args-prompt", "--arg", "city=Lisbon"]);
    assert!(weather.succeeds().contains("Lisbon"));
    shelf.run(&["prompt", "real", "args-prompt"]).fails(2);

    let linked = shelf.run(&["call", "real/get-resource-links", "--count", "1"]);
    let commands: Vec<&str> = linked.stderr.lines().collect();
    assert_eq!(commands.len(), 1, "{}", linked.stderr);
    shelf.shell(commands[0]).succeeds();
}

fn is_private_png(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn filesystem() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    fs::write(directory.join("note.txt"), "read by a server").unwrap();
    let arguments = [directory.to_str().unwrap()];
    let Some(shelf) = shelf("mcp-server-filesystem", &arguments) else {
        return;
    };
    let note = directory.join("note.txt");
    let read = shelf.call(&["real/read_text_file", "--path", note.to_str().unwrap()]);
    assert!(read.contains("read by a server"), "{read}");
    let outside = shelf.run(&["call", "real/read_text_file", "--path", "/etc/passwd"]);
    let said = outside.fails(1);
    assert!(said.contains("denied"), "{said}");
}

#[test]
fn the_first_call_after_a_start_has_the_roots() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    fs::write(directory.join("note.txt"), "read by a server").unwrap();
    let roots = json!({ "roots": [directory] });
    let Some(shelf) = shelf_with("mcp-server-filesystem", &[], &roots) else {
        return;
    };
    let note = directory.join("note.txt");
    for _ in 0..3 {
        let read = shelf.call(&["real/read_text_file", "--path", note.to_str().unwrap()]);
        assert!(read.contains("read by a server"), "{read}");
        shelf.run(&["servers", "stop", "real"]).succeeds();
    }
}

#[test]
fn memory() {
    let Some(shelf) = shelf("mcp-server-memory", &[]) else {
        return;
    };
    let entity =
        r#"{"entities": [{"name": "Ada", "entityType": "person", "observations": ["007"]}]}"#;
    shelf.call(&["--args", entity, "real/create_entities"]);
    let graph: Value = serde_json::from_str(&shelf.call(&["--data", "real/read_graph"])).unwrap();
    assert_eq!(graph["entities"][0]["observations"], json!(["007"]));
}

#[test]
fn time() {
    let Some(shelf) = shelf("mcp-server-time", &[]) else {
        return;
    };
    let converted = shelf.call(&[
        "real/convert_time",
        "--source_timezone",
        "Asia/Tokyo",
        "--time",
        "09:00",
        "--target_timezone",
        "UTC",
    ]);
    let converted: Value = serde_json::from_str(&converted).unwrap();
    let target = converted["target"]["datetime"].as_str().unwrap();
    assert!(target.contains("T00:00:00"), "{converted}");
    let nowhere = shelf.run(&[
        "call",
        "real/get_current_time",
        "--timezone",
        "Nowhere/Land",
    ]);
    assert!(nowhere.fails(1).contains("Nowhere/Land"));
}

#[test]
fn git() {
    let directory = tempfile::tempdir().unwrap();
    let repository = directory.path().join("repository");
    let arguments = ["--repository", repository.to_str().unwrap()];
    let script = "git init -q repository && cd repository && echo text > file && git add file \
        && git -c user.name=t -c user.email=t@example.invalid commit -qm 'Say something'";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).current_dir(directory.path());
    assert!(shell.status().unwrap().success());
    let Some(shelf) = shelf("mcp-server-git", &arguments) else {
        return;
    };
    let log = shelf.call(&[
        "real/git_log",
        "--repo_path",
        arguments[1],
        "--max_count",
        "1",
    ]);
    assert!(log.contains("Say something"), "{log}");
    let elsewhere = shelf.run(&[
        "call",
        "real/git_status",
        "--repo_path",
        "/no/such/repository",
    ]);
    elsewhere.fails(1);
}

/// A server that runs apart from any shelf; it ends when this is dropped.
struct Apart(Child);

impl Drop for Apart {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn everything_over_http() {
    let Some(programs) = real_servers() else {
        return;
    };
    // The port is free at this moment, which has to do: the server can't be told to choose one.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let start = || {
        let mut command = Command::new(programs.join("mcp-server-everything"));
        command.arg("streamableHttp").env("PORT", port.to_string());
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Apart(child.spawn().unwrap());
        wait_until("the server listens", || {
            TcpStream::connect(("localhost", port)).is_ok()
        });
        server
    };
    let shelf = Shelf::new();
    shelf.servers(json!({ "real": { "url": format!("http://localhost:{port}/mcp") } }));
    let server = start();
    shelf.mirror();
    shelf.wait_for_text("mcp/real/STATUS", |status| status != "starting\n");
    assert!(
        shelf
            .read("mcp/real/SERVER.md")
            .contains("Reached over HTTP")
    );
    let echoed = shelf.call(&["real/echo", "--message", "007"]);
    assert!(echoed.contains("007"), "{echoed}");

    drop(server);
    let call = ["call", "real/echo", "--message", "again"];
    let nobody = shelf.run(&call).fails(4);
    assert!(nobody.contains("could not be reached"), "{nobody}");
    // The new one knows nothing of the session.
    let _server = start();
    let echoed = shelf.run(&call).succeeds();
    assert!(echoed.contains("again"), "{echoed}");
    shelf.unmount();
}
