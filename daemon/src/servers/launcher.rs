//! How a server's process comes into being: under the guard, or as the tests like it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitStatus;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::config::Launch;
use crate::guard::{self, GuardHandle};

/// Starts a server's process.
pub(super) trait Launcher: fmt::Debug + Send + Sync {
    /// Starts it.
    fn launch(&self, launch: &Launch) -> io::Result<Launched>;
}

/// A server's process and its pipes.
pub(super) struct Launched {
    pub(super) stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) stderr: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) process: Box<dyn Process>,
}

/// A future that the methods of [`Process`] return.
pub(super) type Eventually<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A running process.
pub(super) trait Process: Send {
    /// Waits until it and all that it started are gone.
    fn wait(&mut self) -> Eventually<'_, io::Result<ExitStatus>>;
    /// The process that guards it, and below which it runs.
    fn guard(&self) -> Option<u32>;
    /// Ends it; its standard input is closed already.
    fn stop(self: Box<Self>) -> Eventually<'static, ()>;
}

/// Starts servers under the guard.
#[derive(Debug)]
pub(super) struct GuardLauncher {
    /// The `shelf` binary.
    pub(super) executable: PathBuf,
}

impl Launcher for GuardLauncher {
    fn launch(&self, launch: &Launch) -> io::Result<Launched> {
        let guarded = guard::spawn(&self.executable, launch)?;
        Ok(Launched {
            stdin: Box::new(guarded.stdin),
            stdout: Box::new(guarded.stdout),
            stderr: Box::new(guarded.stderr),
            process: Box::new(guarded.guard),
        })
    }
}

impl Process for GuardHandle {
    fn wait(&mut self) -> Eventually<'_, io::Result<ExitStatus>> {
        Box::pin(GuardHandle::wait(self))
    }

    fn guard(&self) -> Option<u32> {
        self.pid()
    }

    fn stop(self: Box<Self>) -> Eventually<'static, ()> {
        Box::pin(GuardHandle::stop(*self))
    }
}
