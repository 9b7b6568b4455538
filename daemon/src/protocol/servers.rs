//! How the servers do, and what is asked of one: stop, start again.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ServerPhase;

/// The answer to `servers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerReports {
    /// The servers by name, each followed by the instances that single sessions have of it.
    pub servers: Vec<ServerReport>,
}

/// How one server does, or one session's instance of it. Counts are since the daemon began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerReport {
    /// The configured name.
    pub name: String,
    /// The session that has this instance for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Whether it runs.
    pub state: ServerPhase,
    /// Why it failed, when that is its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its main process, while it runs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The resident memory of it and all that it started, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// How many calls were sent to it.
    pub calls: u64,
    /// How many of them it has not answered yet.
    pub calls_under_way: usize,
    /// How often a start of it has worked.
    pub starts: u64,
    /// What failed last: a start, or the running server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// Where its standard error is kept; absent where it can't be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

/// What failed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// When.
    pub time: Timestamp,
    /// What, on one line.
    pub message: String,
}

/// What is to be done with a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Its name, as it is configured or as the mount shows it.
    pub server: String,
    /// What.
    pub order: Order,
}

/// What can be done with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// End it, and every session's instance; the next call starts it again.
    Stop,
    /// End it and start it again, whatever failed before.
    Restart,
}
