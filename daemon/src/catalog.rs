//! The catalog: the one writer that turns source updates into snapshots.

use std::sync::Arc;

use skills::catalog::Snapshot;
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::{Server, ServerState};
use skills::skill::Skill;
use tokio::sync::mpsc;

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
    /// The problems of the configuration, replacing those said before.
    Configuration {
        /// The problems.
        problems: Vec<Problem>,
    },
    /// Asks for the generation once everything sent before it is published.
    Flush {
        /// Where the generation goes.
        done: tokio::sync::oneshot::Sender<u64>,
    },
}

/// The sending end that every source holds.
pub type Updates = mpsc::UnboundedSender<SourceUpdate>;

/// The reading end: the current snapshot, and a way to wait for the next.
#[derive(Clone, Debug)]
pub struct Snapshots {
    current: Arc<arc_swap::ArcSwap<Snapshot>>,
    generation: tokio::sync::watch::Receiver<u64>,
}

impl Snapshots {
    /// The current snapshot; never waits.
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// A receiver of generations, to wait for the next snapshot.
    pub fn generations(&self) -> tokio::sync::watch::Receiver<u64> {
        self.generation.clone()
    }
}
