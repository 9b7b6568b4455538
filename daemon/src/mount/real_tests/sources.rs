use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use skills::tree::{Content, MAX_BUFFERED, Node};

use super::{Fixture, Tree, eventually, file, source};

/// A tree whose file `path` is served from the source of that path.
fn sourced(tree: Tree, root: &Path, path: &str) -> Tree {
    let mut file = file(b"", 0o644);
    file.content = Content::Source(source(root, path));
    tree.with(path, Node::File(Arc::new(file)))
}

/// A tree whose file `SKILL.md` is in memory and came from a source.
fn remembered(root: &Path) -> Tree {
    let mut file = file(&fs::read(root.join("SKILL.md")).unwrap(), 0o644);
    file.origin = Some(source(root, "SKILL.md"));
    Tree::default().with("SKILL.md", Node::File(Arc::new(file)))
}

/// Has a changed source published as what is there now, as the daemon does.
fn republish(fixture: &Arc<Fixture>, tree: impl Fn() -> Tree + Send + Sync + 'static) {
    let publisher = Arc::downgrade(fixture);
    let publish = move |_: &_| publisher.upgrade().map(|fixture| fixture.publish(&tree()));
    *fixture.recorder.source_changed.lock().unwrap() = Some(Arc::new(publish));
}

fn with_root(content: &[u8]) -> Option<(Arc<Fixture>, tempfile::TempDir)> {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), content).unwrap();
    let fixture = Fixture::new(&sourced(Tree::default(), root.path(), "file"))?;
    Some((Arc::new(fixture), root))
}

#[test]
fn an_edit_is_seen_by_the_very_next_open() {
    let Some((fixture, root)) = with_root(b"old\n") else {
        return;
    };
    let path = root.path().to_owned();
    republish(&fixture, move || sourced(Tree::default(), &path, "file"));
    for round in 0..20 {
        fixture.read("file");
        let text = format!("round {round}\n");
        fs::write(root.path().join("file"), &text).unwrap();
        // Once, and with no waiting: the open itself notices, publishes, and is answered with the new version.
        assert_eq!(fixture.read("file"), text);
    }
}

#[test]
fn bytes_in_memory_are_compared_with_their_origin_at_open() {
    let root = tempfile::tempdir().unwrap();
    let skill = root.path().join("SKILL.md");
    fs::write(&skill, "old\n").unwrap();
    let Some(fixture) = Fixture::new(&remembered(root.path())).map(Arc::new) else {
        return;
    };
    let path = root.path().to_owned();
    republish(&fixture, move || remembered(&path));
    assert_eq!(fixture.read("SKILL.md"), "old\n");
    fs::write(&skill, "new\n").unwrap();
    assert_eq!(fixture.read("SKILL.md"), "new\n");
    // Touched only: the same version stays, under its number, and opens.
    fs::write(&skill, "new\n").unwrap();
    assert_eq!(fixture.read("SKILL.md"), "new\n");
    assert_eq!(fixture.read("SKILL.md"), "new\n");
}

#[test]
fn a_source_that_is_gone_or_leads_out_is_never_served() {
    let Some((fixture, root)) = with_root(b"old\n") else {
        return;
    };
    let source = root.path().join("file");
    let secret = fixture.scratch("secret");
    fs::write(&secret, "secret").unwrap();
    // Nobody publishes, so the kernel asks twice and gives up.
    let stale = |fixture: &Fixture| {
        let error = File::open(fixture.path("file")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::STALE.raw_os_error()));
    };
    fs::remove_file(&source).unwrap();
    stale(&fixture);
    symlink(&secret, &source).unwrap();
    stale(&fixture);
    fs::remove_file(&source).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &source,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    stale(&fixture);

    republish(&fixture, Tree::default);
    let error = File::open(fixture.path("file")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_publish_that_never_comes_does_not_hold_an_open_for_ever() {
    let Some((fixture, root)) = with_root(b"old\n") else {
        return;
    };
    *fixture.recorder.source_changed.lock().unwrap() = Some(Arc::new(|_: &_| Some(u64::MAX)));
    fs::write(root.path().join("file"), "new, unpublished\n").unwrap();
    let start = std::time::Instant::now();
    assert!(File::open(fixture.path("file")).is_err());
    assert!(start.elapsed() < super::DEADLINE);
}

#[test]
fn a_small_source_is_held_while_it_is_open() {
    let Some((fixture, root)) = with_root(&b"0123456789".repeat(1000)) else {
        return;
    };
    let open = File::open(fixture.path("file")).unwrap();
    // Overwritten in place: the inode that was opened no longer has the old bytes.
    fs::write(root.path().join("file"), b"x".repeat(10_000)).unwrap();
    let mut bytes = vec![0; 10_000];
    open.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, b"0123456789".repeat(1000));
}

#[test]
fn a_large_source_is_read_from_its_descriptor_and_refused_when_it_changes() {
    let size = usize::try_from(MAX_BUFFERED).unwrap() * 8;
    let content: Vec<u8> = (0..size).map(|at| (at / 256 % 251) as u8).collect();
    let Some((fixture, root)) = with_root(&content) else {
        return;
    };
    assert_eq!(fs::read(fixture.path("file")).unwrap(), content);

    // Another version, of which nothing is in the kernel's cache yet.
    let path = root.path().to_owned();
    republish(&fixture, move || sourced(Tree::default(), &path, "file"));
    fs::write(root.path().join("file"), &content).unwrap();
    let mut open = File::open(fixture.path("file")).unwrap();
    fs::write(root.path().join("file"), vec![b'y'; size]).unwrap();
    let error = open.read_to_end(&mut Vec::new()).unwrap_err();
    // By kernel, the page cache passes the errno on or makes it EIO.
    let stale = [Errno::STALE, Errno::IO].map(|errno| Some(errno.raw_os_error()));
    assert!(stale.contains(&error.raw_os_error()), "{error}");
    assert_eq!(fs::read(fixture.path("file")).unwrap(), vec![b'y'; size]);
}

#[test]
fn a_source_that_may_not_be_read_says_so() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root may read everything");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "x").unwrap();
    fs::set_permissions(root.path().join("file"), fs::Permissions::from_mode(0o000)).unwrap();
    let Some(fixture) = Fixture::new(&sourced(Tree::default(), root.path(), "file")) else {
        return;
    };
    let error = File::open(fixture.path("file")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
}

#[test]
fn scripts_of_a_source_run() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("run"), "#!/bin/sh\necho ran\n").unwrap();
    let mut script = file(b"", 0o755);
    script.content = Content::Source(source(root.path(), "run"));
    let tree = Tree::default().with("run", Node::File(Arc::new(script)));
    let Some(fixture) = Fixture::new(&tree) else {
        return;
    };
    eventually("the script runs", || {
        fixture.shell(&fixture.point, "./run") == "ran\nexit Some(0)"
    });
}
