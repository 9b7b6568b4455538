//! Results: what of them is printed where, what goes into files, and what is said about them.

mod limits;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, workspace};
use crate::support::shelf::{Finished, Shelf};
use crate::support::wait_for;

/// A mounted shelf with a server that gives whatever is asked for.
fn shelf() -> Shelf {
    let shelf = Shelf::new();
    let program = workspace().join("tests/servers/results.py");
    shelf.servers(json!({
        "results": { "command": "python3", "args": [program] },
        "fake": shelf.fake(&[]),
    }));
    shelf.mount();
    shelf
}

/// Calls a tool whose result is given, with options of ours.
fn give(shelf: &Shelf, options: &[&str], tool: &str, result: &Value) -> Finished {
    let json = result.to_string();
    let words = [&["call"], options, &[tool, "--json", &json]].concat();
    shelf.run(&words)
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// The path at the end of what was said of a result that was cut.
#[track_caller]
fn path_in(stderr: &str) -> PathBuf {
    let (_, path) = stderr.trim_end().rsplit_once(": ").unwrap();
    PathBuf::from(path)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// What a terminal shows of a script.
fn on_a_terminal(shelf: &Shelf, script: &str) -> String {
    let spawn = "import pty, sys; pty.spawn(['sh', '-c', sys.argv[1]])";
    let mut command = shelf.command("python3");
    Finished::of(command.args(["-c", spawn, script])).succeeds()
}

#[test]
fn every_kind_of_block_goes_where_it_belongs() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let result = json!({ "content": [
        { "type": "text", "text": "one" },
        { "type": "image", "data": "aW1hZ2U=", "mimeType": "image/png", "name": "../../evil.sh" },
        { "type": "text", "text": "two\n" },
        { "type": "audio", "data": "YXVk\naW8=", "mimeType": "audio/../../evil" },
        { "type": "resource_link", "uri": "file:///a", "name": "a" },
        { "type": "resource", "resource": { "uri": "x:t", "text": "three" } },
        { "type": "resource", "resource": { "uri": "x:../../b.sh", "blob": "YmxvYg", "mimeType": "application/pdf" } },
        { "type": "hologram", "depth": 1 },
    ]});
    let finished = give(&shelf, &[], "results/give", &result);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert_eq!(
        finished.stdout,
        "one\ntwo\nfile:///a\nthree\n{\"type\":\"hologram\",\"depth\":1}"
    );
    let results = shelf.path("cache/toolshelf/results");
    assert_eq!(mode(&results), 0o700);
    let (commands, paths): (Vec<_>, Vec<_>) = finished
        .stderr
        .lines()
        .partition(|line| line.starts_with("shelf "));
    assert_eq!(commands, ["shelf read results file:///a"]);
    let expected = [("png", "image"), ("bin", "audio"), ("pdf", "blob")];
    assert_eq!(paths.len(), expected.len(), "{}", finished.stderr);
    for (path, (extension, content)) in paths.into_iter().map(Path::new).zip(expected) {
        assert_eq!(path.parent().unwrap(), results);
        assert_eq!(path.extension().unwrap(), extension);
        assert_eq!(fs::read_to_string(path).unwrap(), content);
        assert_eq!(mode(path), 0o600);
        assert!(!path.to_str().unwrap().contains("evil"));
    }
}

#[test]
fn a_result_has_the_form_that_is_asked_for() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let image = json!({ "content": [
        { "type": "text", "text": "a picture" },
        { "type": "image", "data": "aW1hZ2U=", "mimeType": "image/png" },
    ]});
    let to = |place: &str| give(&shelf, &["--out", place], "results/give", &image);
    assert_eq!(to("new.png").succeeds(), "a picture");
    assert_eq!(fs::read_to_string(shelf.path("new.png")).unwrap(), "image");
    fs::create_dir(shelf.path("pictures")).unwrap();
    let listed = to("pictures").stderr;
    assert_eq!(
        fs::read_to_string(shelf.path(listed.trim_end())).unwrap(),
        "image"
    );
    let piped = to("-");
    assert_eq!((&*piped.stdout, &*piped.stderr), ("image", "a picture\n"));
    let nothing = give(&shelf, &["--out", "-"], "results/give", &text("words"));
    assert!(nothing.fails(65).starts_with("words\n"));

    let sent = r#"{"structuredContent": {"b": 1e3, "a": "é"}, "x-more": [ ]}"#;
    let call = |option| shelf.call(&[option, "results/give", "--json", sent]);
    assert_eq!(call("--json"), format!("{sent}\n"));
    assert_eq!(call("--data"), "{\"b\": 1e3, \"a\": \"é\"}\n");
}

#[test]
fn data_that_is_not_base64_is_no_image() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let block = json!({ "type": "image", "data": "no base64!", "mimeType": "image/png" });
    let image = json!({ "content": [block] });
    for place in ["new.png", "-"] {
        let refused = give(&shelf, &["--out", place], "results/give", &image);
        assert_eq!((refused.code, &*refused.stdout), (65, ""), "{place}");
        assert!(refused.stderr.contains("not base64"), "{}", refused.stderr);
    }
    assert!(!shelf.path("new.png").exists());
    let kept = give(&shelf, &[], "results/give", &image);
    let (path, warning) = kept.stderr.split_once('\n').unwrap();
    assert_eq!(kept.code, 0);
    assert!(warning.contains("not base64"), "{warning}");
    assert!(path.ends_with(".json"), "{path}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(kept, block);
}

#[test]
fn files_that_do_not_go_where_they_were_to_go_are_kept() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let image = |data: &str| json!({ "type": "image", "data": data, "mimeType": "image/png" });
    let two = json!({ "content": [image("b25l"), image("dHdv")] });
    for place in ["one.png", "-"] {
        let refused = give(&shelf, &["--out", place], "results/give", &two);
        assert_eq!((refused.code, &*refused.stdout), (65, ""));
        let paths = refused.stderr.lines().filter(|line| line.ends_with(".png"));
        let kept: Vec<_> = paths
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        assert_eq!(kept, ["one", "two"], "{}", refused.stderr);
    }
}

#[test]
fn each_line_tells_what_its_call_warns_of() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let line = |result: &Value| json!({ "json": result.to_string() }).to_string() + "\n";
    let fits = json!({ "content": [], "structuredContent": { "sum": 1 } });
    let lines = line(&fits) + &line(&text("no structured content"));
    let words = ["call", "--each", "-", "results/typed"];
    let ran = shelf.run_with_input(&words, lines.as_bytes()).succeeds();
    let told: Vec<Value> = ran
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["warnings"].take())
        .collect();
    assert_eq!(told[0], Value::Null);
    let warning = told[1][0].as_str().unwrap();
    assert!(warning.contains("no structured content"), "{warning}");
}

#[test]
fn an_empty_result_is_nothing() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    for result in [json!({}), json!({ "content": [] }), text("")] {
        let finished = give(&shelf, &[], "results/give", &result);
        assert_eq!(
            (finished.code, finished.stdout, finished.stderr),
            (0, String::new(), String::new()),
            "{result}"
        );
    }
    let many = json!({ "content": vec![json!({ "type": "text", "text": "x" }); 1000] });
    let printed = give(&shelf, &[], "results/give", &many).succeeds();
    assert_eq!(printed.lines().count(), 1000);
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let quits = |call: &str| {
        let finished = shelf.shell(&format!(
            "shelf call {call} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        ));
        assert_eq!(finished.stderr, "", "{call}");
        finished.stdout
    };
    assert_eq!(quits("results/long --count 300000"), "0\n");
    assert_eq!(quits("--json results/long --count 300000"), "0\n");
    assert_eq!(quits("--out - results/image --count 3000000"), "0\n");
    // That the tool failed is still so.
    let error =
        json!({ "content": [{ "type": "text", "text": "x".repeat(100_000) }], "isError": true });
    let file = shelf.write(
        "error.json",
        json!({ "json": error.to_string() }).to_string(),
    );
    let call = format!("--json --args @{} results/give", file.display());
    assert_eq!(quits(&call), "1\n");
}

#[test]
fn what_cannot_be_printed_is_kept() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let full = shelf.shell("shelf call results/long --count 2 >/dev/full");
    assert_eq!(full.code, 70, "{}", full.stderr);
    let kept = full.stderr.lines().next().unwrap();
    assert!(kept.starts_with("the whole result: "), "{kept}");
    assert_eq!(
        fs::read_to_string(path_in(kept)).unwrap(),
        "line 1\nline 2\n"
    );
    let full = shelf.shell("shelf call --out - results/image --count 5 >/dev/full");
    let kept = path_in(full.stderr.lines().next().unwrap());
    assert_eq!((fs::read(&kept).unwrap(), mode(&kept)), (vec![0; 5], 0o600));
    // No result at all by the protocol: it may be worth something to who reads it.
    let odd = json!({ "content": "words" });
    let said = give(&shelf, &[], "results/give", &odd).fails(4);
    let kept = path_in(said.lines().next().unwrap());
    assert_eq!(fs::read_to_string(kept).unwrap(), odd.to_string());
    let structured = json!({ "structuredContent": { "a": 1 } });
    let said = give(&shelf, &["--out", "x.png"], "results/give", &structured).fails(65);
    assert!(said.starts_with("{\"a\":1}\n"), "{said}");
}

#[test]
fn a_result_that_does_not_fit_its_schema_is_printed_with_a_warning() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let good = json!({ "content": [], "structuredContent": { "sum": 3, "unit": "m" } });
    let finished = give(&shelf, &["--data"], "results/typed", &good);
    assert_eq!(
        (&*finished.stdout, &*finished.stderr),
        ("{\"sum\":3,\"unit\":\"m\"}\n", "")
    );

    let bad = json!({ "structuredContent": { "sum": "three", "unit": "kg" } });
    let finished = give(&shelf, &["--json"], "results/typed", &bad);
    assert_eq!((finished.code, finished.stdout), (0, format!("{bad}\n")));
    assert!(
        finished
            .stderr
            .starts_with("warning: results/typed: the structured content")
    );
    for fault in ["\n  /sum: must be number", "\n  /unit: must be"] {
        assert!(finished.stderr.contains(fault), "{}", finished.stderr);
    }

    let finished = give(&shelf, &[], "results/typed", &text("3"));
    assert_eq!((finished.code, &*finished.stdout), (0, "3"));
    assert!(
        finished.stderr.contains("no structured content"),
        "{}",
        finished.stderr
    );

    let error = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
    assert_eq!(give(&shelf, &[], "results/typed", &error).fails(1), "no\n");
}

#[test]
fn a_check_neither_fetches_nor_takes_for_ever() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let finished = give(&shelf, &[], "results/remote", &text("x"));
    assert_eq!((finished.code, &*finished.stdout), (0, "x"));
    assert!(
        finished.stderr.contains("never fetched"),
        "{}",
        finished.stderr
    );
    let slow = shelf.run(&["call", "results/slow", "--count", "300000"]);
    assert_eq!(slow.code, 0);
    assert!(
        slow.stderr.contains("it took more than 1s"),
        "{}",
        slow.stderr
    );
}

#[test]
fn a_terminal_shows_progress_and_is_not_steered_by_results() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    // Reports that come with the result may be left out, so it is tried until one is seen.
    wait_for("progress is shown", || {
        let shown = on_a_terminal(&shelf, "shelf call fake/sleep --seconds 0.1");
        assert!(shown.ends_with("slept"), "{shown:?}");
        shown.contains("of 3 step").then_some(())
    });
    let piped = shelf.run(&["call", "fake/sleep", "--seconds", "0.1"]);
    assert_eq!((&*piped.stdout, &*piped.stderr), ("slept", ""));

    let steering = text("a\u{1b}[2Jb\u{9b}2Jc\u{202e}d");
    assert_eq!(
        give(&shelf, &[], "results/give", &steering).succeeds(),
        "a\u{1b}[2Jb\u{9b}2Jc\u{202e}d"
    );
    shelf.write(
        "steering.json",
        json!({ "json": steering.to_string() }).to_string(),
    );
    for option in ["", "--json"] {
        let call = format!("shelf call {option} --args @steering.json results/give 2>/dev/null");
        let shown = on_a_terminal(&shelf, &call);
        assert!(
            !shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']),
            "{shown:?}"
        );
    }
    let image = "shelf call --out - results/image --count 3; echo code $?";
    let shown = on_a_terminal(&shelf, image);
    assert!(
        shown.contains("not for a terminal") && shown.contains("code 2"),
        "{shown:?}"
    );
}
