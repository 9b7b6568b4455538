//! The envelope: a JSON-RPC message, its error, the greeting.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};

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
    /// Which catalog it serves; empty from a daemon that does not say it here, nor where it shows it.
    #[serde(default)]
    pub catalog: String,
    /// Where the tree is shown, if it is.
    #[serde(default, with = "skills::paths")]
    pub mount_point: Option<PathBuf>,
}
