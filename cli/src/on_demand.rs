//! A daemon for a call, started when none runs.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use daemon::client::Client;
use daemon::instance::StartLock;
use daemon::run::{Options, Output};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use skills::problem::{Problem, ProblemKind};

use crate::environment::Environment;
use crate::launch;
use crate::selection::{InUse, Which};
use crate::ui::Ui;

/// How long to wait between two looks while somebody else starts the daemon.
const INTERVAL: Duration = Duration::from_millis(20);

/// How often a daemon is started that has ended before it could be asked.
const STARTS: u32 = 3;

/// Connects to the daemon that is meant. Where none runs, one is started for the configuration in use, which ends by itself
/// when it has been idle. Of many commands that do this at the same time one starts it, and all of them use it. It may take
/// `patience` over what is no call.
pub(crate) fn connect(
    which: &Which,
    environment: &Environment,
    path: Option<&Path>,
    patience: Duration,
    interrupt: &OwnedFd,
    ui: &Ui,
) -> Result<Client, Problem> {
    let options = || {
        let options = options(which, environment)?;
        if options.config.is_none() && options.project.is_none() {
            // There is no server to call, and nothing to say but that.
            return which.connect(environment, None).and(Err(Problem::new(
                ProblemKind::Daemon,
                "the shelf that was started meanwhile has no configuration",
            )));
        }
        Ok(options)
    };
    connect_or_start(which, environment, path, patience, interrupt, ui, options)
}

/// The same for whoever reads as well as calls: the daemon that is started may have nothing but skills.
pub(crate) fn connect_to_any(
    which: &Which,
    environment: &Environment,
    patience: Duration,
    interrupt: &OwnedFd,
    ui: &Ui,
) -> Result<Client, Problem> {
    let options = || options(which, environment);
    connect_or_start(which, environment, None, patience, interrupt, ui, options)
}

fn connect_or_start(
    which: &Which,
    environment: &Environment,
    path: Option<&Path>,
    patience: Duration,
    interrupt: &OwnedFd,
    ui: &Ui,
    options: impl Fn() -> Result<Options, Problem>,
) -> Result<Client, Problem> {
    let mut starts = 0;
    loop {
        if let Some(client) = which.connect_if_running(environment, path, patience)? {
            return Ok(client);
        }
        let options = options()?;
        let Some(_lock) = StartLock::take(&options.surroundings.directories.runtime)? else {
            pause(interrupt)?;
            continue;
        };
        // Somebody may have started it, and let go of the lock, since the look above.
        if let Some(client) = which.connect_if_running(environment, path, patience)? {
            return Ok(client);
        }
        launch::start(options, interrupt, &mut |message| ui.progress(message))?;
        starts += 1;
        // The lock is held for a moment longer: by now the others find it.
        match which.connect_within(environment, path, patience) {
            // Others have used it already, and where it may be idle for next to no time it has ended since.
            Err(problem) if problem.kind == ProblemKind::Daemon && starts < STARTS => {}
            connected => return connected,
        }
    }
}

fn options(which: &Which, environment: &Environment) -> Result<Options, Problem> {
    let InUse {
        config,
        skills,
        project,
    } = which.configuration(environment)?;
    Ok(Options {
        surroundings: environment.surroundings()?,
        config,
        skills,
        project,
        output: Output::None,
        // The call waits for its own server alone.
        wait: Duration::ZERO,
    })
}

fn pause(interrupt: &OwnedFd) -> Result<(), Problem> {
    let mut watched = [PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN)];
    let timeout = Timespec::try_from(INTERVAL).expect("a few milliseconds are a time");
    match poll(&mut watched, Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
        Ok(_) => Err(Problem::new(
            ProblemKind::Interrupted,
            "interrupted while another command was starting the daemon",
        )),
        Err(error) => Err(Problem::new(
            ProblemKind::Internal,
            format!("signals can't be waited for: {error}"),
        )),
    }
}
