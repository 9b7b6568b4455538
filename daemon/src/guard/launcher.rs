//! The process that becomes the server: it asks to die with the guard, reads what to run, and runs it in its own place.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal};

use super::{Failure, frame};
use crate::descriptor_limit;

/// Becomes the server. Returns only when that is not possible.
pub(super) fn launch(guard: Pid) -> Result<ExitCode, Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::new(126, format!("cannot be tied to its guard: {error}")))?;
    // Asked for too late if the guard ended before.
    if rustix::process::getppid() != Some(guard) {
        return Err(Failure::new(126, "its guard is gone"));
    }
    let input = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Failure::new(126, format!("no standard input: {error}")))?;
    // A `File` reads unbuffered; the bytes behind the frame are the server's.
    let frame = frame::read(File::from(input))
        .map_err(|error| Failure::new(126, format!("was not told what to run: {error}")))?;
    let directory = frame.directory.display();
    std::env::set_current_dir(&*frame.directory).map_err(|error| {
        Failure::new(
            126,
            format!("cannot enter the directory {directory}: {error}"),
        )
    })?;
    if let Some(soft) = frame.descriptors {
        descriptor_limit::restore(soft);
    }
    // Also gives the server an empty signal mask and the default disposition of SIGPIPE.
    let error = Command::new(&*frame.command)
        .args(&*frame.args)
        .env_clear()
        .envs(frame.environment)
        .exec();
    let command = &frame.command;
    Err(match error.kind() {
        ErrorKind::NotFound if command.contains('/') => Failure::new(
            127,
            format!("cannot run {command}: it does not exist, or its interpreter does not"),
        ),
        ErrorKind::NotFound => Failure::new(
            127,
            format!("cannot run {command}: there is no such program in PATH"),
        ),
        // Also what comes of a directory in PATH that can't be searched.
        ErrorKind::PermissionDenied if !command.contains('/') => Failure::new(
            126,
            format!(
                "cannot run {command}: there is no program of that name in PATH that may be run"
            ),
        ),
        _ => Failure::new(126, format!("cannot run {command}: {error}")),
    })
}
