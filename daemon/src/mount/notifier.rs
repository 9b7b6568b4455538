//! The notifier: one thread that adopts each published tree and then tells the kernel what to forget.
//!
//! It holds no lock while it notifies. A notification waits until the requests on its directory that are on their way are
//! answered, so from within a handler, or under a lock that a handler needs, it would wait for ever, beyond SIGKILL.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use fuser::{INodeNo, Notifier};
use skills::tree::Directory;

use super::shelf::Shelf;
use super::view::Change;

/// What was published and not adopted yet: the newest tree only, for it contains all that the ones before it brought.
#[derive(Debug)]
pub(super) struct Publications {
    state: Mutex<State>,
    wake: Condvar,
    told: Condvar,
}

#[derive(Debug)]
struct State {
    newest: u64,
    /// The generation of which the kernel has been told all.
    told: u64,
    pending: Option<Arc<Directory>>,
    closed: bool,
}

impl Publications {
    /// Starts after the generation that the mount was made with.
    pub(super) fn new(generation: u64) -> Self {
        Self {
            state: Mutex::new(State {
                newest: generation,
                told: generation,
                pending: None,
                closed: false,
            }),
            wake: Condvar::new(),
            told: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing that can panic runs under the lock")
    }

    /// Leaves a tree for the notifier. An older generation than the newest so far is passed over.
    pub(super) fn publish(&self, generation: u64, tree: Arc<Directory>) {
        let mut state = self.state();
        if generation <= state.newest {
            return;
        }
        state.newest = generation;
        state.pending = Some(tree);
        self.wake.notify_one();
    }

    /// Ends the notifier.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_one();
        self.told.notify_all();
    }

    fn tell(&self, generation: u64) {
        self.state().told = generation;
        self.told.notify_all();
    }

    /// Waits until the kernel has been told of a generation, or the notifier ends. Never from within a handler, which the
    /// notifier may be waiting for.
    pub(super) fn wait_until_told(&self, generation: u64, limit: Duration) {
        let untold = |state: &mut State| state.told < generation && !state.closed;
        drop(self.told.wait_timeout_while(self.state(), limit, untold));
    }

    fn next(&self) -> Option<(u64, Arc<Directory>)> {
        let mut state = self
            .wake
            .wait_while(self.state(), |state| {
                state.pending.is_none() && !state.closed
            })
            .expect("nothing that can panic runs under the lock");
        if state.closed {
            return None;
        }
        let tree = state.pending.take()?;
        Some((state.newest, tree))
    }
}

/// Adopts and notifies until the publications are closed.
pub(super) fn run(publications: &Publications, shelf: &Shelf, kernel: &Notifier) {
    while let Some((generation, tree)) = publications.next() {
        for change in shelf.adopt(generation, &tree) {
            notify(kernel, &change);
        }
        publications.tell(generation);
    }
}

/// The names first: each waits for the listings and lookups of the directory that were answered from the view before. Then
/// always the directory itself: a name that was never looked up leaves the cached listing untouched.
fn notify(kernel: &Notifier, change: &Change) {
    let directory = INodeNo(change.directory);
    for name in &change.names {
        report(kernel.inval_entry(directory, OsStr::from_bytes(name)));
    }
    report(kernel.inval_inode(directory, 0, 0));
}

/// What the kernel does not know it need not forget, which is no error; others come while the mount goes away.
fn report(notified: io::Result<()>) {
    if let Err(error) = notified {
        tracing::debug!(%error, "the kernel refused a notification");
    }
}
