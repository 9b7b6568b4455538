//! The access log: one JSON line for each open, `show`, `search` (an open in `search/`, too), `load`, `call`, `read` and `prompt`.
//!
//! This end only queues: a thread of its own turns records into lines and writes them, so that no reader of the mount
//! ever waits for a disk. The lines hold what was opened, not what was read: the kernel serves repeated reads itself.

pub mod reader;
pub mod record;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use serde_json::Value;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use tokio::sync::{Semaphore, TryAcquireError, oneshot};

use self::record::Record;
#[cfg(test)]
pub(crate) use self::writer::DEFAULT_BYTES;
use self::writer::Writer;
use crate::caller::Caller;

/// How many records may wait to be written.
const QUEUE: usize = 8192;

/// How many records are written in one go for somebody who waits for them.
const BATCH: usize = 1024;

/// What is logged of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// How search words are kept (`log.queries`).
    pub queries: Queries,
    /// Whether the values of arguments are kept, not just their names (`log.values`).
    pub values: bool,
    /// The size in bytes at which a file is rotated; 0 stands for the default, 16 MiB.
    pub max_bytes: u64,
}

/// How search words are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queries {
    /// As they are.
    #[default]
    Full,
    /// As a hash, by which equal searches can be counted. It hides words from a glance, not from somebody who guesses them.
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
        /// The entry, as it was asked for where there is none.
        entry: EntryId,
        /// Whether there is one, else the kind of the problem.
        outcome: Result<(), ProblemKind>,
    },
    /// `shelf search`, or an open in `search/`.
    Search {
        /// The words.
        words: String,
        /// How many entries matched, else the kind of the problem.
        matches: Result<usize, ProblemKind>,
    },
    /// A definition was handed out to a session.
    Load {
        /// The entry.
        entry: EntryId,
        /// Which version of its definition ([`skills::catalog::Entry::digest`]).
        hash: Option<String>,
        /// The catalog that it is of ([`crate::protocol::About::catalog`]).
        catalog: String,
    },
    /// Somebody decided on a call that waited for an approval.
    Approval {
        /// The tool.
        entry: EntryId,
        /// What they said.
        verdict: Verdict,
    },
    /// `shelf call`.
    Call {
        /// The tool; what was asked for where there is none.
        entry: EntryId,
        /// The arguments; their values are written only when configured.
        arguments: serde_json::Map<String, Value>,
        /// Whether it worked, else the kind of the problem.
        outcome: Result<(), ProblemKind>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// The size of the result's JSON in bytes.
        result_bytes: u64,
    },
    /// `shelf call`, where the command refused what it was given: nothing was sent.
    Refused {
        /// The tool; what was asked for where there is none.
        entry: EntryId,
        /// The names of the arguments, as they were given.
        arguments: Vec<String>,
        /// The kind of the problem.
        kind: ProblemKind,
    },
    /// `shelf read`.
    Read {
        /// What stands for all resources of the server.
        entry: EntryId,
        /// The URI.
        uri: String,
        /// How it ended.
        ended: Ended,
    },
    /// `shelf prompt`.
    Prompt {
        /// What stands for all prompts of the server.
        entry: EntryId,
        /// The prompt's name.
        name: String,
        /// The arguments; their values are written only when configured.
        arguments: serde_json::Map<String, Value>,
        /// How it ended.
        ended: Ended,
    },
}

/// How something ended that was asked of a server.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Whether it worked, else the kind of the problem.
    pub outcome: Result<(), ProblemKind>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The size of the result's JSON in bytes.
    pub result_bytes: u64,
}

/// What somebody said to a call that waited for an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made once.
    Once,
    /// It may be made, and so may every other call of the tool.
    Always,
    /// It may not be made.
    Denied,
}

/// The writing end. Cloneable, never blocks a read.
#[derive(Clone, Debug)]
pub struct AccessLog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: LogOptions,
    /// Unbounded in itself: who sends holds a permit of the queue.
    queue: mpsc::Sender<Message>,
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What both ends of the queue see. The writer must not keep [`Inner`] alive: it ends when the last sender is gone.
#[derive(Debug)]
struct Shared {
    room: Semaphore,
    dropped: AtomicU64,
    /// Why the last write failed.
    problem: Mutex<Option<Problem>>,
}

impl Shared {
    /// For so many records that wait.
    fn new(room: usize) -> Self {
        Self {
            room: Semaphore::new(room),
            dropped: AtomicU64::new(0),
            problem: Mutex::default(),
        }
    }

    fn set_problem(&self, problem: Option<Problem>) {
        let mut current = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = &problem
            && current.is_none()
        {
            tracing::warn!(%problem, "events are not logged");
        }
        *current = problem;
    }
}

#[derive(Debug)]
enum Message {
    Record(Box<Record>),
    /// Records that somebody waits for.
    Batch(Vec<Record>, oneshot::Sender<()>),
    Close,
}

impl AccessLog {
    /// Opens the log of one daemon, `<directory>/<instance>.jsonl`, and starts its writer thread.
    ///
    /// The directory is made 0700, the file 0600. `instance` is used as a file name as it stands.
    ///
    /// # Errors
    /// When the directory or the file can't be made, or the directory is a link or another user's.
    pub fn open(directory: &Path, instance: &str, options: LogOptions) -> Result<Self, Problem> {
        let shared = Arc::new(Shared::new(QUEUE));
        let (queue, records) = mpsc::channel();
        let writer = Writer::open(directory, instance, options.max_bytes, Arc::clone(&shared))?;
        let writer = thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || writer.run(&records))
            .map_err(|error| {
                Problem::new(
                    ProblemKind::Daemon,
                    format!("the access log's thread could not be started: {error}"),
                )
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                options,
                queue,
                shared,
                writer: Mutex::new(Some(writer)),
            }),
        })
    }

    /// Queues an open: what does not fit becomes one `dropped: n` line.
    pub fn try_record(&self, caller: Caller, event: Event) {
        let shared = &self.inner.shared;
        match shared.room.try_acquire() {
            Ok(permit) => {
                // The writer gives it back with the record.
                permit.forget();
                self.send(caller, event);
            }
            Err(TryAcquireError::NoPermits) => {
                shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
            Err(TryAcquireError::Closed) => {}
        }
    }

    /// Queues an event that must not be lost: waits for room.
    pub async fn record(&self, caller: Caller, event: Event) {
        if let Ok(permit) = self.inner.shared.room.acquire().await {
            permit.forget();
            self.send(caller, event);
        }
    }

    /// Writes events that must not be lost and may be read at once: waits until they are in the file.
    ///
    /// What can't be written is counted in a `dropped` line, as with every other event.
    pub async fn write(&self, caller: &Caller, events: Vec<Event>) {
        let mut records = events
            .into_iter()
            .map(|event| Record::new(caller.clone(), event, self.inner.options));
        loop {
            let batch: Vec<Record> = records.by_ref().take(BATCH).collect();
            let count = u32::try_from(batch.len()).expect("a batch is small");
            if count == 0 {
                return;
            }
            let Ok(permits) = self.inner.shared.room.acquire_many(count).await else {
                return;
            };
            permits.forget();
            let (done, written) = oneshot::channel();
            let _ = self.inner.queue.send(Message::Batch(batch, done));
            // The log was closed: there is nothing to wait for.
            let _ = written.await;
        }
    }

    /// Waits until all that was recorded so far is in the file, or is counted as dropped.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let _ = self.inner.queue.send(Message::Batch(Vec::new(), done));
        // The log was closed: all is written.
        let _ = written.await;
    }

    /// Why nothing can be written at the moment, if that is so.
    pub fn problem(&self) -> Option<Problem> {
        let problem = &self.inner.shared.problem;
        problem
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Writes out everything queued so far and ends the writer. Blocks.
    ///
    /// What is recorded after that is lost; to close again does nothing.
    pub fn close(&self) {
        let mut writer = self
            .inner
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = writer.take() {
            let _ = self.inner.queue.send(Message::Close);
            let _ = thread.join();
        }
    }

    fn send(&self, caller: Caller, event: Event) {
        let record = Record::new(caller, event, self.inner.options);
        let _ = self.inner.queue.send(Message::Record(Box::new(record)));
    }
}
