//! The watch on the files that the configuration is read from. It knows that one changed, not what is in it.
//!
//! Strangers may write and read in the directories of these files, and to a project's file: nothing that they do there may delay
//! that a change is told.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long the files must be quiet before they are read again: editors write in several steps.
const QUIET: Duration = Duration::from_millis(50);

/// How long it is waited for that: then they are read all the same, and again when they change further.
const MOST: Duration = Duration::from_millis(200);

/// A running watch; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct ConfigWatch {
    paths: Vec<PathBuf>,
    watcher: RecommendedWatcher,
    changes: UnboundedReceiver<()>,
}

impl ConfigWatch {
    /// Watches the files from now on; `None` where none of them can be watched.
    pub(super) fn start(paths: &[PathBuf]) -> Option<Self> {
        let paths = paths.iter().map(std::path::absolute);
        let paths: Vec<_> = paths.collect::<Result<_, _>>().ok()?;
        let (concerned, events) = mpsc::channel();
        let watched = paths.clone();
        let watcher = notify::recommended_watcher(move |event| {
            if concerns(&watched, &event) {
                // Nobody listens any more when the watch ends.
                let _ = concerned.send(());
            }
        });
        let watcher = watcher.ok()?;
        let (changed, changes) = unbounded_channel();
        std::thread::Builder::new()
            .name("config-watch".into())
            .spawn(move || settle(&events, &changed))
            .ok()?;
        let mut watch = Self {
            paths,
            watcher,
            changes,
        };
        watch.look().then_some(watch)
    }

    /// Waits until a file has changed, and all are quiet again or have had their time for it; a change since the start counts.
    pub(super) async fn changed(&mut self) -> Option<()> {
        let change = self.changes.recv().await;
        // They are read once for all that was told by now.
        while self.changes.try_recv().is_ok() {}
        // A link may lead elsewhere by now.
        self.look();
        change
    }

    /// Watches the directories of the files and of what they link to. Not the files: most editors replace a file, which
    /// ends a watch on it.
    fn look(&mut self) -> bool {
        let mut watched = false;
        for path in &self.paths {
            let [path, target] = files(path);
            let mut watch = |file: &Path| {
                file.parent().is_some_and(|directory| {
                    self.watcher
                        .watch(directory, RecursiveMode::NonRecursive)
                        .is_ok()
                })
            };
            watched |= watch(&path);
            if target.parent() != path.parent() {
                watch(&target);
            }
        }
        watched
    }
}

/// The file as it is named, and what that leads to.
fn files(path: &Path) -> [PathBuf; 2] {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    [path.to_owned(), target]
}

/// Makes one change of many events, within [`MOST`] of the first.
fn settle(events: &Receiver<()>, changed: &UnboundedSender<()>) {
    while events.recv().is_ok() {
        let end = Instant::now() + MOST;
        while let Some(left) = end.checked_duration_since(Instant::now())
            && events.recv_timeout(QUIET.min(left)).is_ok()
        {}
        if changed.send(()).is_err() {
            return;
        }
    }
}

/// Whether one of the files was written, made, removed, or came or went by a rename; also when events were lost.
fn concerns(paths: &[PathBuf], event: &notify::Result<Event>) -> bool {
    event.as_ref().is_ok_and(|event| {
        // By what a link leads to now.
        let is_named = |changed: &PathBuf| {
            let mut files = paths.iter().flat_map(|path| files(path));
            files.any(|file| file.file_name() == changed.file_name())
        };
        event.need_rescan() || (!event.kind.is_access() && event.paths.iter().any(is_named))
    })
}

#[cfg(test)]
mod tests;
