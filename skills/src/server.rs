//! An MCP server as the catalog knows it: its definitions, and apart from them its state.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use crate::entry_id::ServerName;
use crate::offers::Offers;
use crate::summary::summarize;
use crate::tool::Tool;

/// What is known of a configured server. Immutable: a refresh that changed nothing keeps the same `Arc`.
#[derive(Clone, Debug)]
pub struct Server {
    /// The configured name.
    pub name: ServerName,
    /// The working directory it is started in; `None` for one that is reached over HTTP.
    pub directory: Option<PathBuf>,
    /// The directories that it is told of when it asks for the client's roots.
    pub roots: Vec<PathBuf>,
    /// What it said of itself; `None` while its definitions are not known yet.
    pub definitions: Option<Arc<Definitions>>,
}

impl Server {
    /// What the server says of itself, on one line; empty when it says nothing.
    pub fn about(&self) -> String {
        let Some(known) = &self.definitions else {
            return String::new();
        };
        [&known.instructions, &known.title]
            .into_iter()
            .flatten()
            .map(|text| summarize(text))
            // A title that only repeats the name says nothing that its line does not say already.
            .find(|summary| {
                !summary.is_empty() && !summary.eq_ignore_ascii_case(self.name.as_str())
            })
            .unwrap_or_default()
    }
}

/// What a server answered to `initialize` or `server/discover`, and when its lists were asked for.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// `serverInfo.title`, else `serverInfo.name`.
    pub title: Option<String>,
    /// `serverInfo.version`.
    pub version: Option<String>,
    /// `instructions`, as sent.
    pub instructions: Option<String>,
    /// The negotiated protocol revision, as [`protocol_revision`] admits it.
    pub protocol: Option<String>,
    /// The tools that could be read, in the order in which they were sent, names unique.
    pub tools: Vec<Arc<Tool>>,
    /// What it offers beside them.
    pub offers: Offers,
}

impl Definitions {
    /// Whether the two would be shown the same: hashes of all that is listed and what SERVER.md shows, whatever the order.
    pub fn same(&self, other: &Self) -> bool {
        let hashes = |d: &Self| {
            let mut all: Vec<_> = d.tools.iter().map(|t| (t.name.clone(), t.hash)).collect();
            all.sort();
            all
        };
        self.title == other.title
            && self.version == other.version
            && self.instructions == other.instructions
            && self.protocol == other.protocol
            && hashes(self) == hashes(other)
            && self.offers.same(&other.offers)
    }
}

/// What a server says its protocol revision is, if it has the form of one: `YYYY-MM-DD`. Anything else is free text of the server's,
/// which would be shown as ours.
pub fn protocol_revision(said: &str) -> Option<&str> {
    let is_revision = said.len() == 10
        && said
            .bytes()
            .enumerate()
            .all(|(position, byte)| match position {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    is_revision.then_some(said)
}

/// The state of a server: what its `STATUS` says. Never part of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerState {
    /// Whether it runs.
    pub phase: Phase,
    /// Whether the definitions shown are older than the configuration or than a failed refresh, and since when.
    pub stale: Option<SystemTime>,
}

impl ServerState {
    /// Whether a server that has not said its tools yet may still do so.
    pub const fn may_answer(&self) -> bool {
        !matches!(self.phase, Phase::Failed(_) | Phase::Disabled)
    }
}

/// Whether a server runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not running; it is started by the next call.
    #[default]
    Cold,
    /// Being started.
    Starting,
    /// Running.
    Ready,
    /// The last start or the running server failed.
    Failed(String),
    /// `disabled` in the configuration.
    Disabled,
}

#[cfg(test)]
mod tests {
    use super::protocol_revision;

    #[test]
    fn a_protocol_revision_is_a_date_and_nothing_else() {
        assert_eq!(protocol_revision("2025-11-25"), Some("2025-11-25"));
        for said in [
            "",
            "DRAFT-2026",
            "2025-11-2",
            "2025-11-25\n",
            "2025/11/25",
            "2o25-11-25",
            "٢٠٢٥-1",
        ] {
            assert_eq!(protocol_revision(said), None, "{said}");
        }
    }
}
