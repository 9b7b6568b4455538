//! The protocol of the control socket, as plain data: JSON-RPC 2.0, one message a line.
//!
//! A connection opens with [`Hello`], then both sides may send requests. One request is served at a time; when the
//! connection is closed, or just its writing half, the request is cancelled. It must not know sockets.

mod changes;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};

pub use crate::servers::Progress;
pub use skills::catalog::EntryKind;
pub use skills::search::{Answer, Case, Evaluation};

pub use changes::{Change, ChangeKind, ChangeList, ChangedKind, Changes, Net, Revision};

/// The version of this protocol: both ends must have the same.
pub const VERSION: u32 = 1;

/// The longest message in bytes; a larger result goes into a file ([`PayloadFile`]).
pub const MAX_LINE: usize = 8 * 1024 * 1024;

/// The names of the methods.
pub mod method {
    /// [`Hello`](super::Hello) → [`Welcome`](super::Welcome).
    pub const HELLO: &str = "hello";
    /// [`Nothing`](super::Nothing) → [`Status`](super::Status).
    pub const STATUS: &str = "status";
    /// [`ListFilter`](super::ListFilter) → [`Listing`](super::Listing).
    pub const LIST: &str = "list";
    /// [`Describe`](super::Describe) → [`Description`](super::Description).
    pub const DESCRIBE: &str = "describe";
    /// [`Search`](super::Search) → [`Answer`](super::Answer).
    pub const SEARCH: &str = "search";
    /// [`Evaluate`](super::Evaluate) → [`Evaluation`](super::Evaluation).
    pub const EVALUATE: &str = "evaluate";
    /// [`Load`](super::Load) → [`Loaded`](super::Loaded).
    pub const LOAD: &str = "load";
    /// [`Overview`](super::Overview) → a text.
    pub const OVERVIEW: &str = "overview";
    /// [`Changes`](super::Changes) → [`ChangeList`](super::ChangeList).
    pub const CHANGES: &str = "changes";
    /// [`Call`](super::Call) → [`CallReply`](super::CallReply).
    pub const CALL: &str = "call";
    /// A notification to the caller: [`Progress`](super::Progress).
    pub const PROGRESS: &str = "progress";
    /// [`Nothing`](super::Nothing) → [`Nothing`](super::Nothing); the daemon unmounts and ends.
    pub const STOP: &str = "stop";
}

/// Any message: a request has `id` and `method`, a notification only `method`, a response only `id`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Message {
    /// Always `"2.0"`.
    pub jsonrpc: Version,
    /// The request's number, counted by its sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The method's parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// The result of a request that worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Why a request did not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
}

/// The version of JSON-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Version {
    /// 2.0.
    #[serde(rename = "2.0")]
    V2,
}

impl Message {
    const EMPTY: Self = Self {
        jsonrpc: Version::V2,
        id: None,
        method: None,
        params: None,
        result: None,
        error: None,
    };

    /// Makes a request.
    pub fn request(id: u64, method: &str, params: Box<RawValue>) -> Self {
        Self {
            id: Some(id),
            ..Self::notification(method, params)
        }
    }

    /// Makes a notification.
    pub fn notification(method: &str, params: Box<RawValue>) -> Self {
        Self {
            method: Some(method.to_owned()),
            params: Some(params),
            ..Self::EMPTY
        }
    }

    /// Makes a response; `id` is absent when the request could not be read.
    pub fn response(id: Option<u64>, outcome: Result<Box<RawValue>, ErrorObject>) -> Self {
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            id,
            result,
            error,
            ..Self::EMPTY
        }
    }

    /// The message as a line, its end included.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("a message has string keys only");
        line.push('\n');
        line
    }
}

/// An error of JSON-RPC. Its `data` is what went wrong in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// The code.
    pub code: i32,
    /// The problem in one line.
    pub message: String,
    /// The problem.
    pub data: Box<Problem>,
}

impl ErrorObject {
    /// The request is no JSON-RPC.
    pub const PARSE_ERROR: i32 = -32700;
    /// The request is out of place: no `hello` yet, another request still running.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are not the method's.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The method did not work.
    pub const PROBLEM: i32 = -32000;

    /// Makes an error about the protocol itself.
    pub fn protocol(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            ..Self::from(Problem::new(ProblemKind::Internal, message))
        }
    }
}

impl From<Problem> for ErrorObject {
    fn from(problem: Problem) -> Self {
        Self {
            code: Self::PROBLEM,
            message: problem.to_string(),
            data: Box::new(problem),
        }
    }
}

/// Stands as the result of a response whose own result is too long for a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadFile {
    /// A file that holds the result's JSON, readable by its owner only. The reader deletes it.
    #[serde(with = "skills::paths")]
    pub payload_file: PathBuf,
}

/// The parameters or the result of a method that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// Who connects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the caller.
    pub protocol: u32,
    /// The caller's own version.
    pub version: String,
    /// `SHELF_SESSION`, when it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`VERSION`] of the daemon.
    pub protocol: u32,
    /// The daemon's own version.
    pub version: String,
    /// The daemon's instance id.
    pub instance: String,
}

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
    /// The skill roots, in order of precedence.
    #[serde(with = "skills::paths")]
    pub skills: Vec<PathBuf>,
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

/// Which entries `list` gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListFilter {
    /// Only those of this server, by its configured name or as the mount shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Only those of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<EntryKind>,
}

/// The answer to `list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The entries, in order of id.
    pub entries: Vec<ListedEntry>,
    /// The servers that match and whose definitions are not known yet.
    pub unknown: Vec<String>,
}

/// One entry in [`Listing`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedEntry {
    /// Its id.
    pub id: EntryId,
    /// What it is.
    pub kind: EntryKind,
    /// Its description in one line.
    pub summary: String,
    /// Whether the user wants it loaded at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// Which entry `describe` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Describe {
    /// Its id, or a path of it relative to the mount point.
    pub entry: String,
    /// Whether somebody reads it, which is logged as `show`; not so when the arguments of a call are made ready.
    pub shown: bool,
    /// How long to wait, in milliseconds, for a server that has not said its tools yet.
    #[serde(default)]
    pub wait_ms: u64,
}

/// The answer to `describe`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    /// Its id.
    pub id: EntryId,
    /// What it is.
    pub kind: EntryKind,
    /// The tool's definition or the skill's SKILL.md. Bytes that are not UTF-8 are replaced here, not in the mount.
    pub text: String,
    /// What a tool has beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolDescription>,
    /// What a skill has beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillDescription>,
    /// Whether the user wants it loaded at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// What [`Description`] says of a tool alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolDescription {
    /// The server's configured name.
    pub server: String,
    /// What the server says of itself, on one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The Tool object as the server sent it.
    pub raw: Box<RawValue>,
}

/// What [`Description`] says of a skill alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct SkillDescription {
    /// Its description, as written.
    pub description: String,
    /// Its SKILL.md, where it was found.
    #[serde(with = "skills::paths")]
    pub file: PathBuf,
}

/// A request for what answers some words. It is logged as `search`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// The words, as typed.
    pub words: String,
    /// At most so many matches.
    pub limit: usize,
    /// Only entries of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<EntryKind>,
    /// Only the tools of this server, by its configured name or as the mount shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Leave meaning out.
    #[serde(default)]
    pub lexical: bool,
    /// Entries that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<EntryId>,
    /// How long to wait, in milliseconds, for servers that have not said their tools yet.
    #[serde(default)]
    pub wait_ms: u64,
}

/// Requests whose answers are known, to measure search on. They are not logged: nobody looks for anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluate {
    /// The requests.
    pub cases: Vec<Case>,
}

/// Which entries are handed out to a session with their whole definitions: each is logged as `load`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Their ids, or paths of them relative to the mount point.
    pub entries: Vec<String>,
}

/// The answer to `load`, in the order that was asked for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Loaded {
    /// The definitions.
    pub entries: Vec<Description>,
}

/// A request for what INDEX.md would say if its budget were so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The budget; the first line stands whatever it is.
    pub max_bytes: usize,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool's id, or a path of it relative to the mount point.
    pub entry: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// How long it may take in milliseconds; absent for the server's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The answer to `call`.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallReply {
    /// The tool that was called.
    pub id: EntryId,
    /// `isError` of the result.
    pub is_error: bool,
    /// The whole result object as the server sent it.
    pub result: Box<RawValue>,
    /// Why the arguments were sent without having been checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<Problem>,
}
