//! The programs in `bin/`: run as users and scripts run programs, each run is a call and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::needs::{lacks_mount, lacks_program, lacks_root};
use crate::support::shelf::{Finished, Shelf};

/// Puts the programs of the mount into `PATH`.
const IN_PATH: &str = "PATH=$PWD/mount/bin:$PATH\n";

/// A mounted shelf with a fake server that writes down what it is called with.
fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &["--calls", "calls", "--odd-names"]);
    shelf.mount();
    shelf
}

/// Runs a script that has the programs in its `PATH`.
fn script(shelf: &Shelf, script: &str) -> Finished {
    shelf.shell(&format!("{IN_PATH}{script}"))
}

/// What the server was called with, a line a call.
fn calls(shelf: &Shelf) -> Vec<String> {
    let text = fs::read_to_string(shelf.path("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_tool_is_run_by_its_name_and_by_any_path() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    for command in [
        "fake.echo --text x",
        "$PWD/mount/bin/fake.echo --text x",
        "mount/bin/fake.echo --text x",
        "./mount/bin/fake.echo --text x",
        "cd mount/mcp/fake; ../../bin/fake.echo --text x",
        "cd mount/bin; ./fake.echo --text x",
        "cd mount/bin; PATH=:$PATH; fake.echo --text x",
        "PATH=mount/bin:$PATH; fake.echo --text x",
        "ln -s $PWD/mount/bin/fake.echo say; ./say --text x",
        "ln -s mount link; link/bin/fake.echo --text x",
        "sh mount/bin/fake.echo --text x",
        "env fake.echo --text x",
        "echo x | xargs fake.echo --text",
        "find . -maxdepth 0 -exec fake.echo --text x \\;",
        "python3 -c 'import subprocess; subprocess.run([\"fake.echo\", \"--text\", \"x\"], check=True)'",
        "printf '#!/bin/sh\\nexec fake.echo \"$@\"\\n' >own; chmod +x own; ./own --text x",
    ] {
        let run = script(&shelf, command);
        assert_eq!((&*run.stdout, &*run.stderr), ("x", ""), "{command}");
    }
    assert_eq!(calls(&shelf), [r#"["echo", {"text": "x"}]"#; 16]);
}

#[test]
fn arguments_arrive_as_they_were_given() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    for text in [
        "",
        "two words",
        "it's \"quoted\" $HOME `id` \\n *",
        "two\nlines\n",
        "--help",
        "--",
        "-x",
        "ä→\t",
    ] {
        let mut command = shelf.command(shelf.mounted("bin/fake.echo"));
        let run = Finished::of(command.args(["--text", text]));
        let called = shelf.run(&["call", "fake/echo", "--text", text]);
        assert_eq!(
            (run.code, &run.stdout, &run.stderr),
            (called.code, &called.stdout, &called.stderr),
            "{text}"
        );
    }
    let spread = script(&shelf, "fake.echo --text '  a  b  '").succeeds();
    assert_eq!(spread, "  a  b  ");
    // Whatever is in the environment stays what it was, and the standard input is the caller's.
    let lines = "printf 'a\\nb\\n' | while read -r line; do fake.echo --text \"$line\"; done";
    assert_eq!(script(&shelf, lines).succeeds(), "ab");
}

#[test]
fn every_end_of_it_is_that_of_a_call() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let help = script(&shelf, "fake.echo --help").succeeds();
    assert_eq!(help, shelf.read("mcp/fake/echo.md"));
    assert_eq!(calls(&shelf), [""; 0]);

    let failed = script(&shelf, "fake.fail").fails(1);
    assert_eq!(failed, "it did not work\n");
    let wrong = script(&shelf, "fake.echo --txet x").fails(2);
    assert!(wrong.contains("--text"), "{wrong}");
    let ours = script(&shelf, "fake.echo --json --text x").fails(2);
    assert!(ours.contains("before the id"), "{ours}");
    let crashed = script(&shelf, "fake.crash --text 'out of coffee'").fails(4);
    assert!(crashed.contains("out of coffee"), "{crashed}");
    let completed = script(&shelf, "shelf call mount/bin/fake.echo --text x");
    assert_eq!(completed.succeeds(), "x");
    let misspelt = script(&shelf, "shelf call ./mount/bin/fake.ecko").fails(3);
    assert!(misspelt.contains("fake/echo"), "{misspelt}");
    assert_eq!(calls(&shelf).len(), 3);
}

#[test]
fn without_the_command_it_says_what_is_missing() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let program = shelf.mounted("bin/fake.echo");
    let run = Finished::of(shelf.command(program).env("PATH", "/nowhere"));
    let said = run.fails(127);
    assert!(said.contains("shelf: not found"), "{said}");
}

#[test]
fn odd_names_stay_runnable() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    let odd = shelf.fake(&["--odd-names"]);
    shelf.servers(json!({ "a.b": odd, "-s": odd, "a": odd }));
    shelf.mount();
    let listed = shelf
        .shell("cd mount/bin && ls | wc -l; ls -A1 .. | grep -c bin")
        .succeeds();
    let tools = shelf
        .shell("ls mount/mcp/*/*.md | grep -vc -e INDEX -e SERVER")
        .succeeds();
    assert_eq!(listed, format!("{tools}1\n"));
    for (program, answer) in [
        ("a%2Eb.a%2Fb", "a/b"),
        ("a%2Eb.a.b", "a.b"),
        ("a.a.b", "a.b"),
        ("%2Ds.%7Ex", "~x"),
        ("%2Ds.%2Dx", "-x"),
        ("a.with space", "with space"),
        ("a.it's \"$(x)\" `y` \\c", "it's \"$(x)\" `y` \\c"),
        ("a.two%0Alines", "two\nlines"),
    ] {
        let run = Finished::of(&mut shelf.command(shelf.mounted("bin").join(program)));
        assert_eq!(run.succeeds(), answer, "{program}");
    }
    // Where the name alone is too long for a file, too.
    let long = shelf
        .shell("cd mount/bin && for name in a*.xxx*; do ./\"$name\"; done")
        .succeeds();
    assert_eq!(long, "x".repeat(500));
}

#[test]
fn reading_it_is_no_call_and_running_it_is_nothing_else() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let modes = shelf
        .shell("cd mount; stat -c %a bin/*; test -x bin/fake.echo && ! test -x INDEX.md")
        .succeeds();
    assert!(modes.lines().all(|mode| mode == "555"), "{modes}");
    let programs = shelf.shell(
        "cat mount/bin/* >/dev/null; cat mount/README.md >/dev/null
        for program in mount/bin/*; do sha256sum <\"$program\"; done | sort -u | wc -l",
    );
    assert_eq!(programs.succeeds(), "1\n", "all are the same");
    assert_eq!(calls(&shelf), [""; 0]);
    let run = format!("{IN_PATH}SHELF_SESSION=mine fake.echo --text x");
    assert_eq!(shelf.shell(&run).succeeds(), "x");
    shelf.wait_for_line("the call", |line| line["event"] == "call");
    shelf.wait_for_line("the other file", |line| line["path"] == "README.md");
    let of_entry = shelf.log(&["--entry", "fake/echo"]);
    assert_eq!(of_entry.len(), 1, "{of_entry:?}");
    assert_eq!(of_entry[0]["session"], "mine");
    let opened = shelf.log(&[]);
    let is_program = |line: &Value| {
        line["path"]
            .as_str()
            .is_some_and(|path| path.starts_with("bin/"))
    };
    assert!(!opened.iter().any(is_program), "{opened:?}");
    // Its path names the entry like any other.
    let shown = shelf.run(&["show", "./mount/bin/fake.echo"]).succeeds();
    assert_eq!(shown, shelf.read("mcp/fake/echo.md"));
}

#[test]
fn it_calls_the_tool_of_its_own_shelf() {
    if lacks_mount() || lacks_root() || lacks_program("unshare") {
        return;
    }
    let one = shelf();
    let other = one.fake(&["--calls", "calls of the other"]);
    one.write(
        "other.json",
        json!({ "mcpServers": { "fake": other } }).to_string(),
    );
    let mount = "mkdir other; shelf mount other --config other.json";
    one.shell(mount).succeeds();
    let run = one.shell("other/bin/fake.echo --text x");
    assert_eq!(run.succeeds(), "x");
    let of_other = fs::read_to_string(one.path("calls of the other")).unwrap();
    assert_eq!((calls(&one).len(), of_other.lines().count()), (0, 1));
    one.run(&["unmount", "other"]).succeeds();

    // Bound elsewhere: the whole, the directory, one program.
    let binds = "set -e; mkdir whole part; touch say
        mount --bind mount whole; mount --bind mount/bin part; mount --bind mount/bin/fake.echo say
        whole/bin/fake.echo --text a; part/fake.echo --text b; ./say --text c; PATH=$PWD/part:$PATH; fake.echo --text d";
    let bound = one.shell(&format!("unshare -m bash -c '{binds}'"));
    assert_eq!((&*bound.stdout, &*bound.stderr), ("abcd", ""));
}

#[test]
fn a_mirror_has_them_and_a_copy_calls_nothing() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--calls", "calls"]);
    shelf.skill("one", "A skill.");
    shelf.mirror();
    assert_eq!(script(&shelf, "fake.echo --text x").succeeds(), "x");
    assert_eq!(
        script(&shelf, "mount/bin/fake.echo --text y").succeeds(),
        "y"
    );
    let mode = fs::metadata(shelf.mounted("bin/fake.echo"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o555);
    assert_eq!(
        shelf.shell("ls mount/bin | grep -c one").stdout,
        "0\n",
        "a skill is no tool"
    );

    let copied = shelf
        .shell("cp mount/bin/fake.echo . && ./fake.echo --text x")
        .fails(3);
    assert!(
        copied.contains("does not lie in a shelf") && copied.contains("/mount"),
        "{copied}"
    );
    shelf.run(&["unmount", "mount"]).succeeds();
    let ended = shelf.shell("mount/bin/fake.echo --text x").fails(3);
    assert!(ended.contains("does not lie in a shelf"), "{ended}");
    assert_eq!(calls(&shelf).len(), 2);
}
