//! What a daemon says of itself and its servers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use skills::problem::Problem;

/// What a daemon is: the answer to `status` begins with it, and it stands beside the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its instance id.
    pub instance: String,
    /// Its version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// When it was started.
    pub started: jiff::Timestamp,
    /// The configuration that it serves; canonical.
    #[serde(with = "skills::paths")]
    pub config: Option<PathBuf>,
    /// The project whose trusted servers and skills it serves beside them; canonical.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "skills::paths"
    )]
    pub project: Option<PathBuf>,
    /// The skill roots, in order of precedence.
    #[serde(with = "skills::paths")]
    pub skills: Vec<PathBuf>,
    /// Which catalog it has: a name of the configuration with the skill roots given beside it. Empty from an earlier version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub catalog: String,
    /// Where its tree is shown.
    #[serde(with = "skills::paths")]
    pub mount_point: Option<PathBuf>,
    /// How its tree is shown.
    pub output: OutputKind,
    /// Where its access log is written.
    #[serde(with = "skills::paths")]
    pub log: PathBuf,
    /// Where it listens.
    #[serde(with = "skills::paths")]
    pub socket: PathBuf,
}

/// How a daemon shows its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    /// As a FUSE mount.
    Mount,
    /// As plain files; opens can't be observed.
    Mirror,
    /// Not at all.
    None,
}

/// The answer to `status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What the daemon is.
    #[serde(flatten)]
    pub about: About,
    /// How much its policy is worth to this caller.
    pub policy: Policy,
    /// The generation of the snapshot.
    pub generation: u64,
    /// How many tools there are.
    pub tools: usize,
    /// How many skills there are.
    pub skill_entries: usize,
    /// The servers by name.
    pub servers: Vec<ServerStatus>,
    /// What was skipped or is wrong.
    pub problems: Vec<Problem>,
    /// The daemon's resident memory in bytes.
    pub memory: Option<u64>,
}

/// How much the daemon's policy is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// There is none.
    None,
    /// The caller could edit the configuration or end the daemon: the policy is advice.
    Advisory,
    /// The daemon belongs to another user.
    Enforced,
}

/// One server in [`Status`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// The configured name.
    pub name: String,
    /// The name in ids and in the mount.
    pub shown_as: String,
    /// Whether it runs.
    pub state: ServerPhase,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many tools it has; absent while its definitions are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// What it says of itself, on one line; empty when it says nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Since when its definitions are older than what they depend on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_since: Option<jiff::Timestamp>,
}

/// Whether a server runs ([`skills::server::Phase`] without its reason).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerPhase {
    /// Not running; the next call starts it.
    Cold,
    /// Being started.
    Starting,
    /// Running.
    Ready,
    /// The last start, or the running server, failed.
    Failed,
    /// Switched off in the configuration.
    Disabled,
}
