//! The catalog: the one writer that turns source updates into snapshots.
//!
//! Every source sends [`SourceUpdate`]s into one queue; one task applies them, builds the next [`Snapshot`]
//! and swaps it in whole. Readers load a pointer and never wait.

mod update;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use skills::catalog::{FirstSeen, Hiding, IndexOptions, Snapshot, Sources};
use skills::problem::Problem;
use tokio::sync::{mpsc, watch};

use crate::cache::TokenCounts;
use crate::counting::Counting;
use crate::gate::policy::Hidden;
use crate::journal::{Journal, REMEMBERED, SeenFile};
use crate::pins::Pins;

pub use update::{Done, SourceUpdate};

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

/// How often what is kept on disk is saved while the catalog changes. What is lost to a kill costs a time stamp.
const SAVE_EVERY: Duration = Duration::from_secs(30);

/// The writer's own state.
struct Writer {
    sources: Sources,
    options: IndexOptions,
    hidden: Arc<Hidden>,
    seen: SeenFile,
    saved: Option<Instant>,
    journal: Journal,
    pins: Pins,
    counts: TokenCounts,
    /// Started when a count is first wanted that is not known.
    counting: Option<Counting>,
    /// Whether an answer of it is still to come.
    is_counting: bool,
    /// The generation that it was asked for last: for one it is asked once, whatever the answer.
    asked: u64,
    /// For the counting to answer by: one that keeps the queue open would keep the writer from its end.
    updates: mpsc::WeakUnboundedSender<SourceUpdate>,
    /// The snapshot that the journal was compared with last. Until the first flush there is none: only then has every
    /// source spoken, and a source that did not speak yet would look like one whose definitions went.
    recorded: Option<Arc<Snapshot>>,
    current: Arc<ArcSwap<Snapshot>>,
    generation: watch::Sender<u64>,
}

/// Remembers nothing: the blank catalog is no version of anything, and must not take the place of one that was seen before.
struct NeverSeen;

impl FirstSeen for NeverSeen {
    fn first_seen(&mut self, _path: &str, _hash: &[u8; 32]) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// Starts the writer on a thread of its own. It publishes nothing but the empty catalog until the first
/// [`SourceUpdate::Flush`], by which every source must have spoken; it ends at [`SourceUpdate::End`].
///
/// # Errors
/// When the thread can't be started.
pub fn start(
    options: IndexOptions,
    seen: SeenFile,
    journal: Journal,
    pins: Pins,
    counts: TokenCounts,
) -> std::io::Result<(Updates, Snapshots)> {
    let sources = Sources {
        journal: journal.tail(REMEMBERED),
        ..Sources::default()
    };
    let mut blank = Snapshot::build(None, sources.clone(), options, &mut NeverSeen);
    blank.generation = 0;
    let (generation, generations) = watch::channel(blank.generation);
    let current = Arc::new(ArcSwap::from_pointee(blank));
    let (updates, queue) = mpsc::unbounded_channel();
    let snapshots = Snapshots {
        current: Arc::clone(&current),
        generation: generations,
    };
    let writer = Writer {
        sources,
        options,
        hidden: Arc::default(),
        seen,
        saved: None,
        journal,
        pins,
        counts,
        counting: None,
        is_counting: false,
        asked: 0,
        updates: updates.downgrade(),
        recorded: None,
        current,
        generation,
    };
    std::thread::Builder::new()
        .name("catalog".into())
        .spawn(move || writer.run(queue))?;
    Ok((updates, snapshots))
}

impl Writer {
    fn run(mut self, mut queue: mpsc::UnboundedReceiver<SourceUpdate>) {
        let mut changed = false;
        while let Some(first) = queue.blocking_recv() {
            let mut waiting: Vec<Done> = Vec::new();
            let mut ends = false;
            let mut next = Some(first);
            // A burst becomes one snapshot: whatever is queued by now goes in together.
            while let Some(update) = next {
                match update {
                    SourceUpdate::Flush { done } => waiting.push(done),
                    SourceUpdate::End { done } => {
                        waiting.push(done);
                        ends = true;
                    }
                    update => changed |= self.apply(update),
                }
                next = queue.try_recv().ok();
            }
            if self.recorded.is_none() && waiting.is_empty() {
                continue;
            }
            // A flush is when a journal that could not be written is tried again: it comes of no snapshot, so none begets the next.
            let is_late = !waiting.is_empty() && !self.journal.is_saved();
            if changed || self.recorded.is_none() || is_late {
                self.publish();
                changed = false;
            }
            if ends {
                self.save();
                self.save_counts();
            }
            let generation = self.current.load().generation;
            for done in waiting {
                done.answer(generation);
            }
            if !ends {
                self.count();
            }
            if ends {
                return;
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
                self.sources
                    .servers
                    .insert(name, (server, state.unwrap_or_default()));
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
                    && self
                        .sources
                        .skills
                        .iter()
                        .zip(&skills)
                        .all(|(a, b)| Arc::ptr_eq(a, b));
                self.sources.skills = skills;
                told || !same
            }
            SourceUpdate::Configuration {
                problems,
                index,
                entries,
            } => {
                let changed = self.options != index || self.sources.entries != entries;
                self.options = index;
                self.sources.entries = entries;
                self.tell("configuration".to_owned(), problems) || changed
            }
            // The same rules stay the very same object, by which what was placed is shared.
            SourceUpdate::Hidden(hidden) => {
                let changed = !self.hidden.is_same(&hidden);
                if changed {
                    self.sources.hiding = Hiding::by(hidden.clone());
                    self.hidden = hidden;
                }
                changed
            }
            SourceUpdate::Pinning(scope) => self.pins.set_scope(scope),
            SourceUpdate::Listed { name } => self.pins.hear_listed(name),
            SourceUpdate::Pins => self.pins.has_news(),
            SourceUpdate::Counted(counted) => {
                self.is_counting = false;
                let is_new = !counted.is_empty();
                self.counts.add(counted);
                is_new
            }
            SourceUpdate::Problems { source, problems } => self.tell(source, problems),
            SourceUpdate::Flush { .. } | SourceUpdate::End { .. } => false,
        }
    }

    /// Replaces the problems of one source; false when they are the same.
    fn tell(&mut self, source: String, problems: Vec<Problem>) -> bool {
        let before = if problems.is_empty() {
            self.sources.problems.remove(&source).unwrap_or_default()
        } else {
            self.sources
                .problems
                .insert(source.clone(), problems)
                .unwrap_or_default()
        };
        self.sources
            .problems
            .get(&source)
            .map_or(&[][..], Vec::as_slice)
            != before
    }

    fn publish(&mut self) {
        let before = self.recorded.clone();
        // Behind this line everything is as it was trusted.
        let mut sources = self.sources.clone();
        let applied = self.pins.apply(&mut sources);
        let mut next = self.build(before.as_deref(), sources.clone());
        self.journal.note(self.pins.journal_lines(&next));
        let recorded = self.journal.record(before.as_deref(), &next);
        let told = self.tell_of_journal(recorded.err());
        let told = self.tell("pins".to_owned(), applied.problems(&next)) || told;
        // CHANGES.md and STATUS are files of the tree that they describe: a difference costs a second, shared build.
        let lines = self.journal.tail(REMEMBERED);
        if told || lines != self.sources.journal {
            self.sources.journal = lines;
            sources.journal = Arc::clone(&self.sources.journal);
            sources.problems.clone_from(&self.sources.problems);
            next = self.build(Some(&next), sources);
        }
        let next = Arc::new(next);
        self.recorded = Some(Arc::clone(&next));
        let generation = next.generation;
        self.current.store(next);
        if self.saved.is_none_or(|at| at.elapsed() >= SAVE_EVERY) {
            self.save();
        }
        // Nobody listening is no error: the last receiver may be gone at shutdown.
        self.generation.send_replace(generation);
    }

    /// Says what is wrong with the journal; false when that is as before.
    fn tell_of_journal(&mut self, unwritable: Option<Problem>) -> bool {
        let problems = unwritable.into_iter().chain(self.journal.damage());
        let told = self.tell("journal".to_owned(), problems.collect());
        if told {
            for problem in self.sources.problems.get("journal").into_iter().flatten() {
                tracing::warn!(%problem, "the journal is not as it should be");
            }
        }
        told
    }

    fn build(&mut self, previous: Option<&Snapshot>, sources: Sources) -> Snapshot {
        Snapshot::build_counted(
            previous,
            sources,
            self.options,
            &self.counts,
            &mut self.seen,
        )
    }

    /// Has what the current snapshot estimates counted, and keeps what was counted before. Nobody waits for either.
    fn count(&mut self) {
        let snapshot = self.current.load_full();
        if self.is_counting {
            return;
        }
        if snapshot.is_counted() {
            self.save_counts();
            return;
        }
        if self.asked == snapshot.generation {
            return;
        }
        self.asked = snapshot.generation;
        if self.counting.is_none() {
            match Counting::start(self.updates.clone()) {
                Ok(counting) => self.counting = Some(counting),
                Err(error) => {
                    tracing::warn!(%error, "tokens can't be counted, so they stay estimates")
                }
            }
        }
        let counting = self.counting.as_ref();
        self.is_counting = counting.is_some_and(|counting| counting.want(snapshot, self.options));
    }

    fn save_counts(&mut self) {
        if let Err(problem) = self.counts.save() {
            tracing::warn!(%problem, "token counts could not be saved");
        }
    }

    fn save(&mut self) {
        self.saved = Some(Instant::now());
        if let Err(problem) = self.seen.save(&self.current.load().tree) {
            tracing::warn!(%problem, "when files were first seen could not be saved");
        }
    }
}
