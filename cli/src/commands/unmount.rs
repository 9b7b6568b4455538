//! `shelf unmount`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use daemon::client::Client;
use daemon::mount_table::{self, ShelfMount};
use daemon::protocol::OutputKind;
use daemon::{instance, mirror};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::UnmountFlags;
use rustix::process::{PidfdFlags, pidfd_open};
use skills::problem::{Problem, ProblemKind};

use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::selection::{Which, connect, elsewhere, real};
use crate::ui::Ui;

/// How long a daemon may take to unmount.
const GONE: Duration = Duration::from_secs(10);

/// How long its daemon may take to end its servers.
const ENDED: Duration = Duration::from_secs(15);

/// How long to wait between two looks at the mount table.
const INTERVAL: Duration = Duration::from_millis(10);

/// End a shelf and unmount it
///
/// Returns when its servers have ended. Also clears what a daemon that was killed, or that hangs, left mounted, and ends a mirror, whose files
/// stay. Of a bind mount only the bind is unmounted.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf unmount /mnt/tools\n  shelf unmount --config .mcp.json\n  shelf unmount --project ."
)]
pub(crate) struct Arguments {
    /// Where it is mounted or mirrored [default: ~/tools]
    #[arg(value_name = "DIR", conflicts_with_all = ["config", "project"])]
    directory: Option<PathBuf>,

    /// End the shelf that serves this configuration, also one that a call started and that is mounted nowhere
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// End the shelf that has this trusted project beside your own configuration, also one that a call started
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    project: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let runtime = &environment.runtime();
    let named = match (&arguments.config, &arguments.project) {
        (Some(config), _) => Some(Which::serving(config)),
        (None, Some(project)) => Some(Which::within(&real(&absolute(project)?))),
        (None, None) => None,
    };
    if let Some(which) = named {
        return Ok(end(which.connect(environment, None)?, runtime, ui)?);
    }
    let directory = match &arguments.directory {
        Some(directory) => absolute(directory)?,
        None => environment.default_mount_point()?,
    };
    let Some(mount) = mount_table::mounted_on(&directory) else {
        let mirror = mirrored_at(&directory, environment)?;
        let socket = instance::socket_path(runtime, &mirror.instance);
        return Ok(end(connect(environment, &socket)?, runtime, ui)?);
    };
    let socket = instance::socket_of(runtime, &mount)?;
    match connect(environment, &socket).and_then(|client| end_mount(client, &mount)) {
        Ok(End::Stopped(daemon)) => {
            wait_until_gone(&mount)?;
            if let Some(daemon) = daemon {
                wait_for_end(&daemon, ui);
            }
        }
        Ok(End::Bind { of }) => {
            clear(&mount.mount_point)?;
            ui.note(&format!(
                "this was a bind of {0}, which stays",
                of.display()
            ));
            ui.hint(&format!("shelf unmount {}", of.display()));
        }
        Err(problem) if problem.kind == ProblemKind::Daemon => {
            ui.note(&format!(
                "the daemon does not answer, clearing its mount ({problem})"
            ));
            clear(&mount.mount_point)?;
            wait_until_gone(&mount)?;
        }
        Err(problem) => return Err(problem.into()),
    }
    Ok(())
}

/// The mirror that is kept at a place where nothing is mounted.
fn mirrored_at(directory: &Path, environment: &Environment) -> Result<ShelfMount, Problem> {
    let around = instance::containing(&environment.runtime(), directory)?;
    let problem = match around {
        // By the table first: what is mounted may hang, and is not touched.
        Some(shelf)
            if mount_table::containing(directory).is_none()
                && shelf.mount_point == real(directory) =>
        {
            return Ok(shelf);
        }
        Some(shelf) => Problem::new(
            ProblemKind::NotFound,
            "this lies in a shelf, it is not where one is mounted",
        )
        .hint(format!("shelf unmount {}", shelf.mount_point.display())),
        None => elsewhere("no shelf is mounted here", environment),
    };
    Err(problem.at_file(directory, None))
}

/// Ends a daemon that need not have a mount, and waits until it has ended.
fn end(mut client: Client, runtime: &Path, ui: &Ui) -> Result<(), Problem> {
    let about = client.status()?.about;
    let daemon = stop(client)?;
    let is_mounted = || {
        let mut mounts = mount_table::shelf_mounts().into_iter();
        mounts.any(|mount| mount.instance == about.instance)
    };
    wait_while(is_mounted, "it is still mounted")?;
    if let Some(daemon) = daemon {
        wait_for_end(&daemon, ui);
        return Ok(());
    }
    // A process that can't be seen from here.
    let runs = || {
        let running = instance::running(runtime).unwrap_or_default();
        running.iter().any(|other| other.instance == about.instance)
    };
    let writes = || match (about.output, &about.mount_point) {
        (OutputKind::Mirror, Some(target)) => mirror::is_held(target),
        _ => false,
    };
    wait_while(|| runs() || writes(), "the daemon still runs")
}

/// Tells a daemon to stop; what is returned tells when it has.
fn stop(mut client: Client) -> Result<Option<OwnedFd>, Problem> {
    // Before it is told to stop: later the number could be another process's.
    let daemon = client
        .daemon()
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    client.stop()?;
    Ok(daemon)
}

/// What a daemon that answers makes of the end of a mount.
enum End {
    /// It was told to stop; this tells when it has.
    Stopped(Option<OwnedFd>),
    /// What was named is a bind of its mount and nothing that it could unmount.
    Bind {
        /// Its own mount.
        of: PathBuf,
    },
}

fn end_mount(mut client: Client, mount: &ShelfMount) -> Result<End, Problem> {
    let own = client.status()?.about.mount_point;
    if let Some(own) = own.as_deref().and_then(mount_table::mounted_on)
        && own.instance == mount.instance
        && own.mount_point != mount.mount_point
    {
        return Ok(End::Bind {
            of: own.mount_point,
        });
    }
    stop(client).map(End::Stopped)
}

/// Unmounts without the daemon. A reader that stands inside keeps what it has open and nothing more.
fn clear(mount_point: &Path) -> Result<(), Problem> {
    let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
    let Err(error) = rustix::mount::unmount(mount_point, flags) else {
        return Ok(());
    };
    let error = match error {
        rustix::io::Errno::PERM => match fusermount(mount_point) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        },
        other => io::Error::from(other),
    };
    Err(Problem::new(
        ProblemKind::Mount,
        format!("it can't be unmounted: {error}"),
    )
    .at_file(mount_point, None))
}

/// Who may not unmount asks the helper of FUSE, which lets a user unmount what they mounted.
fn fusermount(mount_point: &Path) -> io::Result<()> {
    let output = Command::new("fusermount3")
        .args(["-u", "-z", "--"])
        .arg(mount_point)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| io::Error::new(e.kind(), format!("fusermount3: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(said.trim().to_owned()))
}

fn wait_until_gone(mount: &ShelfMount) -> Result<(), Problem> {
    let is_there = || mount_table::shelf_mounts().contains(mount);
    wait_while(is_there, "it is still mounted")
        .map_err(|problem| problem.at_file(&mount.mount_point, None))
}

fn wait_while(is_so: impl Fn() -> bool, what: &str) -> Result<(), Problem> {
    let deadline = Instant::now() + GONE;
    while is_so() {
        if Instant::now() >= deadline {
            let message = format!("{what} after {} s", GONE.as_secs());
            return Err(Problem::new(ProblemKind::Mount, message));
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

/// Waits for the daemon and so for its servers: whoever mounts again at once finds no lock of theirs held.
fn wait_for_end(daemon: &OwnedFd, ui: &Ui) {
    let Ok(limit) = Timespec::try_from(ENDED) else {
        return;
    };
    // Interrupted by nothing: this command catches no signal.
    if poll(&mut [PollFd::new(daemon, PollFlags::IN)], Some(&limit)) == Ok(0) {
        ui.warning("the daemon was told to end, but still waits for its servers");
    }
}
