//! Surroundings that nobody would wish for: names that are no text, descriptors of others, daemons that hang, sockets of
//! strangers.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::needs::{lacks_mount, lacks_program, lacks_root};
use crate::support::processes::{freeze, mounts_below, signal};
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

#[test]
fn a_name_that_is_no_text_is_reported_and_hides_nothing() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("good", "Is there.");
    let bytes = |bytes| OsStr::from_bytes(bytes);
    let good = shelf.path("skills/good");
    symlink("/nowhere", good.join(bytes(b"x\xff"))).unwrap();
    let bad = shelf.path("skills").join(bytes(b"bad\xff"));
    fs::create_dir(&bad).unwrap();
    fs::write(bad.join("SKILL.md"), "---\nname: x\ndescription: d\n---\n").unwrap();
    shelf.mount();
    let described = shelf.run(&["status"]).succeeds();
    assert!(described.contains("skills/good/x\u{fffd}: "), "{described}");
    let problems = shelf.status()["problems"].to_string();
    assert!(problems.contains("is not the directory's"), "{problems}");
    assert!(
        shelf
            .mounted("skills/good")
            .join(bytes(b"x\xff"))
            .is_symlink()
    );
    // By its bytes, not by a sign for what can't be read.
    assert!(
        shelf
            .read("skills/bad%FF/SKILL.md")
            .contains("description: d")
    );
    shelf.run(&["show", "skills/bad%FF"]).succeeds();
}

#[test]
fn mount_points_and_roots_need_be_no_text() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    let script = r"set -e
        m=$'m\xff' s=$'s\xff'; mkdir -p $s/one
        printf -- '---\nname: one\ndescription: One.\n---\n' > $s/one/SKILL.md
        shelf mount $m --config mcp.json --skills $s
        shelf show $m/skills/one/SKILL.md; shelf call $m/mcp/fake/echo.md --text called
        shelf status --json $m; shelf unmount $m";
    let shown = shelf.shell(script).succeeds();
    assert!(shown.contains("description: One.") && shown.contains("called"));
    shelf.wait_until_nothing_is_left();
}

#[test]
fn neither_the_daemon_nor_a_server_keeps_what_the_caller_had_open() {
    if lacks_mount() || lacks_program("flock") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    let script = "set -e
        (exec 9>lock; flock 9; shelf mount mount --config mcp.json; shelf call fake/pid)
        flock -n lock true";
    shelf.shell(script).succeeds();
    shelf.unmount();
    // In the foreground the daemon is the process itself, but its servers are not.
    let script = "set -e
        exec 9>lock; flock 9; shelf mount mount --config mcp.json --foreground & exec 9>&-
        until shelf call fake/pid 2>/dev/null; do :; done
        for fd in /proc/$(shelf call fake/pid)/fd/*; do readlink $fd; done; shelf unmount mount";
    let open = shelf.shell(script).succeeds();
    assert!(!open.contains("/lock"), "{open}");
}

#[test]
fn a_configuration_may_be_a_pipe_of_the_shell() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf
        .shell("shelf mount mount --config <(cat mcp.json)")
        .succeeds();
    assert!(shelf.read("INDEX.md").contains("fake/echo"));
}

#[test]
fn a_daemon_that_hangs_holds_nobody_up_for_ever() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.mount();
    let daemon = shelf.daemon();
    freeze(daemon);
    let start = Instant::now();
    let said = shelf
        .run(&["call", "--timeout", "500ms", "fake/echo", "--text", "x"])
        .fails(6);
    assert!(start.elapsed() < Duration::from_secs(5), "{said}");
    assert!(said.contains(&format!("process {daemon}")), "{said}");
    let said = shelf.mount_with(&[]).fails(6);
    assert!(said.contains("which does not answer"), "{said}");
    let said = shelf.run(&["mount", "mount/within"]).fails(6);
    assert!(said.contains("lies in the shelf"), "{said}");
    shelf.run(&["unmount", "mount"]).succeeds();
    assert_eq!(mounts_below(shelf.root()), [""; 0]);
    signal(daemon, Signal::KILL);
}

#[test]
fn unmount_returns_when_the_servers_have_ended() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--ignore-eof", "--ignore-term"]);
    shelf.mount();
    shelf.call(&["fake/pid"]);
    shelf.run(&["unmount", "mount"]).succeeds();
    assert_eq!(shelf.running(), []);
}

#[test]
fn unmount_ends_a_call_for_what_it_is() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--calls", "calls"]);
    shelf.mount();
    let mut call = shelf.command(SHELF);
    call.args(["call", "fake/sleep", "--seconds", "600"]);
    let call = std::thread::spawn(move || Finished::of(&mut call));
    wait_until("the call runs", || shelf.path("calls").exists());
    shelf.unmount();
    let said = call.join().unwrap().fails(4);
    assert!(said.contains("the shelf was unmounted"), "{said}");
}

#[test]
fn a_bind_is_unmounted_alone() {
    if lacks_mount() || lacks_root() || lacks_program("unshare") {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.mount();
    let script = "set -e; mkdir bound; mount --bind mount bound
        shelf unmount bound; ls -A bound; shelf call fake/echo --text alive";
    let finished = shelf.shell(&format!("unshare -m bash -c '{script}'"));
    assert!(finished.stderr.contains("a bind of"), "{}", finished.stderr);
    assert_eq!(finished.succeeds(), "alive");
}

#[test]
fn a_socket_of_a_stranger_is_not_believed() {
    if lacks_mount() || lacks_root() || lacks_program("setpriv") {
        return;
    }
    let shelf = Shelf::new();
    shelf.mount();
    let sockets = shelf.path("runtime/toolshelf");
    let socket = shelf.status()["socket"].as_str().unwrap().to_owned();
    for mode in [0o777, 0o750] {
        fs::set_permissions(&sockets, fs::Permissions::from_mode(mode)).unwrap();
        for command in ["list", "status"] {
            let said = shelf.run(&[command]).fails(6);
            assert!(said.contains("open to other users"), "{said}");
        }
    }
    fs::set_permissions(&sockets, fs::Permissions::from_mode(0o700)).unwrap();
    chown(&sockets, Some(1), None).unwrap();
    let said = shelf.run(&["list"]).fails(6);
    assert!(said.contains("belongs to user 1"), "{said}");
    chown(&sockets, Some(0), None).unwrap();

    let listen = "import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(1, flush=True); time.sleep(600)";
    let place = shelf.path("open");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(shelf.root(), fs::Permissions::from_mode(0o755)).unwrap();
    let strange = place.join("strange.sock");
    let mut command = shelf.command("setpriv");
    command.args(["--reuid", "1", "--regid", "1", "--clear-groups"]);
    command
        .args(["/usr/bin/python3", "-c", listen])
        .arg(&strange);
    let mut stranger = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut listens = [0];
    let said = stranger.stdout.as_mut().unwrap();
    said.read_exact(&mut listens).unwrap();
    let mut list = shelf.command(SHELF);
    let said = Finished::of(list.arg("list").env("SHELF_SOCKET", &strange)).fails(5);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert!(said.contains("user 1 listens here"), "{said}");
    let mut list = shelf.command(SHELF);
    Finished::of(list.arg("list").env("SHELF_SOCKET", socket)).succeeds();
}

#[test]
fn a_daemon_with_its_socket_elsewhere_is_left_alone() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.mount();
    for command in ["status", "unmount"] {
        let mut elsewhere = shelf.command(SHELF);
        elsewhere.env("XDG_RUNTIME_DIR", shelf.path("home"));
        let said = Finished::of(elsewhere.args([command, "mount"])).fails(6);
        assert!(
            said.contains("is alive") && said.contains("XDG_RUNTIME_DIR"),
            "{said}"
        );
    }
    assert!(shelf.read("README.md").len() > 100);
}

#[test]
fn another_user_is_told_whose_shelf_it_is() {
    if lacks_mount() || lacks_root() || lacks_program("setpriv") {
        return;
    }
    let shelf = Shelf::new();
    fs::copy(SHELF, shelf.path("shelf")).unwrap();
    fs::set_permissions(shelf.root(), fs::Permissions::from_mode(0o755)).unwrap();
    shelf.mount_with(&["--allow-other"]).succeeds();
    let mut command = shelf.command("setpriv");
    command.args(["--reuid", "1", "--regid", "1", "--clear-groups", "./shelf"]);
    command.env("XDG_RUNTIME_DIR", shelf.path("none"));
    let said = Finished::of(command.args(["status", "mount"])).fails(5);
    assert!(said.contains("belongs to user 0"), "{said}");
}

#[test]
fn what_a_stranger_wrote_steers_no_terminal_from_standard_error() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.mount();
    let said = shelf.run(&["list", "--server", "a\u{1b}[2Jb"]).fails(3);
    assert!(said.contains("a[2Jb"), "{said:?}");
}

#[test]
fn a_full_standard_output_is_named() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.mount();
    let said = shelf.shell("shelf list --json >/dev/full").fails(70);
    assert!(said.contains("standard output can't be written"), "{said}");
}

#[test]
fn a_log_without_a_match_says_so() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.mount();
    shelf.call(&["fake/pid"]);
    shelf.wait_for_line("the call", |line| line["event"] == "call");
    for filter in [["--entry", "nope/x"], ["--session", "zzz"]] {
        shelf.run(&["log", filter[0], filter[1]]).fails(3);
    }
    let said = shelf.run(&["call", "fake"]).fails(3);
    assert!(said.contains("shelf list --server fake"), "{said}");
}
