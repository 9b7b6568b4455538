//! `shelf unmount`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use daemon::mount_table::{self, ShelfMount};
use daemon::protocol::{About, OutputKind};
use daemon::{instance, mirror};
use rustix::mount::UnmountFlags;
use skills::problem::{Problem, ProblemKind};

use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::selection::{Which, connect, elsewhere, real};
use crate::ui::Ui;

/// How long a daemon may take to unmount.
const GONE: Duration = Duration::from_secs(10);

/// How long to wait between two looks at the mount table.
const INTERVAL: Duration = Duration::from_millis(10);

/// End a shelf and unmount it
///
/// Also clears what a daemon that was killed left mounted, and ends a mirror, whose files stay.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shelf unmount /mnt/tools\n  shelf unmount --config .mcp.json")]
pub(crate) struct Arguments {
    /// Where it is mounted or mirrored [default: ~/tools]
    #[arg(value_name = "DIR", conflicts_with = "config")]
    directory: Option<PathBuf>,

    /// End the shelf that serves this configuration, also one that a call started and that is mounted nowhere
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let runtime = &environment.runtime();
    if let Some(config) = &arguments.config {
        let mut client = Which::serving(config).connect(environment, None)?;
        let about = client.status()?.about;
        client.stop()?;
        return Ok(end_of(&about, runtime)?);
    }
    let directory = match &arguments.directory {
        Some(directory) => absolute(directory)?,
        None => environment.default_mount_point()?,
    };
    let Some(mount) = mounted_at(&directory) else {
        let about = mirrored_at(&directory, environment)?;
        let socket = instance::socket_path(runtime, &about.instance);
        connect(environment, &socket)?.stop()?;
        return Ok(end_of(&about, runtime)?);
    };
    let socket = instance::socket_path(runtime, &mount.instance);
    match connect(environment, &socket).and_then(|mut client| client.stop()) {
        Ok(()) => {}
        Err(problem) if problem.kind == ProblemKind::Daemon => {
            ui.note(&format!(
                "the daemon does not answer, clearing its mount ({problem})"
            ));
            clear(&mount.mount_point)?;
        }
        Err(problem) => return Err(problem.into()),
    }
    Ok(wait_until_gone(&mount)?)
}

/// The daemon that keeps a mirror at a place where nothing is mounted.
fn mirrored_at(directory: &Path, environment: &Environment) -> Result<About, Problem> {
    let inside = |shelf: &ShelfMount| {
        Problem::new(
            ProblemKind::NotFound,
            "this lies in a shelf, it is not where one is mounted",
        )
        .at_file(directory, None)
        .hint(format!("shelf unmount {}", shelf.mount_point.display()))
    };
    // By the table first: what is mounted may hang, and is not touched.
    if let Some(around) = mount_table::containing(directory) {
        return Err(inside(&around));
    }
    let (runtime, place) = (environment.runtime(), real(directory));
    let Some(mirror) = instance::containing(&runtime, &place)? else {
        return Err(elsewhere("no shelf is mounted here", environment).at_file(directory, None));
    };
    let mut running = instance::running(&runtime)?.into_iter();
    match running.find(|about| about.instance == mirror.instance) {
        Some(about) if mirror.mount_point == place => Ok(about),
        _ => Err(inside(&mirror)),
    }
}

/// Waits for the end of a daemon that was told to end.
fn end_of(about: &About, runtime: &Path) -> Result<(), Problem> {
    let runs = || {
        let running = instance::running(runtime).unwrap_or_default();
        running.iter().any(|other| other.instance == about.instance)
    };
    let shows = || match (about.output, &about.mount_point) {
        (OutputKind::Mount, _) => {
            let mut mounts = mount_table::shelf_mounts().into_iter();
            mounts.any(|mount| mount.instance == about.instance)
        }
        (OutputKind::Mirror, Some(target)) => mirror::is_held(target),
        (OutputKind::Mirror | OutputKind::None, _) => false,
    };
    wait_while(|| runs() || shows(), "the daemon still runs")
}

/// The mount at a place. The place itself is not touched, for its daemon may hang; a link to it is followed.
fn mounted_at(directory: &Path) -> Option<ShelfMount> {
    let place = match (directory.parent(), directory.file_name()) {
        _ if directory.is_symlink() => real(directory),
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => directory.to_owned(),
    };
    // Of two mounts in one place the later one is on top.
    let mounts = mount_table::shelf_mounts().into_iter();
    mounts.rev().find(|mount| mount.mount_point == place)
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
