//! Why a request is refused, and the one place where that becomes an errno.

use std::io;

use fuser::Errno;

use crate::source_file::SourceError;

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The inode was replaced or removed. For a path the kernel looks the name up again and serves what is there now.
    Stale,
    /// The inode is no directory.
    NotADirectory,
    /// The inode is no regular file.
    NotAFile,
    /// The inode is no symbolic link.
    NotALink,
    /// The name is longer than a file name can be.
    NameTooLong,
    /// The file system can't be changed.
    ReadOnly,
    /// Too many searches wait, or one took too long: the reader may try again.
    Busy,
    /// What was to answer broke down.
    Fault,
    /// The request is not served; most of these the kernel then never sends again.
    NotServed,
    /// The disk below said so.
    Disk(io::Error),
}

impl From<Refusal> for Errno {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Stale => Errno::ESTALE,
            Refusal::NotADirectory => Errno::ENOTDIR,
            Refusal::NotAFile => Errno::EISDIR,
            Refusal::NotALink => Errno::EINVAL,
            Refusal::NameTooLong => Errno::ENAMETOOLONG,
            Refusal::ReadOnly => Errno::EROFS,
            Refusal::Busy => Errno::EAGAIN,
            Refusal::Fault => Errno::EIO,
            Refusal::NotServed => Errno::ENOSYS,
            Refusal::Disk(error) => error.into(),
        }
    }
}

impl From<SourceError> for Refusal {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Changed => Self::Stale,
            SourceError::Io(error) => Self::Disk(error),
        }
    }
}
