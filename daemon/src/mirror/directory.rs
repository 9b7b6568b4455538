//! Directories of the target, reached from the target alone and never through a link that lies in it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Stat, openat, statat};
use rustix::io::{Errno, Result};

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Opens the target; links that lead to it are followed, since the user named them.
pub(super) fn open_root(target: &Path) -> Result<OwnedFd> {
    openat(CWD, target, FLAGS, Mode::empty())
}

/// Opens a directory in another one; fails when it is a link.
pub(super) fn open_child(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd> {
    openat(parent, name, FLAGS | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens the directory that a path stands in, and gives the path's last name.
pub(super) fn open_parent<'p>(root: &OwnedFd, path: &'p [u8]) -> Result<(OwnedFd, &'p [u8])> {
    let mut names = path.split(|byte| *byte == b'/');
    let last = names.next_back().ok_or(Errno::INVAL)?;
    let mut directory = root.try_clone().map_err(|_| Errno::MFILE)?;
    for name in names {
        directory = open_child(directory.as_fd(), name)?;
    }
    Ok((directory, last))
}

/// What a name in a directory is, a link not followed; `None` where there is nothing.
pub(super) fn stat(parent: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Stat>> {
    match statat(parent, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}
