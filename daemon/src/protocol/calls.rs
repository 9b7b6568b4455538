//! Calls.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};

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

/// What a command refused to call with what it was given, for the log: nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The tool's id, or a path of it relative to the mount point.
    pub entry: String,
    /// The names of the arguments, as they were given.
    pub arguments: Vec<String>,
    /// The kind of the problem.
    pub kind: ProblemKind,
}

/// The answer to `call`, and to `read` and `prompt`, which have no error of their own.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallReply {
    /// The tool that was called; the file that lists what else was asked for.
    pub id: EntryId,
    /// `isError` of the result.
    pub is_error: bool,
    /// The whole result object as the server sent it.
    pub result: Box<RawValue>,
    /// The required arguments that were missing and were sent with their defaults.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub filled: Map<String, Value>,
    /// Why the arguments were sent without having been checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<Problem>,
    /// What is wrong with the result, beside what the tool says itself: it does not fit its schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Problem>,
    /// What the server asked while the tool ran, and did not get; the hint says how it can be answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<Problem>,
    /// Why what this session did at the server before is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_lost: Option<String>,
}

/// What a server asks while its tool runs: the parameters of `elicit`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Elicitation {
    /// The tool that was called.
    pub entry: EntryId,
    /// The server's configured name.
    pub server: String,
    /// What the server says; the words of a stranger.
    pub message: String,
    /// The schema of the answer, which [`skills::arguments::form::Form`] reads.
    pub schema: Box<RawValue>,
}
