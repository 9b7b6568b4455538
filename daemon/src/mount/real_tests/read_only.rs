use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::time::SystemTime;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, removexattr, setxattr};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_remount};

use super::{Fixture, Tree, is_root};

fn tree() -> Tree {
    Tree::default().text("a/file", "x").empty_directory("void")
}

/// Tries every way to write; each must be refused as on any read-only file system.
fn try_everything(fixture: &Fixture) {
    let file = fixture.path("a/file");
    let new = fixture.path("a/new");
    let write = || OpenOptions::new().write(true).clone();
    let attempts: [(&str, io::Result<()>); 18] = [
        ("open for writing", write().open(&file).map(drop)),
        ("open for both", write().read(true).open(&file).map(drop)),
        (
            "append",
            OpenOptions::new().append(true).open(&file).map(drop),
        ),
        (
            "truncate on open",
            write().truncate(true).open(&file).map(drop),
        ),
        ("truncate", rustix_truncate(&file)),
        ("create", File::create(&new).map(drop)),
        ("create anew", File::create_new(&new).map(drop)),
        ("mkdir", fs::create_dir(&new)),
        ("unlink", fs::remove_file(&file)),
        ("rmdir", fs::remove_dir(fixture.path("void"))),
        ("rename", fs::rename(&file, &new)),
        ("hard link", fs::hard_link(&file, &new)),
        ("symbolic link", symlink("file", &new)),
        (
            "mknod",
            mknodat(CWD, &new, FileType::Fifo, Mode::RUSR, 0).map_err(Into::into),
        ),
        (
            "chmod",
            fs::set_permissions(&file, Permissions::from_mode(0o600)),
        ),
        ("chown", chown(&file, Some(0), Some(0))),
        (
            "set an attribute",
            setxattr(&file, "user.x", b"y", XattrFlags::empty()).map_err(Into::into),
        ),
        (
            "remove an attribute",
            removexattr(&file, "user.x").map_err(Into::into),
        ),
    ];
    for (what, result) in attempts {
        let error = result.expect_err(what).raw_os_error();
        assert_eq!(error, Some(Errno::ROFS.raw_os_error()), "{what}");
    }
    // Times are set through a descriptor that was opened for reading.
    let times = File::open(&file).unwrap().set_modified(SystemTime::now());
    assert_eq!(
        times.unwrap_err().raw_os_error(),
        Some(Errno::ROFS.raw_os_error())
    );
    assert_eq!(fixture.read("a/file"), "x");
    assert_eq!(fixture.names("a"), ["file"]);
}

fn rustix_truncate(path: &std::path::Path) -> io::Result<()> {
    let said = super::shell(path.parent().unwrap(), "truncate -s 0 file");
    match said.contains("Read-only file system") {
        true => Err(Errno::ROFS.into()),
        false => Ok(()),
    }
}

#[test]
fn every_write_is_refused() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    try_everything(&fixture);
}

#[test]
fn every_write_is_refused_on_a_mount_that_was_made_writable() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    if !is_root() {
        return;
    }
    mount_remount(&fixture.point, MountFlags::NOSUID | MountFlags::NODEV, "").unwrap();
    try_everything(&fixture);
}
