//! The fake HTTP server as a process of a test, and shelves that reach it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::{Child, Command};

use super::shelf::{Shelf, eventually};
use crate::config::{HttpConfig, Transport};
use crate::surroundings::Environment;

/// A running fake server or proxy; it ends when this is dropped.
pub(super) struct FakeHttp {
    port: u16,
    requests: PathBuf,
    _process: Child,
    _directory: tempfile::TempDir,
}

impl FakeHttp {
    pub(super) async fn start(options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (port, requests) = (
            directory.path().join("port"),
            directory.path().join("requests"),
        );
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/servers/fake_http.py");
        let process = Command::new("python3")
            .arg(program)
            .arg(&port)
            .arg("--requests")
            .arg(&requests)
            .args(options)
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        eventually(async || port.exists()).await;
        Self {
            port: std::fs::read_to_string(&port).unwrap().parse().unwrap(),
            requests,
            _process: process,
            _directory: directory,
        }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The requests that it got, in order.
    pub(super) fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.requests).unwrap_or_default();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// How many of them were of this HTTP or MCP method.
    pub(super) fn count(&self, method: &str) -> usize {
        let requests = self.requests();
        let matching = requests
            .iter()
            .filter(|request| request["rpc"] == method || request["method"] == method);
        matching.count()
    }

    /// The last request of an MCP method.
    pub(super) fn last(&self, rpc: &str) -> Value {
        let mut requests = self.requests();
        requests.retain(|request| request["rpc"] == rpc);
        requests.pop().unwrap_or_else(|| panic!("no {rpc}"))
    }

    /// A shelf with this server, as `fake`.
    pub(super) async fn shelf(&self) -> Shelf {
        shelf(&self.url("/mcp"), &[], &[]).await
    }
}

/// A shelf with a server at this URL, reached with these headers, in an environment of its own.
pub(super) async fn shelf(
    url: &str,
    headers: &[(&str, &str)],
    environment: &[(&str, &str)],
) -> Shelf {
    let variables = environment.iter();
    let environment: Environment = variables
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let mut shelf = Shelf::in_environment(environment);
    let headers: BTreeMap<_, _> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let url = url.to_owned();
    shelf.add("fake", &[]).transport = Transport::Http(HttpConfig { url, headers });
    shelf.configure().await;
    shelf
}
