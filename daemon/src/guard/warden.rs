//! The guard process itself: starts the launcher, waits, and leaves nothing behind. One thread, no allocation while it waits.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::{COMMAND, Failure, KILL_GRACE, LAUNCH, TERMINATION_GRACE, processes};

/// How often the tree is looked through while it is being ended; the end of a child is noticed at once.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Starts the server and stays until it, and all that it started, is gone. Exits as the server's main process did.
pub(super) fn guard(daemon: Pid) -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| Failure::new(126, format!("cannot guard a server: {error}"));
    let watch = Watch::new(daemon).map_err(failed)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| failed(error.into()))?;
    // Spares the guard from a `killall -9 shelf`; cosmetic otherwise.
    let _ = rustix::thread::set_name(c"shelf-guard");

    let own = rustix::process::getpid();
    // By this path the binary is found also after it was replaced.
    let server = Command::new("/proc/self/exe")
        .arg0("shelf")
        .args([COMMAND, LAUNCH, &own.as_raw_nonzero().to_string()])
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let Some(server) = i32::try_from(server.id()).ok().and_then(Pid::from_raw) else {
        return Err(Failure::new(126, "the server has no process id"));
    };
    leave_pipes().map_err(failed)?;
    Ok(Warden::new(server).run(&watch))
}

/// Lets go of the server's pipes, so that each side sees when the other one closes them.
fn leave_pipes() -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// What the guard waits for.
struct Watch {
    /// Readable when the daemon has ended.
    daemon: OwnedFd,
    /// Readable when a signal told the guard to stop.
    stop: UnixStream,
    /// Readable when a child has ended.
    child: UnixStream,
}

impl Watch {
    fn new(daemon: Pid) -> io::Result<Self> {
        let pidfd = rustix::process::pidfd_open(daemon, PidfdFlags::empty())?;
        // Had the daemon ended before, the descriptor could be of another process.
        if rustix::process::getppid() != Some(daemon) {
            return Err(io::Error::other("the daemon is gone"));
        }
        // Handlers, and not ignored signals, so that the server starts with the default dispositions.
        Ok(Self {
            daemon: pidfd,
            stop: pipe_of(&[SIGTERM, SIGINT, SIGHUP])?,
            child: pipe_of(&[SIGCHLD])?,
        })
    }

    /// Waits for an event, and returns whether the server is to be stopped.
    fn wait(&self, limit: Option<&Timespec>) -> bool {
        let mut events = [
            PollFd::new(&self.daemon, PollFlags::IN),
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::new(&self.child, PollFlags::IN),
        ];
        match rustix::event::poll(&mut events, limit) {
            Ok(_) => {}
            Err(Errno::INTR) => return false,
            // Nothing can be watched any more; ending is the only safe way out.
            Err(_) => return true,
        }
        let ready = events.map(|event| !event.revents().is_empty());
        drain(&self.stop);
        drain(&self.child);
        ready[0] || ready[1]
    }
}

/// A pipe that becomes readable when one of the signals arrives.
fn pipe_of(signals: &[i32]) -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    for &signal in signals {
        signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    Ok(reader)
}

fn drain(pipe: &UnixStream) {
    let mut bytes = [0; 64];
    while rustix::io::read(pipe.as_fd(), &mut bytes).is_ok_and(|count| count > 0) {}
}

/// The state of the tree.
struct Warden {
    server: Pid,
    /// How the server's main process ended.
    status: Option<WaitStatus>,
    /// Since when the tree is being ended.
    ending: Option<Instant>,
    /// What has been sent SIGTERM: once each, since a second one makes some programs give up their clean-up.
    asked: HashSet<Pid>,
}

impl Warden {
    fn new(server: Pid) -> Self {
        Self {
            server,
            status: None,
            ending: None,
            asked: HashSet::new(),
        }
    }

    fn run(mut self, watch: &Watch) -> ExitCode {
        while self.reap() {
            if self.status.is_some() {
                self.ending.get_or_insert_with(Instant::now);
            }
            if let Some(since) = self.ending {
                let elapsed = since.elapsed();
                if elapsed < TERMINATION_GRACE {
                    self.terminate();
                } else if elapsed < TERMINATION_GRACE + KILL_GRACE {
                    self.kill();
                } else {
                    break;
                }
            }
            if watch.wait(self.ending.map(|_| &TICK)) {
                self.ending.get_or_insert_with(Instant::now);
            }
        }
        self.exit_code()
    }

    /// Reaps what has ended, adopted orphans too, and returns whether any child is left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.server => self.status = Some(status),
                Ok(Some((pid, _))) => {
                    // The number may come back as a process that was not asked yet.
                    self.asked.remove(&pid);
                }
                Ok(None) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn terminate(&mut self) {
        for pid in self.tree() {
            if self.asked.insert(pid) {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
            }
        }
    }

    fn kill(&self) {
        for pid in self.tree() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }

    /// All below the guard. Without `/proc` it is the server's main process, and then each orphan that is left to the guard is
    /// out of reach.
    fn tree(&self) -> Vec<Pid> {
        processes::descendants(rustix::process::getpid()).unwrap_or_else(|_| match self.status {
            None => vec![self.server],
            Some(_) => Vec::new(),
        })
    }

    fn exit_code(&self) -> ExitCode {
        let status = self.status.and_then(|status| {
            status
                .exit_status()
                .or_else(|| Some(128 + status.terminating_signal()?))
        });
        // One that even SIGKILL did not end counts as killed.
        let code = status.unwrap_or(128 + Signal::KILL.as_raw());
        ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
    }
}
