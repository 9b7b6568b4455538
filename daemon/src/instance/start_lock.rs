//! The right to start a daemon: of many commands that miss one at the same time, one starts it.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use skills::problem::{Problem, ProblemKind};

use super::prepare_directory;

/// Held while a daemon is being started; the kernel lets go of it when the command ends, however it ends.
#[derive(Debug)]
pub struct StartLock {
    _held: OwnedFd,
}

impl StartLock {
    /// Takes the lock; `None` while somebody else has it.
    ///
    /// # Errors
    /// [`ProblemKind::Daemon`] when the runtime directory can't be used.
    pub fn take(runtime: &Path) -> Result<Option<Self>, Problem> {
        prepare_directory(runtime)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // The directory itself, so that no file is left that nobody could remove without a race.
        let locked = open(runtime, flags, Mode::empty()).and_then(|directory| {
            flock(&directory, FlockOperation::NonBlockingLockExclusive).map(|()| directory)
        });
        match locked {
            Ok(held) => Ok(Some(Self { _held: held })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(Problem::new(
                ProblemKind::Daemon,
                format!("the runtime directory can't be locked: {error}"),
            )
            .at_file(runtime, None)),
        }
    }
}
