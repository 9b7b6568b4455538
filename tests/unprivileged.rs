//! Without the rights of root, and without FUSE.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use crate::support::needs::{lacking, lacks_mount, lacks_program, lacks_root};
use crate::support::shelf::{Finished, Shelf};
use crate::support::{SHELF, wait_until};

/// `nobody`, since fusermount3 wants a user with a name.
const USER: u32 = 65_534;

/// Gives the namespace a device of its own, so that the machine's own stays as it is.
fn device(mode: &str) -> String {
    format!(
        "mkdir -p dev && mount -t tmpfs none dev && mknod -m {mode} dev/fuse c 10 229 && mount --bind dev/fuse /dev/fuse &&"
    )
}

/// A copy of the binary where every user can run it, and the place given to that user.
fn given_away() -> Shelf {
    let shelf = Shelf::with_fake("fake", &[]);
    fs::copy(SHELF, shelf.path("shelf")).unwrap();
    let fake = shelf.path("fake.py");
    fs::copy(
        crate::support::needs::workspace().join("tests/servers/fake.py"),
        &fake,
    )
    .unwrap();
    shelf.servers(serde_json::json!({ "fake": { "command": PYTHON, "args": [fake] } }));
    shelf.skill("one", "A skill.");
    let all = shelf.shell("find . -print0").succeeds();
    for name in all.split_terminator('\0') {
        chown(shelf.path(name), Some(USER), Some(USER)).unwrap();
    }
    shelf
}

/// Python itself: what is first in PATH may be a wrapper in the home of root.
const PYTHON: &str = "/usr/bin/python3";

/// Runs a script as the user, in a mount namespace where whatever it mounts beforehand is seen by nobody else.
fn as_user(shelf: &Shelf, before: &str, script: &str) -> Finished {
    let user = USER.to_string();
    let mut command = shelf.command("unshare");
    command.args(["--mount", "--propagation", "private", "bash", "-c"]);
    let drop = format!(
        "{before} exec setpriv --reuid {user} --regid {user} --clear-groups bash -c \"$1\""
    );
    Finished::of(command.args([&drop, "bash", script]))
}

/// A whole life: mounted, read, called, unmounted.
const LIFE: &str = "set -e
    ./shelf mount mount --config mcp.json --skills skills >/dev/null
    cat mount/skills/one/SKILL.md
    ./shelf call fake/echo --text called; echo
    PATH=$PWD:$PWD/mount/bin:$PATH fake.echo --text run; echo
    if touch mount/new 2>/dev/null; then exit 9; fi
    ./shelf unmount mount
    ls -A mount";

fn lacks_users() -> bool {
    lacks_mount()
        || lacks_root()
        || lacks_program("setpriv")
        || lacks_program("unshare")
        || (!fs::exists(PYTHON).unwrap() && lacking(PYTHON))
}

#[test]
fn a_user_mounts_with_the_helper_of_fuse() {
    if lacks_users() || lacks_program("fusermount3") {
        return;
    }
    let shelf = given_away();
    let life = as_user(&shelf, &device("666"), LIFE);
    assert!(
        life.stdout.ends_with("called\nrun\n"),
        "{}\n{}",
        life.stdout,
        life.stderr
    );
    assert_eq!(life.code, 0, "{}", life.stderr);
    wait_until("nothing runs", || shelf.running().is_empty());
}

#[test]
fn the_helper_of_fuse_clears_what_a_killed_daemon_left() {
    if lacks_users() || lacks_program("fusermount3") {
        return;
    }
    let shelf = given_away();
    let script = "set -e
        ./shelf mount mount --config mcp.json >/dev/null
        kill -9 $(./shelf status --json | sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/')
        while ls mount 2>/dev/null; do :; done
        ./shelf mount mount --config mcp.json >/dev/null
        ls mount; ./shelf unmount mount";
    let life = as_user(&shelf, &device("666"), script);
    assert_eq!(life.code, 0, "{}", life.stderr);
    assert!(life.stdout.contains("INDEX.md"), "{}", life.stdout);
    wait_until("nothing runs", || shelf.running().is_empty());
}

#[test]
fn in_a_user_namespace_no_helper_is_needed() {
    if lacks_users() {
        return;
    }
    let shelf = given_away();
    let can = "unshare -Urm true";
    if as_user(&shelf, "", can).code != 0 {
        lacking("the right to make a user namespace");
        return;
    }
    fs::write(shelf.path("life"), LIFE).unwrap();
    // Where a fusermount3 is, there is none any more.
    let script = "exec unshare -Urm bash -c \
        'mount --bind /dev/null /usr/bin/fusermount3 2>/dev/null; . ./life'";
    let life = as_user(&shelf, &device("666"), script);
    assert_eq!(life.code, 0, "{}\n{}", life.stdout, life.stderr);
    assert!(life.stdout.ends_with("called\nrun\n"), "{}", life.stdout);
    wait_until("nothing runs", || shelf.running().is_empty());
}

#[test]
fn without_fuse_it_is_said_what_is_missing_and_what_can_be_done() {
    if lacks_users() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &["--starts", "starts"]);
    let mount = "exec shelf mount mount --config mcp.json --skills skills";
    let hidden = |before: &str| {
        let mut command = shelf.command("unshare");
        command.args(["--mount", "--propagation", "private", "bash", "-c"]);
        let said = Finished::of(command.arg(format!("{before} && {mount}"))).fails(6);
        assert!(said.contains("shelf mirror"), "{said}");
        assert!(said.contains("/dev/fuse"), "{said}");
        said
    };
    for before in [
        "mount --bind /dev/null /dev/fuse",
        "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 444 /dev/urandom c 1 9",
    ] {
        let said = hidden(before);
        assert!(said.contains("FUSE is missing here"), "{said}");
    }
    assert_eq!(
        shelf.starts("starts"),
        0,
        "no server is started for nothing"
    );

    let refused = given_away();
    let closed = device("600");
    let said = as_user(&refused, &closed, "./shelf mount mount --config mcp.json").fails(6);
    assert!(
        said.contains("may not be used") && said.contains("shelf mirror"),
        "{said}"
    );
    // And that is no empty promise.
    let mirrored = as_user(
        &refused,
        &closed,
        "./shelf mirror plain --once --config mcp.json && cat plain/INDEX.md",
    );
    assert!(mirrored.stdout.contains("fake/echo"), "{}", mirrored.stderr);
}

#[test]
fn another_user_reads_the_mount_only_where_that_was_allowed() {
    if lacks_users() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("one", "A skill.");
    fs::set_permissions(shelf.root(), fs::Permissions::from_mode(0o755)).unwrap();
    let read = || {
        let user = USER.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "cat"]);
        Finished::of(command.arg(shelf.mounted("INDEX.md")))
    };
    shelf.mount();
    assert!(read().stderr.contains("Permission denied"));
    shelf.unmount();
    shelf.mount_with(&["--allow-other"]).succeeds();
    assert!(read().succeeds().contains("skills/one"));
}
