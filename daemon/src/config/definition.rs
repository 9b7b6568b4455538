//! A server as it is to be written into a configuration: what `shelf servers add` was told, or what another client is configured with.
//!
//! It must not know where it came from, nor how it is written. Values of variables and headers may be secrets: nothing here prints them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::StdioConfig;

/// A server that is to be written, with what differs from the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// How it is reached.
    pub way: Way,
    /// Whether it is switched off.
    pub disabled: bool,
    /// How long a start may take.
    pub start_timeout: Option<Duration>,
    /// How long a call may take.
    pub timeout: Option<Duration>,
}

/// How a server is reached, variables unexpanded. Its `Debug` shows no values, which may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Way {
    /// A process that speaks MCP on its standard input and output.
    Process(StdioConfig),
    /// A server that speaks MCP over HTTP.
    Http {
        /// Where it is.
        url: String,
        /// What is sent with every request.
        headers: BTreeMap<String, String>,
    },
}

impl Definition {
    /// A server with the defaults.
    pub fn new(way: Way) -> Self {
        Self {
            way,
            disabled: false,
            start_timeout: None,
            timeout: None,
        }
    }

    /// The variables or the headers.
    pub fn values(&self) -> &BTreeMap<String, String> {
        match &self.way {
            Way::Process(stdio) => &stdio.env,
            Way::Http { headers, .. } => headers,
        }
    }

    /// Whether a variable or a header is written out, which may be a secret.
    pub fn has_literal_values(&self) -> bool {
        self.values().values().any(|value| !is_reference(value))
    }
}

/// Whether a value says no more than which variable it is: `${VAR}` or `Bearer ${VAR}`. A default may be a secret.
pub fn is_reference(value: &str) -> bool {
    let value = value.strip_prefix("Bearer ").unwrap_or(value);
    let inner = value
        .strip_prefix("${")
        .and_then(|value| value.strip_suffix('}'));
    value.is_empty()
        || inner.is_some_and(|inner| !inner.contains(['$', '{', '}']) && !inner.contains(":-"))
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(stdio) => stdio.fmt(f),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &url.split(['?', '#']).next())
                .field("headers", &headers.keys())
                .finish(),
        }
    }
}
