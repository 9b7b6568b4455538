//! Which of the running daemons a command means.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use skills::definition::quote;
use skills::problem::{Problem, ProblemKind};
use skills::summary::one_line;

use super::{is_trusted, running, socket_path};
use crate::mount::Life;
use crate::mount_table::{self, ShelfMount};
use crate::protocol::{About, OutputKind};

/// What a command knows of the daemon that it means; the first that is given decides.
#[derive(Clone, Copy, Debug)]
pub struct Selector<'a> {
    /// The runtime directory.
    pub runtime: &'a Path,
    /// `SHELF_SOCKET`.
    pub socket: Option<&'a Path>,
    /// A path that may lie in a shelf, mounted or mirrored; absolute.
    pub path: Option<&'a Path>,
    /// The configuration that the user named.
    pub config: Option<&'a Path>,
    /// The user's own configuration, which decides between several daemons, and whether one is meant that a call started.
    pub default_config: Option<&'a Path>,
    /// The trusted project that the user works in; what it brings is in use beside their own configuration. Canonical.
    pub project: Option<&'a Path>,
}

impl<'a> Selector<'a> {
    /// Knows nothing but where to look.
    pub const fn new(runtime: &'a Path) -> Self {
        Self {
            runtime,
            socket: None,
            path: None,
            config: None,
            default_config: None,
            project: None,
        }
    }
}

/// The daemon that was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it listens.
    pub socket: PathBuf,
    /// Where its mount lies that led to it.
    pub mount_point: Option<PathBuf>,
    /// Whether it shows nothing and so ends by itself, maybe before it can be asked.
    pub is_passing: bool,
}

/// Finds the daemon that a command means.
///
/// # Errors
/// [`ProblemKind::Daemon`] when there is none, with how to start one, or when there are several, with how to name one.
pub fn find(selector: &Selector<'_>) -> Result<Found, Problem> {
    look(selector)?.ok_or_else(|| none(selector))
}

/// Looks for the daemon that a command means; `None` when none runs.
///
/// # Errors
/// [`ProblemKind::Daemon`] when there are several, with how to name one.
pub fn look(selector: &Selector<'_>) -> Result<Option<Found>, Problem> {
    if let Some(socket) = selector.socket {
        return Ok(Some(Found {
            socket: socket.to_owned(),
            mount_point: None,
            is_passing: false,
        }));
    }
    if let Some(path) = selector.path {
        if let Some(mount) = mount_table::containing(path) {
            return Ok(Some(Found {
                socket: socket_of(selector.runtime, &mount)?,
                mount_point: Some(mount.mount_point),
                is_passing: false,
            }));
        }
        if let Some(mirror) = mirror_around(selector.runtime, path)? {
            return Ok(Some(Found {
                socket: socket_path(selector.runtime, &mirror.instance),
                mount_point: None,
                is_passing: false,
            }));
        }
    }
    let about = choose(running(selector.runtime)?, selector)?;
    Ok(about.map(|about| Found {
        socket: socket_path(selector.runtime, &about.instance),
        mount_point: None,
        is_passing: is_passing(&about),
    }))
}

/// The shelf that a path lies in: mounted, or mirrored by a daemon that runs.
///
/// # Errors
/// When the running daemons can't be listed.
pub fn containing(runtime: &Path, path: &Path) -> Result<Option<ShelfMount>, Problem> {
    match mount_table::containing(path) {
        Some(mount) => Ok(Some(mount)),
        None => mirror_around(runtime, path),
    }
}

/// The mirror that a path lies in which lies in no mount.
fn mirror_around(runtime: &Path, path: &Path) -> Result<Option<ShelfMount>, Problem> {
    let path = mount_table::resolve(path).unwrap_or_else(|_| path.to_owned());
    let mirrors = running(runtime)?.into_iter().filter_map(|about| {
        let target = about.mount_point?;
        (about.output == OutputKind::Mirror).then(|| ShelfMount {
            mount_point: canonical(&target),
            instance: about.instance,
            root: "/".into(),
            user: Some(about.uid),
        })
    });
    // The innermost, as with mounts.
    Ok(mirrors
        .filter(|mirror| path.starts_with(&mirror.mount_point))
        .max_by_key(|mirror| mirror.mount_point.as_os_str().len()))
}

/// Where the daemon of a mount listens, or did before it ended.
///
/// # Errors
/// [`ProblemKind::Refused`] when it belongs to another user, [`ProblemKind::Daemon`] when it lives and has its socket elsewhere.
pub fn socket_of(runtime: &Path, mount: &ShelfMount) -> Result<PathBuf, Problem> {
    let socket = socket_path(runtime, &mount.instance);
    if is_trusted(runtime)? && socket.symlink_metadata().is_ok() {
        return Ok(socket);
    }
    let problem =
        |kind, message: String| Problem::new(kind, message).at_file(&mount.mount_point, None);
    match mount.user {
        // It could not be asked whether it lives: the kernel answers for it.
        Some(user) if user != rustix::process::geteuid().as_raw() => Err(problem(
            ProblemKind::Refused,
            format!("this shelf belongs to user {user}"),
        )
        .hint("run the command as that user")),
        _ if Life::of(&mount.mount_point) == Life::Alive => Err(problem(
            ProblemKind::Daemon,
            format!(
                "the daemon of this shelf is alive, but has no socket in {}",
                runtime.display()
            ),
        )
        .hint("set XDG_RUNTIME_DIR to what it was when the shelf was mounted")),
        _ => Ok(socket),
    }
}

/// Chooses among the running daemons by their configuration, to which a project belongs. One that was found where the user
/// works makes a configuration of its own, and no daemon of another is taken for it but one that was given its file.
fn choose(mut candidates: Vec<About>, selector: &Selector<'_>) -> Result<Option<About>, Problem> {
    let named = selector.config.map(canonical);
    let default = selector.default_config.map(canonical);
    if named.is_some() {
        candidates.retain(|about| about.config == named && about.project.is_none());
    } else {
        let is_of_use =
            |about: &About| about.config == default && about.project.as_deref() == selector.project;
        // One that a call with another configuration left running is nobody's choice.
        candidates.retain(|about| !is_passing(about) || is_of_use(about));
        if selector.project.is_some() {
            let is_given = |about: &About| about.project.is_none() && about.config != default;
            candidates.retain(|about| is_of_use(about) || is_given(about));
        }
        let is_said = default.is_some() || selector.project.is_some();
        let serves = |about: &About| is_said && is_of_use(about);
        if candidates.iter().any(serves) && candidates.len() > 1 {
            candidates.retain(serves);
        }
    }
    if candidates.iter().all(is_passing) {
        // They serve the same, so that any will do; the newest is of the version that was installed last.
        candidates.drain(..candidates.len().saturating_sub(1));
    } else {
        candidates.retain(|about| !is_passing(about));
    }
    match candidates.pop() {
        Some(last) if !candidates.is_empty() => {
            candidates.push(last);
            Err(several(&candidates))
        }
        only => Ok(only),
    }
}

fn is_passing(about: &About) -> bool {
    about.output == OutputKind::None
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn none(selector: &Selector<'_>) -> Problem {
    let Some(config) = selector.config else {
        let Some(project) = selector.project else {
            return Problem::new(ProblemKind::Daemon, "no shelf is mounted")
                .hint("start one: shelf mount DIR --config FILE");
        };
        return Problem::new(
            ProblemKind::Daemon,
            "no running shelf has this trusted project beside your own configuration",
        )
        .at_file(project, None)
        .hint(
            "start one: shelf mount DIR; another is meant by a path in its mount: shelf status DIR",
        );
    };
    Problem::new(
        ProblemKind::Daemon,
        "no running shelf serves this configuration",
    )
    .at_file(config, None)
    .hint(format!(
        "start one: shelf mount DIR --config {}",
        config.display()
    ))
}

fn several(candidates: &[About]) -> Problem {
    let mut message = String::from("several shelves run, and it is not said which one is meant:");
    let mut hint = String::from(
        "choose one of them for this shell, or for this command alone by --config FILE; then repeat the command:",
    );
    for about in candidates {
        let shown = |path: &Option<PathBuf>| {
            path.as_ref()
                .map_or_else(|| "none".to_owned(), |p| p.display().to_string())
        };
        let place = shown(&about.mount_point);
        let config = shown(&about.config);
        // Writing to a string can't fail.
        let _ = write!(message, "\n  shown at {place}, configuration {config}");
        if let Some(project) = &about.project {
            let _ = write!(message, ", project {}", project.display());
        }
        let socket = about.socket.display().to_string();
        let _ = write!(hint, "\n  export SHELF_SOCKET={}", quote(&socket));
        let _ = write!(hint, "  # shown at {}", one_line(&place));
    }
    Problem::new(ProblemKind::Daemon, message).hint(hint)
}
