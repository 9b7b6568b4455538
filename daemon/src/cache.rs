//! The cache of definitions: what each server answered, as raw JSON, found again by configuration and server name.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::Definitions;

/// The era of the protocol that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// Up to 2025-11-25: `initialize`.
    Initialize,
    /// From 2026-07-28: `server/discover`.
    Discover,
}

/// A keyed hash over all that a server's definitions depend on: expanded command, arguments, working directory, `env`,
/// declared capabilities. Keyed, so that secrets can't be tried out against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness(pub [u8; 32]);

/// What the cache holds of one server.
#[derive(Clone, Debug)]
pub struct Cached {
    /// The definitions, parsed from the raw JSON.
    pub definitions: Arc<Definitions>,
    /// The tools that could not be read.
    pub problems: Vec<Problem>,
    /// What they depended on when they were listed.
    pub freshness: Freshness,
    /// When they were listed.
    pub listed: SystemTime,
    /// The era that the server spoke.
    pub era: Option<Era>,
}

/// The definitions of one configuration's servers on disk. One file a server, 0600, replaced by rename.
#[derive(Clone, Debug)]
pub struct DefinitionCache {}

impl DefinitionCache {
    /// Opens the cache of one configuration (`configuration` is its canonical path, or a name where there is no file).
    ///
    /// # Errors
    /// When the directory can't be made.
    pub fn open(directory: &Path, configuration: &str) -> Result<Self, Problem> {
        let _ = (directory, configuration);
        todo!()
    }

    /// Hashes, with this user's key, what a server's definitions depend on.
    pub fn freshness(&self, launch: &crate::config::Launch, capabilities: &str) -> Freshness {
        let _ = (launch, capabilities);
        todo!()
    }

    /// What is known of a server; `None` when nothing is, or the file can't be read as what it should be.
    pub fn load(&self, server: &ServerName) -> Option<Cached> {
        let _ = server;
        todo!()
    }

    /// Remembers what a server answered.
    ///
    /// # Errors
    /// When the file can't be written; the daemon goes on without.
    pub fn store(
        &self,
        server: &ServerName,
        definitions: &Definitions,
        freshness: Freshness,
        era: Option<Era>,
    ) -> Result<(), Problem> {
        let _ = (server, definitions, freshness, era);
        todo!()
    }
}
