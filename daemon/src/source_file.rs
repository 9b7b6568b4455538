//! Files of skills on disk: opened beneath their root, and only as the version that the tree knows.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use skills::tree::{SourceFile, SourceStat};

#[cfg(test)]
mod tests;

/// Why a source can't be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// It is gone, or no longer the version that the tree knows.
    #[error("the file it comes from has just changed")]
    Changed,
    /// It could not be opened or read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for SourceError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// A source that is open for reading.
#[derive(Debug)]
pub(crate) struct OpenSource {
    file: File,
    known: Arc<SourceFile>,
}

impl OpenSource {
    pub(crate) fn open(known: &Arc<SourceFile>) -> Result<Self, SourceError> {
        // Not blocking: what lies there now may be a pipe.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(Self {
            file: open_version(known, flags)?,
            known: known.clone(),
        })
    }

    /// Reads all of it. From the first byte to the last it is the version that the tree knows.
    pub(crate) fn read_whole(&self) -> Result<Vec<u8>, SourceError> {
        let size = usize::try_from(self.known.stat.size).map_err(|_| Errno::FBIG)?;
        self.read(0, size)
    }

    /// Reads a part, less than asked for only at the end.
    pub(crate) fn read(&self, offset: u64, size: usize) -> Result<Vec<u8>, SourceError> {
        let left = self.known.stat.size.saturating_sub(offset);
        let size = usize::try_from(left).map_or(size, |left| left.min(size));
        let mut bytes = vec![0; size];
        match self.file.read_exact_at(&mut bytes, offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(SourceError::Changed);
            }
            result => result?,
        }
        // After the read, not before: what was written meanwhile shows in the stat now.
        compare(&self.file, &self.known)?;
        Ok(bytes)
    }

    /// Copies all of it, and fails when it was not the version that the tree knows from beginning to end.
    pub(crate) fn copy(&self, into: &mut impl io::Write) -> Result<(), SourceError> {
        io::copy(&mut (&self.file).take(self.known.stat.size), into)?;
        compare(&self.file, &self.known)
    }
}

/// Checks that a source is still the version that the tree knows, whether or not it can be read.
pub(crate) fn check(source: &SourceFile) -> Result<(), SourceError> {
    open_version(source, OFlags::PATH | OFlags::CLOEXEC).map(drop)
}

fn open_version(source: &SourceFile, flags: OFlags) -> Result<File, SourceError> {
    let file = open_beneath(source, flags).map_err(|error| match error {
        // Not there, or what leads there is a file or a link now, perhaps one that leads out.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NXIO => {
            SourceError::Changed
        }
        other => SourceError::Io(other.into()),
    })?;
    compare(&file, source)?;
    Ok(file)
}

fn open_beneath(source: &SourceFile, flags: OFlags) -> Result<File, Errno> {
    let root = openat(
        CWD,
        &source.root,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match openat2(&root, &source.path, flags, Mode::empty(), resolve) {
            // The kernel could not rule out that a rename elsewhere on the machine led the walk astray.
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened.map(File::from),
        }
    }
}

fn compare(file: &File, source: &SourceFile) -> Result<(), SourceError> {
    if SourceStat::of(&file.metadata()?) == source.stat {
        Ok(())
    } else {
        Err(SourceError::Changed)
    }
}
