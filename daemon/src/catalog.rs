//! The catalog: the one writer that turns source updates into snapshots.
//!
//! Every source sends [`SourceUpdate`]s into one queue; one task applies them, builds the next [`Snapshot`]
//! and swaps it in whole. Readers load a pointer and never wait.

use std::sync::Arc;

use arc_swap::ArcSwap;
use skills::catalog::{FirstSeen, IndexOptions, Snapshot, Sources};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::{Server, ServerState};
use skills::skill::Skill;
use tokio::sync::{mpsc, watch};

use crate::history::History;

/// What a source has to say.
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
    /// The configuration was read (again): its problems, replacing those said before, and the settings of the index.
    Configuration {
        /// The problems.
        problems: Vec<Problem>,
        /// The settings.
        index: IndexOptions,
    },
    /// The problems of one source, replacing those said before.
    Problems {
        /// The source, as the problems are grouped.
        source: String,
        /// The problems.
        problems: Vec<Problem>,
    },
    /// Asks for the generation once everything sent before it is published.
    Flush {
        /// Called with the generation, on the writer's thread: must not block.
        done: Box<dyn FnOnce(u64) + Send>,
    },
}

/// The sending end that every source holds.
pub type Updates = mpsc::UnboundedSender<SourceUpdate>;

/// The reading end: the current snapshot, and a way to wait for the next.
#[derive(Clone, Debug)]
pub struct Snapshots {
    current: Arc<ArcSwap<Snapshot>>,
    generation: watch::Receiver<u64>,
}

impl Snapshots {
    /// The current snapshot; never waits.
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// A receiver of generations, to wait for the next snapshot.
    pub fn generations(&self) -> watch::Receiver<u64> {
        self.generation.clone()
    }
}

/// The writer's own state.
struct Writer<F> {
    sources: Sources,
    options: IndexOptions,
    first_seen: F,
    history: History,
    current: Arc<ArcSwap<Snapshot>>,
    generation: watch::Sender<u64>,
}

/// Starts the writer on a thread of its own; it ends when every sender is gone. Generation 0 is the empty catalog.
///
/// # Errors
/// When the thread can't be started.
pub fn start<F: FirstSeen + Persist + Send + 'static>(
    options: IndexOptions,
    mut first_seen: F,
    history: History,
) -> std::io::Result<(Updates, Snapshots, std::thread::JoinHandle<()>)> {
    let sources = Sources { journal: history.lines(), ..Sources::default() };
    let first = Snapshot::build(None, sources.clone(), options, &mut first_seen);
    let current = Arc::new(ArcSwap::from_pointee(first));
    let (generation, generations) = watch::channel(current.load().generation);
    let (updates, queue) = mpsc::unbounded_channel();
    let snapshots = Snapshots { current: Arc::clone(&current), generation: generations };
    let writer = Writer { sources, options, first_seen, history, current, generation };
    let thread =
        std::thread::Builder::new().name("catalog".into()).spawn(move || writer.run(queue))?;
    Ok((updates, snapshots, thread))
}

/// What the writer keeps on disk is saved after each publication.
pub trait Persist {
    /// Saves what changed. A failure is not fatal: it costs a time stamp, not a definition.
    fn persist(&mut self);
}

impl<F: FirstSeen + Persist> Writer<F> {
    fn run(mut self, mut queue: mpsc::UnboundedReceiver<SourceUpdate>) {
        while let Some(first) = queue.blocking_recv() {
            let mut waiting: Vec<Box<dyn FnOnce(u64) + Send>> = Vec::new();
            let mut changed = false;
            let mut next = Some(first);
            // A burst becomes one snapshot: whatever is queued by now goes in together.
            while let Some(update) = next {
                match update {
                    SourceUpdate::Flush { done } => waiting.push(done),
                    update => changed |= self.apply(update),
                }
                next = queue.try_recv().ok();
            }
            if changed {
                self.publish();
            }
            let generation = self.current.load().generation;
            for done in waiting {
                done(generation);
            }
        }
    }

    /// Applies one update; false when it says nothing new.
    fn apply(&mut self, update: SourceUpdate) -> bool {
        match update {
            SourceUpdate::Server { server, problems } => {
                let name = server.name.clone();
                let told = self.tell(format!("server {name}"), problems);
                let (before, state) = self.sources.servers.get(&name).cloned().unzip();
                let changed = before.is_none_or(|before| !Arc::ptr_eq(&before, &server));
                self.sources.servers.insert(name, (server, state.unwrap_or_default()));
                told || changed
            }
            SourceUpdate::State { name, state } => match self.sources.servers.get_mut(&name) {
                Some((_, current)) if *current != state => {
                    *current = state;
                    true
                }
                _ => false,
            },
            SourceUpdate::Removed { name } => {
                self.sources.problems.remove(&format!("server {name}"));
                self.sources.servers.remove(&name).is_some()
            }
            SourceUpdate::Skills { skills, problems } => {
                let told = self.tell("skills".to_owned(), problems);
                let same = self.sources.skills.len() == skills.len()
                    && self.sources.skills.iter().zip(&skills).all(|(a, b)| Arc::ptr_eq(a, b));
                self.sources.skills = skills;
                told || !same
            }
            SourceUpdate::Configuration { problems, index } => {
                let changed = self.options != index;
                self.options = index;
                self.tell("configuration".to_owned(), problems) || changed
            }
            SourceUpdate::Problems { source, problems } => self.tell(source, problems),
            SourceUpdate::Flush { .. } => false,
        }
    }

    /// Replaces the problems of one source; false when they are the same.
    fn tell(&mut self, source: String, problems: Vec<Problem>) -> bool {
        let before = if problems.is_empty() {
            self.sources.problems.remove(&source).unwrap_or_default()
        } else {
            self.sources.problems.insert(source.clone(), problems).unwrap_or_default()
        };
        self.sources.problems.get(&source).map_or(&[][..], Vec::as_slice) != before
    }

    fn publish(&mut self) {
        let before = self.current.load_full();
        let mut next = self.build(&before);
        // The journal is a file of the tree that it describes: a difference costs a second, shared build.
        if let Some(lines) = self.history.record(&next) {
            self.sources.journal = lines;
            let generation = next.generation;
            next = self.build(&next);
            next.generation = generation;
        }
        let generation = next.generation;
        self.current.store(Arc::new(next));
        self.first_seen.persist();
        // Nobody listening is no error: the last receiver may be gone at shutdown.
        self.generation.send_replace(generation);
    }

    fn build(&mut self, previous: &Snapshot) -> Snapshot {
        Snapshot::build(Some(previous), self.sources.clone(), self.options, &mut self.first_seen)
    }
}
