//! Modes and times of what the mirror writes.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, Stat, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, futimens};
use skills::tree::{Directory, File as TreeFile};

const PERMISSIONS: u32 = 0o7777;

/// Sets what differs; without a stat, everything.
pub(super) fn set_mode_and_time(
    on_disk: &File,
    stat: Option<&Stat>,
    wanted: &TreeFile,
) -> io::Result<()> {
    if stat.is_none_or(|stat| stat.st_mode & PERMISSIONS != wanted.mode) {
        fchmod(on_disk, Mode::from_raw_mode(wanted.mode))?;
    }
    if stat.is_none_or(|stat| !is_time(stat, wanted.modified)) {
        futimens(on_disk, &timestamps(wanted.modified))?;
    }
    Ok(())
}

/// The mode of a directory of the mirror. Whatever a skill's own is, the mirror must be able to keep it.
pub(super) fn directory_mode(wanted: &Directory) -> u32 {
    wanted.mode.unwrap_or(0o755) | 0o700
}

/// Sets what differs of a directory. The mode of one that was rendered is what the user's umask made of it.
pub(super) fn set_directory(on_disk: &OwnedFd, wanted: &Directory) -> io::Result<()> {
    let stat = fstat(on_disk)?;
    let mode = directory_mode(wanted);
    if wanted.mode.is_some() && stat.st_mode & PERMISSIONS != mode {
        fchmod(on_disk, Mode::from_raw_mode(mode))?;
    }
    if !is_time(&stat, wanted.modified) {
        futimens(on_disk, &timestamps(wanted.modified))?;
    }
    Ok(())
}

/// Whether this is the modification time.
pub(super) fn is_time(stat: &Stat, modified: SystemTime) -> bool {
    let wanted = timespec(modified);
    stat.st_mtime == wanted.tv_sec && i128::from(stat.st_mtime_nsec) == i128::from(wanted.tv_nsec)
}

/// The modification time as the kernel is told it; the access time stays.
pub(super) fn timestamps(modified: SystemTime) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: timespec(modified),
    }
}

fn timespec(time: SystemTime) -> Timespec {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Timespec {
            tv_sec: since.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: since.subsec_nanos().into(),
        },
        // Nobody mirrors what is older than the epoch for its time.
        Err(_) => Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
    }
}
