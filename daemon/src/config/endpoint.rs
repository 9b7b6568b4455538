//! A server that is reached over HTTP: its URL and headers as written, and as checked and expanded.
//!
//! Knows nothing of connections. What was expanded may be a secret, so no message here repeats it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Scheme, Uri};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};

use super::expansion::{self, Expansion};
use super::node::{Fault, Node};
use crate::surroundings::Environment;

/// An HTTP server as written, variables unexpanded. Its `Debug` shows no values, which may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HttpConfig {
    /// `url`.
    pub url: String,
    /// `headers`, sent with every request.
    pub headers: BTreeMap<String, String>,
}

/// An HTTP server ready to be connected to: everything expanded. Its `Debug` shows no values, which may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it is: `http` or `https`, with a host.
    pub uri: Uri,
    /// What is sent with every request, marked as sensitive.
    pub headers: HeaderMap,
}

/// The headers that the protocol or the connection sets itself.
const RESERVED: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "transfer-encoding",
];

/// Reads `headers`; a fault takes nothing with it but its own header.
pub(super) fn headers(
    node: Node<'_>,
    what: &str,
    faults: &mut Vec<Fault>,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut headers = BTreeMap::new();
    for (name, value) in node.table(what)? {
        match header(&name, value, what) {
            Ok(text) => drop(headers.insert(name, text)),
            Err(fault) => faults.push(fault),
        }
    }
    Ok(headers)
}

fn header(name: &str, value: Node<'_>, what: &str) -> Result<String, Fault> {
    let fault = |message: String| Fault::new(value.line(), message);
    let valid = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        fault(format!(
            "{what} has a header that can't be named `{}`",
            name.escape_debug()
        ))
    })?;
    if RESERVED.contains(&valid.as_str()) || valid.as_str().starts_with("mcp-param-") {
        return Err(
            fault(format!("{what} may not have `{name}`")).hint("it is set by the protocol")
        );
    }
    super::entry::closed(value, &format!("`{name}` in {what}"))
}

impl HttpConfig {
    /// Expands and checks; `line` is that of the entry.
    pub(super) fn endpoint(
        &self,
        name: &ServerName,
        config: &Path,
        line: u32,
        environment: &Environment,
    ) -> Result<Endpoint, Problem> {
        let mut expansion = Expansion::new(environment);
        let url = expansion.text("`url`", &self.url);
        let expanded: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| (name, expansion.text(&format!("`headers.{name}`"), value)))
            .collect();
        let endpoint = match expansion.into_fault() {
            Some(fault) => Err(fault),
            None => check(&url, expanded),
        };
        endpoint.map_err(|(message, hint)| {
            let message = format!("server `{name}`: {message}");
            Problem::new(ProblemKind::Configuration, message)
                .at_file(config, Some(line))
                .hint(hint)
        })
    }
}

/// Checks a URL whose variables are not known yet, as far as it can be told; its variables have to be closed.
pub(super) fn check_as_written(url: &str) -> Result<(), (String, String)> {
    let (scheme, is_known) = match (url.find("://"), url.find("${")) {
        (_, None) => ("", true),
        (Some(scheme), Some(variable)) => (&url[..scheme], scheme < variable),
        (None, Some(_)) => ("", false),
    };
    // A literal `${` is too rare to be understood here, too.
    if !is_known || scheme.contains('$') || url.contains("$${") {
        return Ok(());
    }
    // What a host, a port and a path may have.
    parse(&expansion::replaced(url, "1")).map(drop)
}

fn parse(url: &str) -> Result<Uri, (String, String)> {
    let fault = |message: &str, hint: &str| (message.to_owned(), hint.to_owned());
    let uri: Uri = url.trim().parse().map_err(|_| {
        fault(
            "`url` is no URL",
            "write it whole, such as https://example.org/mcp",
        )
    })?;
    if ![Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&uri.scheme()) {
        return Err(fault(
            "`url` begins with neither http:// nor https://",
            "write it whole, such as https://example.org/mcp",
        ));
    }
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        return Err(fault(
            "`url` has a user name in it",
            "write \"headers\": {\"Authorization\": \"Basic ${…}\"} instead",
        ));
    }
    let host = uri.host().unwrap_or_default();
    if host.is_empty() {
        return Err(fault("`url` has no host", "write it whole"));
    }
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    if !authority.ends_with([']', ':'])
        && authority.contains(':')
        && port.parse::<u16>().map_or(true, |port| port == 0)
    {
        return Err(fault(
            "`url` has a port that is none",
            "a port is a number from 1 to 65535",
        ));
    }
    Ok(uri)
}

fn check(url: &str, headers: Vec<(&String, String)>) -> Result<Endpoint, (String, String)> {
    let uri = parse(url)?;
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let header = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = HeaderValue::from_str(value.trim()).ok();
        let (Some(header), Some(mut value)) = (header, value) else {
            return Err((
                format!("`headers.{name}` has characters that no header may have"),
                "line breaks and control characters can't be sent".to_owned(),
            ));
        };
        value.set_sensitive(true);
        all.insert(header, value);
    }
    Ok(Endpoint { uri, headers: all })
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may have a key written into it.
        f.debug_struct("HttpConfig")
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("host", &self.uri.host())
            .field("headers", &self.headers.len())
            .finish_non_exhaustive()
    }
}
