//! The configuration: one model for `mcpServers` JSON and for `shelf.toml`, with positions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills::catalog::IndexOptions;
use skills::discovery::{Limits, SkillRoot};
use skills::entry_id::ServerName;
use skills::problem::Problem;

use crate::access_log::LogOptions;
use crate::surroundings::Environment;

/// A configuration as read, nothing expanded yet.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The file it was read from.
    pub path: Option<PathBuf>,
    /// The servers by name; a faulty entry is here too, as what it is.
    pub servers: BTreeMap<ServerName, ServerConfig>,
    /// The skill roots (`skills = [...]`, relative to the file).
    pub skills: Vec<SkillRoot>,
    /// How far discovery goes.
    pub limits: Limits,
    /// Settings of the index.
    pub index: IndexOptions,
    /// Settings of the access log.
    pub log: LogOptions,
    /// What was wrong, each with file and line.
    pub problems: Vec<Problem>,
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
    /// The line of the entry, counted from 1.
    pub line: u32,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A process that speaks MCP on its standard input and output.
    Stdio(StdioConfig),
    /// An HTTP server; not supported yet.
    Http {
        /// Its `url`, unexpanded.
        url: String,
    },
    /// The entry can't be used, and why.
    Invalid(Problem),
}

/// A stdio server as written, variables unexpanded.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A server ready to be started: everything expanded.
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
        let _ = path;
        todo!()
    }
}

impl ServerConfig {
    /// Expands `${VAR}`, `${VAR:-default}` and `${env:VAR}`.
    ///
    /// # Errors
    /// An unresolved variable, named with the file and the line of the entry.
    pub fn launch(
        &self,
        name: &ServerName,
        config: &Path,
        environment: &Environment,
    ) -> Result<Launch, Problem> {
        let _ = (name, config, environment);
        todo!()
    }
}
