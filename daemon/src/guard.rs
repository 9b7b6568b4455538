//! The guard: a small process between the daemon and a server, so that nothing is left behind.
//!
//! It is started as `shelf __guard`, is told what to run on its standard input (never in its arguments), is the child
//! subreaper of all that the server starts, and ends everything when the daemon or the server ends.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::config::Launch;

/// A server running under its guard.
#[derive(Debug)]
pub struct Guarded {
    /// The server's standard input; dropping it is the first step of stopping.
    pub stdin: tokio::process::ChildStdin,
    /// The server's standard output.
    pub stdout: tokio::process::ChildStdout,
    /// The server's standard error, and the guard's own word when the program could not be started.
    pub stderr: tokio::process::ChildStderr,
    /// The guard itself: it exits when the whole tree is gone.
    pub guard: GuardHandle,
}

/// The guard's process.
#[derive(Debug)]
pub struct GuardHandle {}

impl GuardHandle {
    /// The guard's process id.
    pub fn pid(&self) -> Option<u32> {
        todo!()
    }

    /// Waits until the whole tree is gone.
    ///
    /// # Errors
    /// When the process can't be waited for.
    pub async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        todo!()
    }

    /// Stops the server: the caller has dropped stdin; after a grace period SIGTERM to its group, after 3 s SIGKILL, then every
    /// adopted child, until none is left.
    pub async fn stop(self) {
        todo!()
    }
}

/// Starts a server under a guard.
///
/// # Errors
/// When the guard itself can't be started. A program that does not exist is said by the guard on stderr and by its exit.
pub fn spawn(executable: &Path, launch: &Launch) -> io::Result<Guarded> {
    let _ = (executable, launch);
    todo!()
}

/// The guard's own main function: `shelf __guard`.
pub fn main() -> ExitCode {
    todo!()
}
