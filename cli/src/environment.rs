//! The only module that reads the environment: the places that it names, and the few variables that are ours.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use daemon::surroundings::{Directories, Environment as Variables, Surroundings};
use skills::discovery::SkillRoot;
use skills::problem::{Problem, ProblemKind};

/// Where clients look for the skills of a user, below the home directory. The common ground comes first.
const SHARED_SKILLS: [&str; 7] = [
    ".agents/skills",
    ".config/agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".copilot/skills",
    ".gemini/skills",
    ".pi/agent/skills",
];

/// The variable that names whom the log names.
const SESSION: &str = "SHELF_SESSION";

/// The variable that says how much of a result is printed.
pub(crate) const MAX_OUTPUT: &str = "SHELF_MAX_OUTPUT";

/// The names under which a user's own configuration is looked for, the first wins.
const CONFIGURATIONS: [&str; 2] = ["shelf.toml", "mcp.json"];

/// The environment of the command.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    variables: Variables,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value)
    }

    /// An absolute path; XDG says that a relative one counts as unset.
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    }

    fn home(&self) -> Result<PathBuf, Problem> {
        self.path("HOME").ok_or_else(|| {
            Problem::new(ProblemKind::Configuration, "HOME is not set")
                .hint("set HOME, or XDG_CACHE_HOME, XDG_STATE_HOME and XDG_CONFIG_HOME")
        })
    }

    fn xdg(&self, name: &str, below_home: &str) -> Result<PathBuf, Problem> {
        match self.path(name) {
            Some(path) => Ok(path),
            None => self.home().map(|home| home.join(below_home)),
        }
    }

    /// The places that Toolshelf writes to.
    pub(crate) fn directories(&self) -> Result<Directories, Problem> {
        Ok(Directories {
            cache: self.xdg("XDG_CACHE_HOME", ".cache")?.join("toolshelf"),
            state: self
                .xdg("XDG_STATE_HOME", ".local/state")?
                .join("toolshelf"),
            runtime: self.runtime(),
        })
    }

    /// Where every daemon of this user writes its log.
    pub(crate) fn access_log(&self) -> Result<PathBuf, Problem> {
        Ok(self.directories()?.state.join("log"))
    }

    /// Where the sockets are. A shell without a login (cron, `docker exec`) has no XDG_RUNTIME_DIR and still has to find the daemon
    /// of one that had it.
    pub(crate) fn runtime(&self) -> PathBuf {
        if let Some(path) = self.path("XDG_RUNTIME_DIR") {
            return path.join("toolshelf");
        }
        let user = rustix::process::geteuid().as_raw();
        let login = PathBuf::from(format!("/run/user/{user}"));
        if login.is_dir() {
            return login.join("toolshelf");
        }
        PathBuf::from(format!("/tmp/toolshelf-{user}"))
    }

    /// What the daemon is given.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, Problem> {
        Ok(Surroundings {
            directories: self.directories()?,
            environment: self.variables.clone(),
            executable: executable()?,
        })
    }

    /// The user's own configuration, if there is one.
    pub(crate) fn default_config(&self) -> Option<PathBuf> {
        let directory = self
            .xdg("XDG_CONFIG_HOME", ".config")
            .ok()?
            .join("toolshelf");
        CONFIGURATIONS
            .iter()
            .map(|name| directory.join(name))
            .find(|path| path.exists())
    }

    /// The user's own `shelf.toml`, which need not exist.
    pub(crate) fn own_config(&self) -> Result<PathBuf, Problem> {
        let [own, other] = CONFIGURATIONS;
        let directory = self.xdg("XDG_CONFIG_HOME", ".config")?.join("toolshelf");
        let own = directory.join(own);
        let other = directory.join(other);
        if !own.exists() && other.exists() {
            let message = format!("a {own} would take its place", own = own.display());
            return Err(Problem::new(ProblemKind::Usage, message)
                .at_file(other, None)
                .hint("edit it by hand, or move its servers into a shelf.toml first"));
        }
        Ok(own)
    }

    /// The variables themselves, for what is expanded from them.
    pub(crate) const fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Where a shelf is mounted when nothing else is said.
    pub(crate) fn default_mount_point(&self) -> Result<PathBuf, Problem> {
        Ok(self.home()?.join("tools"))
    }

    /// The skills that clients share; each place may be absent.
    pub(crate) fn shared_skills(&self) -> Vec<SkillRoot> {
        let Ok(home) = self.home() else {
            return Vec::new();
        };
        let root = |below: &&str| SkillRoot {
            path: home.join(below),
            source: None,
            optional: true,
        };
        SHARED_SKILLS.iter().map(root).collect()
    }

    /// The home directory, where there is one.
    pub(crate) fn home_directory(&self) -> Option<PathBuf> {
        self.home().ok()
    }

    /// The directory that the command was called in, links resolved; none when it has been removed.
    pub(crate) fn working_directory(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }

    /// A path as it reads from the home directory.
    pub(crate) fn below_home<'p>(&self, path: &'p Path) -> Option<&'p str> {
        path.strip_prefix(self.home().ok()?).ok()?.to_str()
    }

    /// `SHELF_SOCKET`: the daemon that is meant.
    pub(crate) fn socket(&self) -> Option<&Path> {
        self.get("SHELF_SOCKET").map(Path::new)
    }

    /// `SHELF_SESSION`: whom the log names.
    pub(crate) fn session(&self) -> Option<String> {
        self.get(SESSION)
            .map(|value| value.to_string_lossy().into_owned())
    }

    /// `SHELF_MAX_OUTPUT`: how much of a result is printed, as it was written.
    pub(crate) fn max_output(&self) -> Option<&OsStr> {
        self.get(MAX_OUTPUT)
    }

    /// The same with a session, where it names none. The daemon is told of it; what is started has the environment as it was.
    pub(crate) fn in_session(mut self, session: &str) -> Self {
        if self.session().is_none() {
            self.variables.insert(SESSION.into(), session.into());
        }
        self
    }

    /// Whether colour is unwanted.
    pub(crate) fn no_color(&self) -> bool {
        self.get("NO_COLOR").is_some() || self.get("TERM").is_some_and(|term| term == "dumb")
    }
}

/// The `shelf` binary itself.
pub(crate) fn executable() -> Result<PathBuf, Problem> {
    std::env::current_exe().map_err(|e| {
        Problem::new(
            ProblemKind::Internal,
            format!("the path of the shelf binary can't be read: {e}"),
        )
    })
}

/// The path as it reads from the root, without following links.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Problem> {
    std::path::absolute(path).map_err(|e| {
        Problem::new(
            ProblemKind::Usage,
            format!("the path can't be made absolute: {e}"),
        )
        .at_file(path, None)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Environment;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment {
            variables: variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }

    #[test]
    fn xdg_wins_over_home_when_it_is_absolute() {
        let variables = environment(&[
            ("HOME", "/home/me"),
            ("XDG_CACHE_HOME", "/cache"),
            ("XDG_STATE_HOME", "relative"),
            ("XDG_RUNTIME_DIR", "/run/me"),
        ]);
        let directories = variables.directories().unwrap();
        assert_eq!(directories.cache, Path::new("/cache/toolshelf"));
        assert_eq!(
            directories.state,
            Path::new("/home/me/.local/state/toolshelf")
        );
        assert_eq!(directories.runtime, Path::new("/run/me/toolshelf"));
    }

    #[test]
    fn a_missing_home_is_said_only_where_it_is_needed() {
        assert!(environment(&[]).directories().is_err());
        let enough = environment(&[("XDG_CACHE_HOME", "/c"), ("XDG_STATE_HOME", "/s")]);
        assert!(enough.directories().is_ok());
        assert!(enough.shared_skills().is_empty());
    }

    #[test]
    fn the_toml_wins_over_the_json() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("toolshelf");
        let variables = environment(&[("XDG_CONFIG_HOME", home.path().to_str().unwrap())]);
        assert_eq!(variables.default_config(), None);
        std::fs::create_dir(&directory).unwrap();
        for name in ["mcp.json", "shelf.toml"] {
            std::fs::write(directory.join(name), "").unwrap();
            assert_eq!(variables.default_config(), Some(directory.join(name)));
        }
    }

    #[test]
    fn a_session_that_is_named_stays() {
        let named = environment(&[("SHELF_SESSION", "mine")]).in_session("other");
        assert_eq!(named.session().as_deref(), Some("mine"));
        let unnamed = environment(&[("SHELF_SESSION", "")]).in_session("other");
        assert_eq!(unnamed.session().as_deref(), Some("other"));
    }

    #[test]
    fn empty_variables_count_as_unset() {
        let variables = environment(&[
            ("NO_COLOR", ""),
            ("SHELF_SESSION", ""),
            ("SHELF_SOCKET", ""),
        ]);
        assert!(!variables.no_color());
        assert_eq!(variables.session(), None);
        assert_eq!(variables.socket(), None);
    }
}
