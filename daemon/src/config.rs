//! The configuration: one model for `mcpServers` JSON and for `shelf.toml`, with positions.
//!
//! Every key, with its default and what it does, stands in `config/default.toml`, which `shelf config default` prints.
//!
//! `-` and `_` are the same in these keys. JSON may have comments and trailing commas. A server over HTTP has a `url` and
//! `headers` in place of `command`. Keys that are unknown are passed over where other clients may have put them.

mod check;
mod default;
pub mod definition;
mod duration;
pub mod edit;
mod endpoint;
mod entry;
mod expansion;
mod file;
pub mod import;
mod jsonc;
mod life;
mod node;
mod pin;
mod policy;
mod project;
mod reader;
mod roots;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use skills::catalog::{EntryOptions, IndexOptions};
use skills::discovery::{Limits, SkillRoot};
use skills::entry_id::{EntryId, ServerName};
use skills::problem::{Problem, ProblemKind};
use skills::search::SearchOptions;

pub use self::default::DEFAULT;
pub use self::endpoint::{Endpoint, HttpConfig};
use self::expansion::Expansion;
pub(crate) use self::file::read_regular;
pub use self::life::{Restart, Share};
use self::node::Fault;
use crate::access_log::LogOptions;
use crate::gate::policy::Policy;
use crate::pins::Pinning;
use crate::surroundings::Environment;

/// How long a start may take by default: a first one downloads the package, which took up to 77 s.
pub const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a call may take by default: longer than any but a stuck one.
pub const TIMEOUT: Duration = Duration::from_secs(600);
/// After how long without a call a server is stopped by default, and a daemon that nobody sees without a connection.
pub const IDLE: Duration = Duration::from_secs(600);

/// A configuration as read, nothing expanded yet.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The file it was read from.
    pub path: Option<PathBuf>,
    /// The servers by name; a faulty entry is here too, as what it is.
    pub servers: BTreeMap<ServerName, ServerConfig>,
    /// The file of each server that does not stand in `path` but in a project's.
    pub files: BTreeMap<ServerName, PathBuf>,
    /// The skill roots (`skills = [...]`), relative ones joined to the file's directory; `~/` stays until
    /// [`Config::expand_home`].
    pub skills: Vec<SkillRoot>,
    /// How far discovery goes.
    pub limits: Limits,
    /// Settings of the index.
    pub index: IndexOptions,
    /// Settings of search.
    pub search: SearchOptions,
    /// What the user says of single entries.
    pub entries: Arc<BTreeMap<EntryId, EntryOptions>>,
    /// Which calls are refused, or have to be approved, and what is not on the shelf.
    pub policy: Policy,
    /// Whose definitions are served only as they were trusted.
    pub pinning: Pinning,
    /// Settings of the daemon itself.
    pub daemon: DaemonOptions,
    /// Settings of the access log.
    pub log: LogOptions,
    /// What was wrong, each with file and line.
    pub problems: Vec<Problem>,
}

/// Settings of the daemon itself. They are those of its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaemonOptions {
    /// After how long without a connection a daemon ends that shows its tree nowhere (`idle`); `None` is never.
    pub idle: Option<Duration>,
}

impl Default for DaemonOptions {
    fn default() -> Self {
        Self { idle: Some(IDLE) }
    }
}

/// One entry of `mcpServers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// How it is reached.
    pub transport: Transport,
    /// `disabled`, or `enabled: false`.
    pub disabled: bool,
    /// How long a start may take until the tools are listed (`start-timeout`).
    pub start_timeout: Duration,
    /// How long a call may take by default (`timeout`).
    pub timeout: Duration,
    /// After how long without a call it is stopped (`idle`); `None` is never.
    pub idle: Option<Duration>,
    /// Who shares one instance of it (`share`).
    pub share: Share,
    /// What becomes of it when it failed (`restart`).
    pub restart: Restart,
    /// The directories that it is told of when it asks (`roots`, else those of the file), variables unexpanded.
    pub roots: Vec<String>,
    /// The line of the entry, counted from 1.
    pub line: u32,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A process that speaks MCP on its standard input and output.
    Stdio(StdioConfig),
    /// A server that speaks MCP over streamable HTTP.
    Http(HttpConfig),
    /// The entry can't be used, and why.
    Invalid(Problem),
}

/// A stdio server as written, variables unexpanded. Its `Debug` shows no values, which may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StdioConfig {
    /// `command`.
    pub command: String,
    /// `args`.
    pub args: Vec<String>,
    /// `env`, added to the environment of `shelf mount`.
    pub env: BTreeMap<String, String>,
    /// `cwd`; by default the configuration file's directory.
    pub cwd: Option<String>,
}

/// The way to a server: everything expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// A process to start.
    Process(Launch),
    /// A URL to connect to.
    Http(Endpoint),
}

/// A server ready to be started: everything expanded. Its `Debug` shows no values, which may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub environment: Environment,
    /// Its working directory.
    pub directory: PathBuf,
    /// The variables of `env` alone, expanded: what freshness depends on.
    pub own_environment: BTreeMap<String, String>,
}

impl Config {
    /// Reads a configuration file; the format follows from its name, `.toml` or anything else for JSON.
    ///
    /// # Errors
    /// Only when the file can't be read or is no JSON or TOML at all; a faulty entry is a problem of that entry alone.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let unreadable = |error: std::io::Error| {
            Problem::new(
                ProblemKind::Configuration,
                format!("cannot be read: {error}"),
            )
            .at_file(path, None)
        };
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        let bytes = file::read(path).map_err(unreadable)?;
        let config = text(&bytes).and_then(|source| reader::read(&absolute, source));
        let config = config.map_err(|fault| problem(&absolute, fault))?;
        Ok(Self {
            path: Some(absolute),
            ..config
        })
    }

    /// The file that a server stands in; empty where there is none.
    pub fn file_of(&self, server: &ServerName) -> &Path {
        let file = self.files.get(server).or(self.path.as_ref());
        file.map_or(Path::new(""), PathBuf::as_path)
    }

    /// Expands `~/` at the start of skill roots. Without a home directory these roots become problems.
    pub fn expand_home(&mut self, environment: &Environment) {
        for mut root in std::mem::take(&mut self.skills) {
            if let Some(path) = expansion::in_home(&root.path, environment) {
                root.path = path;
                self.skills.push(root);
            } else {
                let message = format!(
                    "the skills in {} can't be found, since HOME is not set",
                    root.path.display()
                );
                let problem =
                    Problem::new(ProblemKind::Configuration, message).hint("write the whole path");
                self.problems.push(match &self.path {
                    Some(path) => problem.at_file(path, None),
                    None => problem,
                });
            }
        }
    }
}

impl Access {
    /// The working directory of a process.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Process(launch) => Some(&launch.directory),
            Self::Http(_) => None,
        }
    }
}

impl Transport {
    /// The working directory that SERVER.md tells where nothing can be expanded: that of the file, `home`.
    pub(crate) fn directory(&self, home: &Path) -> Option<PathBuf> {
        match self {
            Self::Http(_) => None,
            Self::Stdio(_) | Self::Invalid(_) => Some(home.to_owned()),
        }
    }
}

impl ServerConfig {
    /// Expands `${VAR}`, `${VAR:-default}` and `${env:VAR}`, and `~/` at the start of `command` and `cwd`. `config` is the
    /// absolute path of the file.
    ///
    /// # Errors
    /// Every unresolved variable, named with the file and the line of the entry; for an entry that can't be used, what is wrong
    /// with it.
    pub fn access(
        &self,
        name: &ServerName,
        config: &Path,
        environment: &Environment,
    ) -> Result<Access, Problem> {
        match &self.transport {
            Transport::Stdio(stdio) => self
                .launch(stdio, name, config, environment)
                .map(Access::Process),
            Transport::Http(http) => http
                .endpoint(name, config, self.line, environment)
                .map(Access::Http),
            Transport::Invalid(problem) => Err(problem.clone()),
        }
    }

    fn launch(
        &self,
        stdio: &StdioConfig,
        name: &ServerName,
        config: &Path,
        environment: &Environment,
    ) -> Result<Launch, Problem> {
        let mut expansion = Expansion::new(environment);
        let command = expansion.path("`command`", &stdio.command);
        let args = stdio.args.iter();
        let args = args
            .map(|argument| expansion.text("`args`", argument))
            .collect();
        let own_environment: BTreeMap<_, _> = stdio
            .env
            .iter()
            .map(|(name, value)| {
                (
                    name.clone(),
                    expansion.text(&format!("`env.{name}`"), value),
                )
            })
            .collect();
        let cwd = stdio.cwd.as_deref().map(|cwd| expansion.path("`cwd`", cwd));
        let fault = expansion.into_fault().or_else(|| {
            command.is_empty().then(|| {
                (
                    "`command` is empty once its variables are expanded".into(),
                    "set them".into(),
                )
            })
        });
        if let Some((message, hint)) = fault {
            let message = format!("server `{name}`: {message}");
            return Err(Problem::new(ProblemKind::Configuration, message)
                .at_file(config, Some(self.line))
                .hint(hint));
        }
        let mut environment = environment.clone();
        environment.extend(
            own_environment
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        let home = config.parent().unwrap_or(Path::new(""));
        Ok(Launch {
            command,
            args,
            environment,
            directory: cwd.map_or_else(|| home.to_owned(), |cwd| home.join(cwd)),
            own_environment,
        })
    }
}

impl fmt::Debug for StdioConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("environment", &self.environment.len())
            .field("directory", &self.directory)
            .field("own_environment", &self.own_environment.keys())
            .finish()
    }
}

fn text(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Fault::new(node::line_at(&valid, valid.len()), "is not UTF-8")
    })
}

fn problem(path: &Path, fault: Fault) -> Problem {
    Problem {
        hint: fault.hint,
        ..Problem::new(ProblemKind::Configuration, fault.message)
    }
    .at_file(path, Some(fault.line))
}

#[cfg(test)]
mod tests;
