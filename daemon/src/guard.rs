//! The guard: a small process between the daemon and a server, so that nothing is left behind.
//!
//! ```text
//! daemon ── shelf __guard <daemon>            child subreaper, watches the daemon by pidfd
//!           └─ shelf __guard launch <guard>   reads what to run from stdin, then becomes the server
//!              └─ whatever the server starts
//! ```
//!
//! What to run goes over standard input, so no argument and no environment of ours ever shows a secret. The guard ends
//! everything when the daemon dies, when it is told to stop (SIGTERM) or when the server's main process ends: a
//! launcher that exits while a grandchild goes on has ended. Each process of the tree gets SIGTERM once, and SIGKILL after
//! [`TERMINATION_GRACE`], those that called `setsid` too, until no child is left.
//!
//! When the guard itself is killed, the kernel kills the server's main process with it, and the daemon kills the rest,
//! which it knows by [`MARKER`] in their environment. What stays possible: daemon and guard are killed in the same
//! moment, and a *grandchild* ignores the end of its input; a process that runs as another user, which nobody here may signal.

mod frame;
mod launcher;
mod processes;
mod warden;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use crate::config::Launch;

/// How long a server may take to end by itself once its standard input is closed.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How long a process may take to end after SIGTERM, before SIGKILL.
pub const TERMINATION_GRACE: Duration = Duration::from_secs(3);
/// How long a process may take to end after SIGKILL (one in uninterruptible sleep may never) before it is given up.
pub const KILL_GRACE: Duration = Duration::from_secs(5);
/// The variable by which the processes below a guard are known; its value is never used twice.
pub const MARKER: &str = "SHELF_GUARD";

/// The guard's first argument.
pub const COMMAND: &str = "__guard";
/// The argument of the process that becomes the server.
const LAUNCH: &str = "launch";

/// What runs below a guard at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    /// The server's main process.
    pub(crate) server: Option<u32>,
    /// The resident memory of all of it in bytes; what several processes share is counted for each.
    pub(crate) memory: u64,
}

/// Looks at what runs below a guard. Reads all of `/proc`.
pub(crate) fn tree(guard: u32) -> Tree {
    let guard = i32::try_from(guard).ok().and_then(Pid::from_raw);
    let below = guard.map(processes::descendants).and_then(Result::ok);
    let below = below.unwrap_or_default();
    Tree {
        // Adopted ones came later, and are behind it unless the numbers of processes began anew.
        server: below
            .first()
            .and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok()),
        memory: below
            .iter()
            .filter_map(|pid| processes::resident(*pid))
            .sum(),
    }
}

/// A server running under its guard.
#[derive(Debug)]
pub struct Guarded {
    /// The server's standard input; dropping it is the first step of stopping.
    pub stdin: ChildStdin,
    /// The server's standard output.
    pub stdout: tokio::process::ChildStdout,
    /// The server's standard error, and the guard's own word when the program could not be started.
    pub stderr: tokio::process::ChildStderr,
    /// The guard itself: it exits when the whole tree is gone.
    pub guard: GuardHandle,
}

/// The guard's process. Dropping the handle tells the guard to stop the server.
#[derive(Debug)]
pub struct GuardHandle {
    child: Child,
    /// The value of [`MARKER`].
    mark: String,
}

impl GuardHandle {
    /// The guard's process id; `None` once it was waited for.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the whole tree is gone, and returns how the server's main process ended (128 and the signal's number when
    /// a signal ended it). Cancel safe.
    ///
    /// # Errors
    /// When the process can't be waited for.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.clear(status);
        Ok(status)
    }

    /// Stops the server: the caller has dropped stdin; after [`CLOSE_GRACE`] SIGTERM, after [`TERMINATION_GRACE`] SIGKILL, then
    /// every adopted child, until none is left.
    pub async fn stop(mut self) {
        if timeout(CLOSE_GRACE, self.wait()).await.is_ok() {
            return;
        }
        self.signal(Signal::TERM);
        let enough = TERMINATION_GRACE + KILL_GRACE + Duration::from_secs(1);
        if timeout(enough, self.wait()).await.is_ok() {
            return;
        }
        let pid = self.pid();
        tracing::warn!(pid, "the guard of a server does not end; killing it");
        self.signal(Signal::KILL);
        if timeout(KILL_GRACE, self.wait()).await.is_err() {
            tracing::warn!(pid, "the guard of a server can't be killed");
        }
    }

    /// Kills what a guard left behind that was killed itself.
    fn clear(&self, status: ExitStatus) {
        if status.signal().is_some() {
            processes::kill_marked(&self.mark);
        }
    }

    /// Signals the guard, unless it was waited for already: until then its process id can't be another's.
    fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // It may have ended just now, and then there is nothing to signal.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

impl Drop for GuardHandle {
    fn drop(&mut self) {
        match self.child.try_wait() {
            Ok(Some(status)) => self.clear(status),
            Ok(None) | Err(_) => self.signal(Signal::TERM),
        }
    }
}

/// Starts a server under a guard. Must be called inside a tokio runtime.
///
/// # Errors
/// When the guard itself can't be started. A program that does not exist is said by the guard on stderr and by its exit
/// (127 when it was not found, 126 when it can't be run).
pub fn spawn(executable: &Path, launch: &Launch) -> io::Result<Guarded> {
    let mark = new_mark();
    let frame = frame::encode(launch, &mark)?;
    let mut child = Command::new(executable)
        .arg(COMMAND)
        .arg(std::process::id().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("the guard has no pipes"));
    };
    let guard = GuardHandle { child, mark };
    Ok(Guarded {
        stdin: send(stdin, &frame)?,
        stdout,
        stderr,
        guard,
    })
}

/// A value of [`MARKER`] that no other daemon has either, in whatever process namespace it runs.
fn new_mark() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// Writes the frame at once; the pipe is made to hold it, so that nobody waits for the guard to start.
fn send(stdin: ChildStdin, frame: &[u8]) -> io::Result<ChildStdin> {
    /// What a pipe holds if nothing else is said.
    const PIPE_CAPACITY: usize = 65_536;
    let stdin = stdin.into_owned_fd()?;
    if frame.len() > PIPE_CAPACITY {
        // Beyond the limit of the system (1 MiB by default) the write waits until the guard reads.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdin, frame.len());
    }
    let mut pipe = File::from(stdin);
    match pipe.write_all(frame) {
        // The guard is gone already: its exit and its stderr say why.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    ChildStdin::from_std(std::os::fd::OwnedFd::from(pipe).into())
}

/// The guard's own main function: `shelf __guard`. It reads the arguments of the process.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(2).collect();
    let pid = |text: &OsStr| text.to_str()?.parse().ok().and_then(Pid::from_raw);
    let done = match arguments.as_slice() {
        [daemon] => pid(daemon).map(warden::guard),
        [launch, guard] if launch == LAUNCH => pid(guard).map(launcher::launch),
        _ => None,
    };
    match done {
        Some(Ok(code)) => code,
        Some(Err(failure)) => failure.report(),
        None => Failure::new(2, "started by hand; it is a part of `shelf mount`").report(),
    }
}

/// Why no server was started: one line, and the exit code.
#[derive(Debug)]
struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Says it on standard error, which the daemon keeps as the server's.
    fn report(&self) -> ExitCode {
        let _ = writeln!(io::stderr(), "shelf guard: {}", self.message);
        ExitCode::from(self.code)
    }
}
