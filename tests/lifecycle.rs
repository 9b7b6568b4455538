//! How a shelf ends: whatever ends it, neither a process nor a mount is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use rustix::process::Signal;
use serde_json::json;

use crate::support::needs::{lacks_mount, lacks_program, lacks_root, workspace};
use crate::support::processes::{mounts_below, signal};
use crate::support::shelf::Shelf;
use crate::support::wait_until;

/// A shelf whose servers run, each started in another way that is known to leave something behind.
fn with_running_servers() -> Shelf {
    let shelf = Shelf::new();
    let fake = workspace().join("tests/servers/fake.py");
    let fake = fake.to_str().unwrap();
    let shell = |script: String| json!({ "command": "sh", "args": ["-c", script] });
    let wrapper = shelf.write("wrapper", NPX.replace("FAKE", fake));
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    shelf.servers(json!({
        "plain": shelf.fake(&[]),
        "stubborn": shelf.fake(&["--ignore-eof"]),
        "shell": shell(format!("python3 {fake}; exit")),
        "family": shell(format!("setsid sh -c 'sleep 600 & sleep 601' >/dev/null & python3 {fake}; exit")),
        "npx": { "command": wrapper },
    }));
    shelf.mount();
    for server in ["plain", "stubborn", "shell", "family", "npx"] {
        assert_eq!(
            shelf
                .call(&[&format!("{server}/echo"), "--text", "x"])
                .trim(),
            "x"
        );
    }
    // The daemon; for each server a guard and at least the server itself.
    assert!(shelf.running().len() > 2 * 5, "{:?}", shelf.running());
    shelf
}

#[test]
fn a_shelf_without_a_cache_says_so_and_works() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    // No directory can be made below it, for root neither.
    shelf.write("cache", "");
    shelf.mount();
    let out = shelf.call(&["fake/echo", "--text", "x"]);
    assert_eq!(out.trim(), "x");
    let problems = shelf.status()["problems"].to_string();
    assert!(problems.contains("cache of definitions"), "{problems}");
}

#[test]
fn each_place_has_its_own_logs_of_servers() {
    if lacks_program("python3") {
        return;
    }
    let shelf = Shelf::new();
    for place in ["one", "two"] {
        // Two configurations have servers of one name that are not the same.
        let fake = shelf.fake(&["--garbage"]);
        let config = json!({ "mcpServers": { "fake": fake } });
        let config = shelf.write(&format!("{place}.json"), config.to_string());
        let config = config.to_str().unwrap();
        shelf
            .run(&["mirror", place, "--once", "--config", config])
            .succeeds();
    }
    for place in ["one", "two"] {
        let name = skills::names::encode(shelf.path(place).to_str().unwrap());
        let log = shelf.path(&format!("state/toolshelf/servers/{name}/fake.log"));
        let log = fs::read_to_string(log).unwrap();
        assert!(log.contains("Server listening"), "{log}");
    }
}

/// As npx does: a process that starts a shell, which starts the server, and that passes no signal on.
const NPX: &str = r#"#!/usr/bin/env python3
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.exit(subprocess.call(["sh", "-c", "python3 FAKE; exit $?"]))
"#;

/// A process that stands in the mount, as a shell does in which somebody has said `cd`.
struct Visitor(Child);

impl Visitor {
    fn enter(shelf: &Shelf) -> Self {
        let inside = shelf.mounted("mcp");
        let mut child = Command::new("sleep");
        let child = child.arg("600").current_dir(&inside).spawn().unwrap();
        let link = PathBuf::from(format!("/proc/{}/cwd", child.id()));
        wait_until("a process stands in the mount", || {
            fs::read_link(&link).is_ok_and(|directory| directory == inside)
        });
        Self(child)
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn unmount_leaves_nothing() {
    if lacks_mount() {
        return;
    }
    let shelf = with_running_servers();
    shelf.unmount();
    let again = shelf.run(&["unmount", "mount"]).fails(3);
    assert!(again.contains("no shelf is mounted here"), "{again}");
}

#[test]
fn sigterm_and_sigint_leave_nothing() {
    if lacks_mount() {
        return;
    }
    for sent in [Signal::TERM, Signal::INT] {
        let shelf = with_running_servers();
        signal(shelf.daemon(), sent);
        shelf.wait_until_nothing_is_left();
    }
}

#[test]
fn an_outside_umount_ends_the_daemon_and_its_servers() {
    if lacks_mount() || lacks_root() {
        return;
    }
    let shelf = with_running_servers();
    shelf.shell("umount -l mount").succeeds();
    shelf.wait_until_nothing_is_left();
}

#[test]
fn what_a_killed_daemon_leaves_mounted_is_cleared_by_the_next_mount() {
    if lacks_mount() {
        return;
    }
    let shelf = with_running_servers();
    let killed = shelf.daemon();
    signal(killed, Signal::KILL);
    wait_until("no server outlives the daemon", || {
        shelf.running().is_empty()
    });
    let dead = fs::read_dir(shelf.path("mount")).unwrap_err();
    assert_eq!(dead.raw_os_error(), Some(107), "ENOTCONN: {dead}");
    shelf.mount();
    assert_eq!(mounts_below(&shelf.path("mount")).len(), 1);
    assert!(shelf.read("INDEX.md").contains("plain/echo"));
    assert_ne!(shelf.daemon(), killed);
    shelf.unmount();
}

#[test]
fn what_a_killed_daemon_leaves_mounted_is_cleared_by_unmount() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.mount();
    signal(shelf.daemon(), Signal::KILL);
    wait_until("the daemon is dead", || shelf.running().is_empty());
    shelf.unmount();
}

#[test]
fn nobody_who_stands_inside_holds_it_up() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.mount();
    let visitor = Visitor::enter(&shelf);
    signal(shelf.daemon(), Signal::TERM);
    shelf.wait_until_nothing_is_left();
    drop(visitor);
    shelf.mount();
    let _visitor = Visitor::enter(&shelf);
    shelf.unmount();
}

#[test]
fn in_the_foreground_it_lives_until_it_is_told_to_end() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    let mut command = shelf.command(crate::support::SHELF);
    command.args(["mount", "mount", "--config", "mcp.json", "--foreground"]);
    let mut child = command.spawn().unwrap();
    shelf.wait_for_text("INDEX.md", |text| text.contains("fake/echo"));
    assert_eq!(shelf.daemon(), child.id().cast_signed());
    signal(child.id().cast_signed(), Signal::TERM);
    assert!(child.wait().unwrap().success());
    shelf.wait_until_nothing_is_left();
}

#[test]
fn a_mount_that_is_interrupted_while_it_waits_leaves_nothing() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::with_fake("slow", &["--slow-start", "600", "--starts", "starts"]);
    let mut command = shelf.command(crate::support::SHELF);
    command.args(["mount", "mount", "--config", "mcp.json", "--wait", "600"]);
    let mut child = command.spawn().unwrap();
    wait_until("the server is asked", || shelf.starts("starts") == 1);
    signal(child.id().cast_signed(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    shelf.wait_until_nothing_is_left();
}
