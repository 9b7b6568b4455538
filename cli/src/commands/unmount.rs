//! `shelf unmount`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use daemon::client::Client;
use daemon::instance;
use daemon::mount_table::{self, ShelfMount};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::UnmountFlags;
use rustix::process::{PidfdFlags, pidfd_open};
use skills::problem::{Problem, ProblemKind};

use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::selection::{connect, elsewhere};
use crate::ui::Ui;

/// How long a daemon may take to unmount.
const GONE: Duration = Duration::from_secs(10);

/// How long its daemon may take to end its servers.
const ENDED: Duration = Duration::from_secs(15);

/// How long to wait between two looks at the mount table.
const INTERVAL: Duration = Duration::from_millis(10);

/// End a shelf and unmount it
///
/// Returns when its servers have ended. Also clears what a daemon that was killed, or that hangs, left mounted. Of a bind mount only the bind is
/// unmounted.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shelf unmount /mnt/tools")]
pub(crate) struct Arguments {
    /// Where it is mounted [default: ~/tools]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let directory = match &arguments.directory {
        Some(directory) => absolute(directory)?,
        None => environment.default_mount_point()?,
    };
    let mount = mounted_at(&directory)?;
    let socket = instance::socket_of(&environment.runtime(), &mount)?;
    match connect(environment, &socket).and_then(|mut client| end(&mut client, &mount)) {
        Ok(End::Stopped(daemon)) => {
            wait_until_gone(&mount)?;
            wait_for_end(daemon, ui);
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

fn end(client: &mut Client, mount: &ShelfMount) -> Result<End, Problem> {
    let own = client.status()?.about.mount_point;
    if let Some(own) = own.as_deref().and_then(mount_table::mounted_on)
        && own.instance == mount.instance
        && own.mount_point != mount.mount_point
    {
        return Ok(End::Bind {
            of: own.mount_point,
        });
    }
    // Before it is told to stop: later the number could be another process's.
    let daemon = client
        .daemon()
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    client.stop()?;
    Ok(End::Stopped(daemon))
}

/// The mount at a place. The place itself is not touched, for its daemon may hang; a link to it is followed.
fn mounted_at(directory: &Path) -> Result<ShelfMount, Problem> {
    if let Some(mount) = mount_table::mounted_on(directory) {
        return Ok(mount);
    }
    let problem = match mount_table::containing(directory) {
        Some(around) => Problem::new(
            ProblemKind::NotFound,
            "this lies in a shelf, it is not where one is mounted",
        )
        .hint(format!("shelf unmount {}", around.mount_point.display())),
        None => elsewhere("no shelf is mounted here"),
    };
    Err(problem.at_file(directory, None))
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
    let deadline = Instant::now() + GONE;
    while mount_table::shelf_mounts().contains(mount) {
        if Instant::now() >= deadline {
            return Err(Problem::new(
                ProblemKind::Mount,
                format!("it is still mounted after {} s", GONE.as_secs()),
            )
            .at_file(&mount.mount_point, None));
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

/// Waits for the daemon and so for its servers: whoever mounts again at once finds no lock of theirs held.
fn wait_for_end(daemon: Option<OwnedFd>, ui: &Ui) {
    let (Some(daemon), Ok(limit)) = (daemon, Timespec::try_from(ENDED)) else {
        return;
    };
    // Interrupted by nothing: this command catches no signal.
    if poll(&mut [PollFd::new(&daemon, PollFlags::IN)], Some(&limit)) == Ok(0) {
        ui.warning("it is unmounted, but its daemon still waits for servers to end");
    }
}
