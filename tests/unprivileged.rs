//! Without the rights of root, and without FUSE.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
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

#[test]
fn what_a_skill_keeps_from_others_its_mount_keeps_from_them() {
    if lacks_users() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("closed", "A skill.");
    shelf.skill("open", "A skill.");
    for (path, mode) in [
        ("skills/open/private/theirs", 0o600),
        ("skills/open/private/root's", 0o600),
        ("skills/open/late", 0o644),
        ("skills/closed/dir/all's", 0o644),
    ] {
        let path = shelf.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "the bytes\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let group = USER - 1;
    chown(
        shelf.path("skills/open/private/theirs"),
        Some(USER),
        Some(group),
    )
    .unwrap();
    let close = |path: &str, mode| {
        fs::set_permissions(shelf.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    close("skills/closed/dir", 0o700);
    close("", 0o755);
    let read = |path: &str| {
        let user = USER.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "cat"]);
        Finished::of(command.arg(shelf.path(path)))
    };
    let owner = |path: &str| {
        let metadata = fs::metadata(shelf.mounted(path)).unwrap();
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    };

    shelf.mount_with(&["--allow-other"]).succeeds();
    for (path, is_allowed) in [
        ("skills/closed/SKILL.md", true),
        ("skills/closed/dir/all's", false),
        ("skills/open/private/theirs", true),
        ("skills/open/private/root's", false),
        ("skills/open/late", true),
    ] {
        for place in [path.to_owned(), format!("mount/{path}")] {
            let read = read(&place);
            assert_eq!(
                read.stdout == "the bytes\n" || read.stdout.contains("A skill."),
                is_allowed,
                "{place}: {}",
                read.stderr
            );
        }
    }
    assert_eq!(owner("skills/closed/dir"), (0, 0, 0o700));
    assert_eq!(owner("skills/open/private/theirs"), (USER, group, 0o400));
    assert_eq!(owner("mcp"), (0, 0, 0o755));

    // While it is mounted, too.
    chown(shelf.path("skills/open/late"), Some(USER), Some(USER)).unwrap();
    close("skills/closed", 0o750);
    wait_until("the new owner", || owner("skills/open/late").0 == USER);
    wait_until("the closed skill", || {
        read("mount/skills/closed/SKILL.md").code != 0
    });
    close("skills/closed/dir", 0o755);
    close("skills/closed", 0o755);
    wait_until("the opened skill", || {
        read("mount/skills/closed/dir/all's").code == 0
    });
    shelf.unmount();

    // Where nobody else gets in, what its user can read is his to read.
    shelf.mount();
    assert_eq!(owner("skills/open/private/theirs"), (0, 0, 0o400));
}
