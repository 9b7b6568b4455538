use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use skills::problem::{Problem, ProblemKind};

use super::{Fixture, Recorder, Tree, eventually, fuse_is_usable, is_root, options};
use crate::mount::attachment::Attachment;
use crate::mount::{Mount, MountOptions};
use crate::mount_table::{containing, shelf_mounts};

fn tree() -> Tree {
    Tree::default()
        .text("INDEX.md", "index\n")
        .text("mcp/x/STATUS", "cold\n")
}

fn start(point: &Path, options: &MountOptions) -> Result<Mount, Problem> {
    Mount::start(
        point,
        options,
        1,
        tree().build(),
        Arc::new(Recorder::default()),
        None,
    )
}

fn is_listed(point: &Path) -> bool {
    shelf_mounts()
        .iter()
        .any(|mount| mount.mount_point == point)
}

/// A process whose working directory is inside the mount.
fn sit_inside(directory: &Path) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", "echo sitting; exec sleep 60"])
        .current_dir(directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    child
}

#[test]
fn a_mount_is_listed_found_and_gone_after_a_stop() {
    let Some(mut fixture) = Fixture::new(&tree()) else {
        return;
    };
    let point = fixture.point.clone();
    assert!(is_listed(&point));
    let found = containing(&point.join("mcp/x/STATUS")).unwrap();
    assert_eq!(found.mount_point, point);
    assert!(containing(fixture.directory.path()).is_none());

    fixture.mount.take().unwrap().stop();
    assert!(!is_listed(&point));
    assert!(fixture.names("").is_empty());
}

#[test]
fn a_stop_takes_the_mount_away_though_someone_sits_inside() {
    let Some(mut fixture) = Fixture::new(&tree()) else {
        return;
    };
    let mut child = sit_inside(&fixture.path("mcp"));
    let mounted = fixture.mount.take().unwrap();
    let start = Instant::now();
    mounted.stop();
    mounted.wait();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(!is_listed(&fixture.point));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_was_mounted_after_an_outside_umount_stays() {
    let Some(mut fixture) = Fixture::new(&tree()) else {
        return;
    };
    if !is_root() {
        return;
    }
    let mounted = fixture.mount.take().unwrap();
    unmount(&fixture.point, UnmountFlags::empty()).unwrap();
    mounted.wait();
    mount("tmpfs", &fixture.point, "tmpfs", MountFlags::empty(), None).unwrap();
    fs::write(fixture.path("kept"), "kept").unwrap();
    mounted.stop();
    let kept = fixture.read("kept");
    unmount(&fixture.point, UnmountFlags::DETACH).unwrap();
    assert_eq!(kept, "kept");
}

#[test]
fn what_was_mounted_on_top_stays() {
    let Some(mut fixture) = Fixture::new(&tree()) else {
        return;
    };
    if !is_root() {
        return;
    }
    mount("tmpfs", &fixture.point, "tmpfs", MountFlags::empty(), None).unwrap();
    fs::write(fixture.path("kept"), "kept").unwrap();
    assert!(containing(&fixture.path("kept")).is_none());
    fixture.mount.take().unwrap().stop();
    let kept = fixture.read("kept");
    unmount(&fixture.point, UnmountFlags::DETACH).unwrap();
    unmount(&fixture.point, UnmountFlags::DETACH).unwrap();
    assert_eq!(kept, "kept");
}

#[test]
fn the_mount_of_a_daemon_that_is_gone_is_cleared() {
    if !fuse_is_usable() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let point = directory.path().canonicalize().unwrap();
    // Root may even have two, one upon the other; neither answers any more once its connection is closed.
    let mounts = if is_root() { 2 } else { 1 };
    for _ in 0..mounts {
        let (connection, _) = Attachment::attach(&point, &options()).unwrap();
        drop(connection);
    }
    let error = fs::read_dir(&point).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::NOTCONN.raw_os_error()));
    assert!(containing(&point.join("INDEX.md")).is_some());

    let mounted = start(&point, &options()).unwrap();
    assert_eq!(
        fs::read_to_string(point.join("INDEX.md")).unwrap(),
        "index\n"
    );
    mounted.stop();
    assert!(!is_listed(&point));
}

#[test]
fn mount_points_that_will_not_do_are_refused_with_the_reason() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let refused = |path: &Path, options: &MountOptions, word: &str| {
        let problem = start(path, options).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Mount);
        assert!(problem.to_string().contains(word), "{problem}");
        assert!(problem.hint.is_some(), "{problem}");
    };
    refused(&fixture.scratch("missing"), &options(), "no such directory");
    fs::write(fixture.scratch("file"), "").unwrap();
    refused(&fixture.scratch("file"), &options(), "not a directory");
    let instance = containing(&fixture.point).unwrap().instance;
    refused(&fixture.point, &options(), &instance);

    let full = fixture.scratch("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("hidden"), "hidden").unwrap();
    refused(&full, &options(), "not empty");
    let allowed = MountOptions {
        nonempty: true,
        ..options()
    };
    let mounted = start(&full, &allowed).unwrap();
    assert!(full.join("INDEX.md").exists() && !full.join("hidden").exists());
    mounted.stop();
    assert!(full.join("hidden").exists());
}

#[test]
fn a_relative_and_linked_mount_point_is_resolved() {
    if !fuse_is_usable() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    fs::create_dir(base.join("real point")).unwrap();
    std::os::unix::fs::symlink("real point", base.join("link")).unwrap();
    let mounted = start(&base.join("link/../link"), &options()).unwrap();
    assert!(is_listed(&base.join("real point")));
    assert!(containing(&base.join("link/INDEX.md")).is_some());
    mounted.stop();
    assert!(!is_listed(&base.join("real point")));
}

#[test]
fn a_bind_mount_leads_to_the_same_instance() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    if !is_root() {
        return;
    }
    let bound = fixture.scratch("bound");
    fs::create_dir(&bound).unwrap();
    rustix::mount::mount_bind(fixture.path("mcp"), &bound).unwrap();
    let found = containing(&bound.join("x/STATUS")).unwrap();
    unmount(&bound, UnmountFlags::DETACH).unwrap();
    assert_eq!(found.instance, containing(&fixture.point).unwrap().instance);
    assert_eq!(found.mount_point, bound.canonicalize().unwrap());
    assert_eq!(found.root, Path::new("/mcp"));
}

#[test]
fn a_wait_ends_with_an_outside_umount() {
    let Some(mut fixture) = Fixture::new(&tree()) else {
        return;
    };
    let mounted = Arc::new(fixture.mount.take().unwrap());
    let waiting = {
        let mounted = mounted.clone();
        std::thread::spawn(move || mounted.wait())
    };
    crate::mount::mount_point::unmount_lazily(&fixture.point).unwrap();
    eventually("the wait ends", || waiting.is_finished());
    waiting.join().unwrap();
}
