//! Counts the tokens of a snapshot's texts, on a thread of its own: nobody who reads, and no publication, waits for it.
//!
//! The tokenizer takes a tenth of a second to load and tens of megabytes, so it is loaded when a text is new and let go
//! when none has come for a while. Where every count is in the cache, neither it nor the thread ever exists.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

use skills::catalog::{FirstSeen, IndexOptions, Snapshot};
use skills::index::TokenCounter;
use tiktoken::CoreBpe;
use tokio::sync::mpsc::WeakUnboundedSender;

use crate::cache::{Digest, digest};
use crate::catalog::SourceUpdate;

/// How long the tokenizer is kept after its last use: servers that answer one after the other need it again and again.
const KEPT: Duration = Duration::from_secs(2);

/// The thread, as whoever wants counts holds it. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Counting {
    wanted: Sender<(Arc<Snapshot>, IndexOptions)>,
}

impl Counting {
    /// Starts the thread; it says what it counted as a [`SourceUpdate::Counted`].
    ///
    /// # Errors
    /// When the thread can't be started.
    pub(crate) fn start(to: WeakUnboundedSender<SourceUpdate>) -> io::Result<Self> {
        let (wanted, snapshots) = channel();
        std::thread::Builder::new()
            .name("tokens".into())
            .spawn(move || run(&snapshots, &to))?;
        Ok(Self { wanted })
    }

    /// Asks for all counts that a snapshot lacks, with these options; false when the thread is gone. The answer always comes.
    pub(crate) fn want(&self, snapshot: Arc<Snapshot>, options: IndexOptions) -> bool {
        self.wanted.send((snapshot, options)).is_ok()
    }
}

fn run(
    snapshots: &Receiver<(Arc<Snapshot>, IndexOptions)>,
    to: &WeakUnboundedSender<SourceUpdate>,
) {
    while let Ok((snapshot, options)) = snapshots.recv() {
        let tokenizer = Tokenizer::load();
        let mut next = (snapshot, options);
        loop {
            let counted = tokenizer.count_all(&next.0, next.1);
            // The snapshot must not outlive its time because of us.
            drop(next);
            let Some(to) = to.upgrade() else { return };
            if to.send(SourceUpdate::Counted(counted)).is_err() {
                return;
            }
            drop(to);
            match snapshots.recv_timeout(KEPT) {
                Ok(more) => next = more,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

/// The tokenizer in memory, and what it was asked for.
struct Tokenizer {
    o200k: CoreBpe,
    counted: RefCell<HashMap<Digest, u32>>,
}

/// Times don't matter to a snapshot that nobody is shown.
struct NeverSeen;

impl FirstSeen for NeverSeen {
    fn first_seen(&mut self, _path: &str, _hash: &[u8; 32]) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

impl Tokenizer {
    /// Not by the crate's registry, which would keep it for ever.
    fn load() -> Self {
        Self {
            o200k: tiktoken::encoding::o200k_base(),
            counted: RefCell::default(),
        }
    }

    /// Counts what a snapshot lacks. It is built once more, since which lines INDEX.md has depends on the counts
    /// themselves; what is counted already is shared, and asks nothing.
    fn count_all(&self, snapshot: &Snapshot, options: IndexOptions) -> Vec<(Digest, u32)> {
        let sources = snapshot.sources.clone();
        Snapshot::build_counted(Some(snapshot), sources, options, self, &mut NeverSeen);
        self.counted.take().into_iter().collect()
    }
}

impl TokenCounter for Tokenizer {
    fn count(&self, text: &str) -> Option<usize> {
        let count = self.o200k.count(text);
        let kept = u32::try_from(count).ok()?;
        self.counted.borrow_mut().insert(digest(text), kept);
        Some(count)
    }

    /// Never that of counts from the cache.
    fn revision(&self) -> u64 {
        u64::MAX
    }
}

#[cfg(test)]
mod tests;
