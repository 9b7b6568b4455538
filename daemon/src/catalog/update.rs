//! What the sources tell the catalog.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use skills::catalog::{EntryOptions, IndexOptions};
use skills::entry_id::{EntryId, ServerName};
use skills::problem::Problem;
use skills::server::{Server, ServerState};
use skills::skill::Skill;

use crate::cache::Digest;
use crate::gate::policy::Hidden;
use crate::pins::Scope;

/// What a source has to say.
#[derive(Debug)]
pub enum SourceUpdate {
    /// A server is configured, or its definitions changed; and its own problems (malformed tools …).
    Server {
        /// What is known of it.
        server: Arc<Server>,
        /// Its problems, replacing those said before.
        problems: Vec<Problem>,
    },
    /// The state of a server changed.
    State {
        /// The server.
        name: ServerName,
        /// Its state.
        state: ServerState,
    },
    /// A server is no longer configured.
    Removed {
        /// The server.
        name: ServerName,
    },
    /// The skills, all of them.
    Skills {
        /// The skills, in order of precedence.
        skills: Vec<Arc<Skill>>,
        /// What was skipped or warned about, replacing those said before.
        problems: Vec<Problem>,
    },
    /// The configuration was read (again): its problems, replacing those said before, the settings of the index, and what
    /// the user says of single entries.
    Configuration {
        /// The problems.
        problems: Vec<Problem>,
        /// The settings.
        index: IndexOptions,
        /// By id.
        entries: Arc<BTreeMap<EntryId, EntryOptions>>,
    },
    /// The configuration was read (again): what is to be left off the shelf.
    Hidden(Arc<Hidden>),
    /// The configuration was read (again): what is served only as it was trusted.
    Pinning(Scope),
    /// A server was listed, whatever came of it: what it says now is the latest.
    Listed {
        /// The server.
        name: ServerName,
    },
    /// Pins may have changed: something was trusted, or another daemon saw a change.
    Pins,
    /// What texts cost that the last snapshot had to estimate.
    Counted(Vec<(Digest, u32)>),
    /// The problems of one source, replacing those said before.
    Problems {
        /// The source, as the problems are grouped.
        source: String,
        /// The problems.
        problems: Vec<Problem>,
    },
    /// Asks for the generation once everything sent before it is published.
    Flush {
        /// Where it goes.
        done: Done,
    },
    /// Flushes, saves what is kept on disk, and ends the writer.
    End {
        /// Where the last generation goes.
        done: Done,
    },
}

/// Where the answer to a flush goes.
pub struct Done(Box<dyn FnOnce(u64) + Send>);

impl Done {
    /// Calls `answer` with the generation, on the writer's thread: it must not block.
    pub fn new(answer: impl FnOnce(u64) + Send + 'static) -> Self {
        Self(Box::new(answer))
    }

    /// Answers.
    pub(super) fn answer(self, generation: u64) {
        (self.0)(generation);
    }
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Done")
    }
}
