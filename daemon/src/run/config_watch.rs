//! The watch on the files that the configuration is read from. It knows that one changed, not what is in it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long the file must be quiet before it is read again: editors write in several steps.
const QUIET: Duration = Duration::from_millis(50);

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
        let (raw, events) = mpsc::channel();
        let watcher = notify::recommended_watcher(move |event| drop(raw.send(event))).ok()?;
        let (changed, changes) = unbounded_channel();
        let watched = paths.clone();
        std::thread::Builder::new()
            .name("config-watch".into())
            .spawn(move || settle(&watched, &events, &changed))
            .ok()?;
        let mut watch = Self {
            paths,
            watcher,
            changes,
        };
        watch.look().then_some(watch)
    }

    /// Waits until a file has changed and all are quiet again; a change since the start counts.
    pub(super) async fn changed(&mut self) -> Option<()> {
        let change = self.changes.recv().await;
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

/// Makes one change of many events.
fn settle(
    paths: &[PathBuf],
    events: &Receiver<notify::Result<Event>>,
    changed: &UnboundedSender<()>,
) {
    while let Ok(event) = events.recv() {
        let mut concerned = concerns(paths, &event);
        while let Ok(more) = events.recv_timeout(QUIET) {
            concerned |= concerns(paths, &more);
        }
        if concerned && changed.send(()).is_err() {
            return;
        }
    }
}

fn concerns(paths: &[PathBuf], event: &notify::Result<Event>) -> bool {
    let names: Vec<_> = paths.iter().flat_map(|path| files(path)).collect();
    event.as_ref().is_ok_and(|event| {
        let named = |changed: &PathBuf| {
            names
                .iter()
                .any(|file| file.file_name() == changed.file_name())
        };
        !event.kind.is_access() && event.paths.iter().any(named)
    })
}
