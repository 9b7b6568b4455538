//! The access log: one JSON line for each open, `show`, `search` and `call`.

use std::path::Path;

use serde_json::Value;
use skills::entry_id::EntryId;
use skills::problem::Problem;

use crate::caller::Caller;

/// What is logged of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// How search words are kept (`log.queries`).
    pub queries: Queries,
    /// Whether the values of arguments are kept, not just their names (`log.values`).
    pub values: bool,
    /// The size in bytes at which a file is rotated; 0 stands for the default.
    pub max_bytes: u64,
}

/// How search words are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queries {
    /// As they are.
    #[default]
    Full,
    /// As a hash.
    Hash,
    /// Not at all.
    Off,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A file was opened through the mount.
    Open {
        /// The path relative to the mount point.
        path: String,
        /// The entry that the file belongs to.
        entry: Option<EntryId>,
    },
    /// `shelf show`.
    Show {
        /// The entry.
        entry: EntryId,
    },
    /// `shelf search`.
    Search {
        /// The words.
        words: String,
        /// How many entries matched.
        matches: usize,
    },
    /// `shelf call`.
    Call {
        /// The tool.
        entry: EntryId,
        /// The arguments; their values are written only when configured.
        arguments: serde_json::Map<String, Value>,
        /// Whether it worked, else the kind of the problem.
        outcome: Result<(), skills::problem::ProblemKind>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// The size of the result's JSON in bytes.
        result_bytes: u64,
    },
}

/// The writing end. Cloneable, never blocks a read.
#[derive(Clone, Debug)]
pub struct AccessLog {}

impl AccessLog {
    /// Opens the log of one daemon in `directory` (created 0700) and starts its writer thread.
    ///
    /// # Errors
    /// When the directory or the file can't be made.
    pub fn open(directory: &Path, instance: &str, options: LogOptions) -> Result<Self, Problem> {
        let _ = (directory, instance, options);
        todo!()
    }

    /// Queues an open: what does not fit becomes one `dropped: n` line.
    pub fn try_record(&self, caller: Caller, event: Event) {
        let _ = (caller, event);
        todo!()
    }

    /// Queues an event that must not be lost: waits for room.
    pub async fn record(&self, caller: Caller, event: Event) {
        let _ = (caller, event);
        todo!()
    }

    /// Writes out everything queued so far and ends the writer. Blocks.
    pub fn close(&self) {
        todo!()
    }
}
