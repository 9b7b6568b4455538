//! The MCP servers: started when needed, listed, called, stopped when idle.
//!
//! rmcp lives below this module and nowhere else.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use tokio_util::sync::CancellationToken;

use crate::cache::DefinitionCache;
use crate::catalog::Updates;
use crate::config::Config;
use crate::surroundings::Surroundings;

/// Every configured server.
#[derive(Clone, Debug)]
pub struct Servers {}

/// What a call needs beside the tool and its arguments.
#[derive(Debug)]
pub struct CallOptions {
    /// How long it may take; `None` is the server's own setting.
    pub timeout: Option<Duration>,
    /// Cancels the call at the server too.
    pub cancelled: CancellationToken,
    /// Where progress goes.
    pub progress: Option<tokio::sync::mpsc::UnboundedSender<Progress>>,
}

/// Progress of a call as the server reported it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Progress {
    /// How far it is.
    pub progress: f64,
    /// Out of how much.
    pub total: Option<f64>,
    /// What it is doing.
    pub message: Option<String>,
}

/// What a server answered to `tools/call`.
#[derive(Debug)]
pub struct CallResult {
    /// The whole result object as the server sent it.
    pub raw: Box<RawValue>,
    /// `isError`.
    pub is_error: bool,
}

impl Servers {
    /// Makes the set of servers; nothing is started. Must be called inside a tokio runtime.
    pub fn new(surroundings: Surroundings, cache: DefinitionCache, updates: Updates) -> Self {
        let _ = (surroundings, cache, updates);
        todo!()
    }

    /// Takes over a configuration: says every server to the catalog (from the cache where it knows them), stops those that are gone or
    /// were changed.
    pub async fn configure(&self, config: &Config) {
        let _ = config;
        todo!()
    }

    /// Lists the servers whose definitions are missing, stale or a day old, four at a time, and stops them again. Returns when all
    /// were tried.
    pub async fn refresh(&self) {
        todo!()
    }

    /// Calls a tool, starting its server when it does not run.
    ///
    /// # Errors
    /// `Server`, `TimedOut`, `Interrupted` and, for a protocol error of the server, `ToolError`; never a guess.
    pub async fn call(
        &self,
        server: &ServerName,
        tool: &str,
        arguments: Map<String, Value>,
        options: CallOptions,
    ) -> Result<CallResult, Problem> {
        let _ = (server, tool, arguments, options);
        todo!()
    }

    /// Stops every server and waits until nothing is left of them.
    pub async fn stop(&self) {
        todo!()
    }
}
