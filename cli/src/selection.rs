//! Which entry a user means, and which daemon has it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use daemon::client::{ANSWER, Client, Identity};
use daemon::instance::{self, Found, Selector};
use daemon::mount_table::{self, ShelfMount};
use daemon::protocol::OutputKind;
use skills::discovery::SkillRoot;
use skills::problem::{Problem, ProblemKind};

use crate::environment::{Environment, absolute};
use crate::project;
use crate::ui::Ui;

/// What is in use where no daemon says it.
pub(crate) struct InUse {
    /// The configuration.
    pub(crate) config: Option<PathBuf>,
    /// The skills that belong to it.
    pub(crate) skills: Vec<SkillRoot>,
    /// The trusted project whose servers and skills are added to them.
    pub(crate) project: Option<PathBuf>,
}

/// Chooses among several daemons.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Which {
    /// Ask the shelf that serves this configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The project that is meant, in place of the one that the user works in.
    #[arg(skip)]
    project: Option<PathBuf>,
}

impl Which {
    /// The shelf that serves a configuration.
    pub(crate) fn serving(config: &Path) -> Self {
        Self {
            config: Some(config.to_owned()),
            project: None,
        }
    }

    /// The shelf that has this project (links resolved) beside the user's own configuration.
    pub(crate) fn within(project: &Path) -> Self {
        Self {
            config: None,
            project: Some(project.to_owned()),
        }
    }

    /// The configuration that was asked for.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Connects to the daemon; a path that lies in a shelf decides.
    pub(crate) fn connect(
        &self,
        environment: &Environment,
        path: Option<&Path>,
    ) -> Result<Client, Problem> {
        self.connect_within(environment, path, ANSWER)
    }

    /// Connects to the daemon, which may take so long over what is no call.
    pub(crate) fn connect_within(
        &self,
        environment: &Environment,
        path: Option<&Path>,
        patience: Duration,
    ) -> Result<Client, Problem> {
        self.ask(environment, path, instance::find)
            .and_then(|found| attach(environment, &found, patience))
    }

    /// The same, if one runs.
    pub(crate) fn connect_if_running(
        &self,
        environment: &Environment,
        path: Option<&Path>,
        patience: Duration,
    ) -> Result<Option<Client>, Problem> {
        let Some(found) = self.ask(environment, path, instance::look)? else {
            return Ok(None);
        };
        match attach(environment, &found, patience) {
            Err(problem) if found.is_passing && problem.kind == ProblemKind::Daemon => Ok(None),
            connected => connected.map(Some),
        }
    }

    /// The configuration in use, with what belongs to it, as `shelf mount` without further options would take them.
    pub(crate) fn configuration(&self, environment: &Environment) -> Result<InUse, Problem> {
        let config = match &self.config {
            Some(file) => Some(absolute(file)?),
            None => environment.default_config(),
        };
        let skills = match config {
            Some(_) => Vec::new(),
            None => environment.shared_skills(),
        };
        Ok(InUse {
            config,
            skills,
            project: self.project(environment),
        })
    }

    /// Says what was found where the user works, and is not trusted; to who named a shelf it is no news.
    pub(crate) fn tell_project(&self, environment: &Environment, ui: &Ui) {
        if self.config.is_none() && environment.socket().is_none() {
            project::tell(environment, ui);
        }
    }

    /// The project in use: who names a configuration has chosen.
    fn project(&self, environment: &Environment) -> Option<PathBuf> {
        match (&self.config, &self.project) {
            (Some(_), _) => None,
            (None, Some(project)) => Some(project.clone()),
            (None, None) => project::in_use(environment),
        }
    }

    fn ask<T>(
        &self,
        environment: &Environment,
        path: Option<&Path>,
        question: impl FnOnce(&Selector<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let runtime = environment.runtime();
        let default_config = environment.default_config();
        let project = match environment.socket() {
            Some(_) => None,
            None => self.project(environment),
        };
        question(&Selector {
            socket: environment.socket(),
            path,
            config: self.config.as_deref(),
            default_config: default_config.as_deref(),
            project: project.as_deref(),
            ..Selector::new(&runtime)
        })
    }
}

/// Connects to a daemon that was found.
fn attach(environment: &Environment, found: &Found, patience: Duration) -> Result<Client, Problem> {
    let connected = Client::connect_within(&found.socket, &identity(environment), patience);
    connected.map_err(|problem| match &found.mount_point {
        Some(mount) if problem.kind == ProblemKind::Daemon => problem.hint(format!(
            "unmount it and mount again: shelf unmount {}",
            mount.display()
        )),
        _ => problem,
    })
}

/// Connects to the daemon at a socket.
pub(crate) fn connect(environment: &Environment, socket: &Path) -> Result<Client, Problem> {
    Client::connect(socket, &identity(environment))
}

/// Connects to the daemon at a socket, which may take so long over what is no call.
pub(crate) fn connect_within(
    environment: &Environment,
    socket: &Path,
    patience: Duration,
) -> Result<Client, Problem> {
    Client::connect_within(socket, &identity(environment), patience)
}

fn identity(environment: &Environment) -> Identity {
    Identity {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        session: environment.session(),
    }
}

/// An entry as a user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its id, or its path relative to the mount point.
    pub(crate) entry: String,
    /// The path that was given, when it leads into a shelf.
    pub(crate) path: Option<PathBuf>,
}

/// Reads an argument: an id, or a path of the entry in a mount or a mirror.
pub(crate) fn target(argument: &OsStr, environment: &Environment) -> Result<Target, Problem> {
    let as_written = Target {
        // An id is text, so what is none matches nothing either way.
        entry: argument.to_string_lossy().into_owned(),
        path: None,
    };
    let path = if is_path(argument) {
        real(&absolute(Path::new(argument))?)
    } else if let Some(program) = program(Path::new(argument)) {
        program
    } else {
        return Ok(as_written);
    };
    if let Some(mount) = instance::containing(&environment.runtime(), &path)? {
        return Ok(Target {
            entry: within(&mount, &path).to_string_lossy().into_owned(),
            path: Some(path),
        });
    }
    if matches!(argument.as_bytes(), [b'/' | b'.', ..]) {
        return Err(elsewhere(
            format!("`{}` does not lie in a shelf", argument.display()),
            environment,
        ));
    }
    // `mcp/<server>/<tool>.md`, copied from an index: a path that is relative to the mount wherever one stands.
    Ok(as_written)
}

/// The path as the shelf itself has it; what is mounted may be just a part of the shelf.
fn within(mount: &ShelfMount, path: &Path) -> PathBuf {
    let below = path.strip_prefix(&mount.mount_point).unwrap_or(path);
    let whole = mount.root.join(below);
    whole
        .strip_prefix("/")
        .map_or(whole.clone(), Path::to_owned)
}

/// Whether an argument is a path and not an id: a rule that needs no look at the disk.
fn is_path(argument: &OsStr) -> bool {
    let bytes = argument.as_bytes();
    matches!(bytes, [b'/' | b'.', ..]) || bytes.ends_with(b".md") || bytes.ends_with(b".json")
}

/// The file that a word without a leading dot means, as completion writes the path of a program: `mount/bin/server.tool`. An id may look
/// like that too, so that only a file that is there counts, and of those the caller takes none that lies in no shelf.
fn program(word: &Path) -> Option<PathBuf> {
    let mut parts = word.as_os_str().as_bytes().windows(b"/bin/".len());
    if !parts.any(|part| part == b"/bin/") {
        return None;
    }
    let path = word.canonicalize().ok()?;
    path.is_file().then_some(path)
}

/// The path with its links resolved as far as it exists: a mistyped name still leads to its mount, whose daemon knows the right ones.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// A problem about a place where there is no shelf; the hint says where there are some.
pub(crate) fn elsewhere(message: impl Into<String>, environment: &Environment) -> Problem {
    // A daemon that was killed left a mount and nothing else; a mirror is in no table.
    let mounts = mount_table::shelf_mounts().into_iter();
    let mut places: Vec<_> = mounts.map(|mount| mount.mount_point).collect();
    let running = instance::running(&environment.runtime()).unwrap_or_default();
    let mirrors = running
        .into_iter()
        .filter(|about| about.output == OutputKind::Mirror);
    places.extend(mirrors.filter_map(|about| about.mount_point));
    let hint = if places.is_empty() {
        "no shelf is mounted; start one: shelf mount DIR --config FILE".to_owned()
    } else {
        let places: Vec<_> = places
            .iter()
            .map(|place| place.display().to_string())
            .collect();
        format!("shelves are at {}", places.join(", "))
    };
    Problem::new(ProblemKind::NotFound, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use std::path::Path;

    use daemon::mount_table::ShelfMount;

    use super::{is_path, program, real, within};

    #[test]
    fn a_path_is_read_from_the_root_of_the_shelf() {
        let mount = |root: &str| ShelfMount {
            mount_point: "/mnt/tools".into(),
            instance: "abcdefgh".into(),
            root: root.into(),
            user: None,
        };
        let path = Path::new("/mnt/tools/git/log.md");
        assert_eq!(within(&mount("/"), path), Path::new("git/log.md"));
        assert_eq!(within(&mount("/mcp"), path), Path::new("mcp/git/log.md"));
        let top = Path::new("/mnt/tools");
        assert_eq!(within(&mount("/mcp"), top), Path::new("mcp/"));
    }

    #[test]
    fn paths_and_ids_are_told_apart_without_the_disk() {
        for path in ["/mnt/tools/mcp", "./x", "../x", ".", "echo.md", "a/b.json"] {
            assert!(is_path(path.as_ref()), "{path}");
        }
        for id in ["everything/echo", "skills/pdf", "a.b/c.d", "x/readme.mdx"] {
            assert!(!is_path(id.as_ref()), "{id}");
        }
    }

    #[test]
    fn only_a_file_that_is_there_makes_a_word_with_bin_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("mount/bin/deeper")).unwrap();
        let file = base.join("mount/bin/fake.echo");
        std::fs::write(&file, "").unwrap();
        assert_eq!(program(&file), Some(file));
        assert_eq!(program(&base.join("mount/bin/fake.absent")), None);
        assert_eq!(program(&base.join("mount/bin/deeper")), None);
        let other = base.join("mount/other");
        std::fs::write(&other, "").unwrap();
        assert_eq!(program(&other), None);
    }

    #[test]
    fn links_are_resolved_as_far_as_the_path_exists() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("mount")).unwrap();
        symlink(base.join("mount"), base.join("link")).unwrap();
        assert_eq!(real(&base.join("link")), base.join("mount"));
        assert_eq!(
            real(&base.join("link/no/such.md")),
            base.join("mount/no/such.md")
        );
    }
}
