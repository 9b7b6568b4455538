//! Files of skills on disk: copied from beneath their root, and only as the version that the tree knows.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use skills::tree::{SourceFile, SourceStat};

/// Opens the file as it is now; a link that leads out of the skill is not followed.
fn open(source: &SourceFile) -> io::Result<File> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, &source.root, directory, Mode::empty())?;
    // Not blocking: what lies there now may be a pipe.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match openat2(&root, &source.path, flags, Mode::empty(), resolve) {
            // The kernel could not rule out that a rename elsewhere led the walk astray.
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return Ok(File::from(opened?)),
        }
    }
}

/// Copies the file, and fails when it was not the version that the tree knows from beginning to end.
pub(super) fn copy(source: &SourceFile, into: &mut impl io::Write) -> io::Result<()> {
    let file = open(source)?;
    io::copy(&mut (&file).take(source.stat.size), into)?;
    // After the read, not before: what was written meanwhile shows in the stat now.
    check(&file, source)
}

fn check(file: &File, source: &SourceFile) -> io::Result<()> {
    let metadata = file.metadata()?;
    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let stat = SourceStat {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    };
    if stat == source.stat {
        Ok(())
    } else {
        Err(io::Error::other("it changed while it was being mirrored"))
    }
}
