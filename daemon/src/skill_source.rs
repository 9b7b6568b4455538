//! The skills as a source: scanned at start, watched, scanned again when something changed.

mod scanner;
mod watcher;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use skills::discovery::{Limits, SkillRoot};
use skills::problem::{Problem, ProblemKind};

use crate::catalog::Updates;
use crate::mount_table::{self, ShelfMount};
use scanner::Scanner;
use watcher::{Notify, Wake};

/// The running source. Dropping it ends the watch.
#[derive(Debug)]
pub struct SkillSource {
    scanner: Arc<Scanner>,
    wake: Sender<Wake>,
    thread: Option<JoinHandle<()>>,
}

/// What the source needs of the machine; tests replace it.
#[derive(Clone, Copy, Debug)]
struct Machine {
    /// The shelf mounts that there are.
    mounts: fn() -> Vec<ShelfMount>,
    /// Makes a watcher that sends what it sees.
    notify: fn(Sender<Wake>) -> notify::Result<Notify>,
}

impl SkillSource {
    /// Scans the roots (on the calling thread, so that the first snapshot has them), then watches on a thread of its own.
    /// Nothing is taken from shelf mounts and from `own`, where the daemon writes its mirror: it must not read itself.
    pub fn start(
        roots: Vec<SkillRoot>,
        own: Option<PathBuf>,
        limits: Limits,
        updates: Updates,
    ) -> Self {
        let machine = Machine {
            mounts: mount_table::shelf_mounts,
            notify: watcher::inotify,
        };
        Self::start_on(machine, roots, own, limits, updates)
    }

    fn start_on(
        machine: Machine,
        roots: Vec<SkillRoot>,
        own: Option<PathBuf>,
        limits: Limits,
        updates: Updates,
    ) -> Self {
        let scanner = Arc::new(Scanner::new(machine.mounts, roots, own, limits, updates));
        scanner.scan();
        let (wake, wakes) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("skills".to_owned())
            .spawn({
                let (scanner, wake) = (Arc::clone(&scanner), wake.clone());
                move || watcher::run(&scanner, (machine.notify)(wake), &wakes)
            });
        let thread = match thread {
            Ok(thread) => Some(thread),
            Err(error) => {
                let message = format!("changes of skills are not seen: no thread: {error}");
                scanner.set_watch_problem(Some(Problem::new(ProblemKind::Internal, message)));
                None
            }
        };
        Self {
            scanner,
            wake,
            thread,
        }
    }

    /// Replaces the roots (an edited configuration) and scans them.
    pub fn set_roots(&self, roots: Vec<SkillRoot>) {
        self.scanner.set_roots(roots);
        self.watch_anew();
    }

    /// Scans again now and returns once the update has been sent: for an open that found the file changed. Calls that
    /// come in while a scan runs share the next one.
    pub fn rescan(&self, changed: &Path) {
        tracing::debug!(path = %changed.display(), "scanning skills again");
        self.scanner.scan_since_now();
        self.watch_anew();
    }

    /// Lets the thread watch what the last scan found.
    fn watch_anew(&self) {
        // It is gone only when it could not be started, which was reported.
        let _ = self.wake.send(Wake::Scanned);
    }
}

impl Drop for SkillSource {
    fn drop(&mut self) {
        let _ = self.wake.send(Wake::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
