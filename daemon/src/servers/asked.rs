//! What is asked of a server: a tool, a resource or a prompt, as a request, and what it is called where it fails.
//!
//! It knows neither the way to the server nor what becomes of the answer.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, ReadResourceRequest, ReadResourceRequestParams,
};
use serde_json::{Map, Value};
use skills::offers;
use skills::problem::{Problem, ProblemKind};

use super::input::Inputs;
use super::ticket::ServerError;

/// "Resource not found", up to 2025-11-25 …
const RESOURCE_NOT_FOUND: i64 = -32002;
/// … and "invalid params", which is that from 2026-07-28 on, and which SDKs of before answered as well: a read has no parameter
/// but the URI.
const INVALID_PARAMS: i64 = -32602;

/// What is asked of a server.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A tool is called.
    Tool {
        /// Its name as the server sent it.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// A resource is read.
    Resource {
        /// Its URI, which is sent as it is.
        uri: String,
    },
    /// A prompt is asked for.
    Prompt {
        /// Its name as the server sent it.
        name: String,
        /// Its arguments, each a text.
        arguments: Map<String, Value>,
    },
}

impl Asked {
    /// The request, with what its server wanted to know first.
    pub(super) fn request(&self, inputs: &Inputs) -> ClientRequest {
        let (responses, state) = (inputs.responses(), inputs.state());
        match self {
            Self::Tool { name, arguments } => {
                let mut params =
                    CallToolRequestParams::new(name.clone()).with_arguments(arguments.clone());
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            }
            Self::Resource { uri } => {
                let mut params = ReadResourceRequestParams::new(uri);
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            Self::Prompt { name, arguments } => {
                let mut params = GetPromptRequestParams::new(name);
                if !arguments.is_empty() {
                    params = params.with_arguments(arguments.clone());
                }
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
        }
    }

    /// What stands behind the server's name where it fails: the tool, or the file that lists what was asked for.
    pub(super) fn place(&self) -> &str {
        match self {
            Self::Tool { name, .. } => name,
            Self::Resource { .. } => offers::Kind::Resources.name(),
            Self::Prompt { .. } => offers::Kind::Prompts.name(),
        }
    }

    /// What there is to say of a protocol error that means that there is no such thing; `None` for every other error.
    pub(super) fn not_found(&self, error: &ServerError) -> Option<Problem> {
        match (self, error.code) {
            (Self::Resource { uri }, RESOURCE_NOT_FOUND | INVALID_PARAMS) => {
                let said = super::failure::of_server(error);
                let message = format!("there is no resource {uri}; the server says: {said}");
                Some(Problem::new(ProblemKind::NotFound, message))
            }
            _ => None,
        }
    }
}
