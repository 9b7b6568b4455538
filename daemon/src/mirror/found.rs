//! What stands in the target, and whether the mirror wrote it.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use blake3::{Hash, Hasher};
use rustix::fs::{FileType, Mode, OFlags, Stat, openat, readlinkat};

use super::directory::stat;
use super::manifest::Written;

/// What stands in the target under some name.
pub(super) enum Found {
    Nothing,
    Directory,
    Link(Hash),
    File(Hash, File, Stat),
    /// A pipe, a socket, a device.
    Other,
}

impl Found {
    pub(super) fn at(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<Self> {
        let Some(stat) = stat(parent, name)? else {
            return Ok(Self::Nothing);
        };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link(blake3::hash(
                readlinkat(parent, name, Vec::new())?.as_bytes(),
            )),
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let mut file = File::from(openat(parent, name, flags, Mode::empty())?);
                let mut hasher = Hasher::new();
                io::copy(&mut file, &mut hasher)?;
                Self::File(hasher.finalize(), file, stat)
            }
            _ => Self::Other,
        })
    }

    /// Whether it is one of what the mirror wrote.
    pub(super) fn is_among(&self, written: &[Written]) -> bool {
        written.iter().any(|written| match (self, written) {
            (Self::Directory, Written::Directory) => true,
            (Self::Link(found), Written::Link(target)) => found == target,
            (Self::File(found, ..), Written::File(bytes, _)) => found == bytes,
            _ => false,
        })
    }
}
