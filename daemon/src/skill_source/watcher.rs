//! The thread that watches: non-recursive watches, events gathered into scans, polling when watches run out.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::event::{EventKind, ModifyKind};
use notify::{ErrorKind, Event, RecursiveMode, Watcher};
use skills::discovery::Watch;
use skills::problem::{Problem, ProblemKind};

use super::scanner::Scanner;

/// A scan begins when nothing happened for this long …
const QUIET: Duration = Duration::from_millis(30);

/// … or, while things go on happening, this long after the first: a change is to be seen within 200 ms.
const PATIENCE: Duration = Duration::from_millis(150);

/// How often is scanned what can't be watched.
const POLL: Duration = Duration::from_secs(2);

/// What the watcher is made of.
pub(super) type Notify = Box<dyn Watcher + Send>;

/// What wakes the thread.
#[derive(Debug)]
pub(super) enum Wake {
    /// Something happened on disk, or watching failed.
    Event(notify::Result<Event>),
    /// Another thread scanned: what is to be watched may differ.
    Scanned,
    /// The source ends.
    Stop,
}

/// Makes the real watcher.
pub(super) fn inotify(wake: Sender<Wake>) -> notify::Result<Notify> {
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Opens are most of what is seen, our own among them, and change nothing.
        if !matches!(&event, Ok(event) if event.kind.is_access()) {
            let _ = wake.send(Wake::Event(event));
        }
    })?;
    Ok(Box::new(watcher))
}

/// Watches until it is stopped.
pub(super) fn run(scanner: &Scanner, notify: notify::Result<Notify>, wakes: &Receiver<Wake>) {
    let mut watches = Watches::new(notify);
    watches.follow(scanner);
    loop {
        let wake = if watches.complete {
            wakes.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            wakes.recv_timeout(POLL)
        };
        match wake {
            Ok(Wake::Event(event)) => {
                if !watches.note(event) {
                    continue;
                }
                if watches.settle(wakes).is_break() {
                    return;
                }
                scanner.scan();
            }
            Ok(Wake::Scanned) => {}
            Err(RecvTimeoutError::Timeout) => scanner.scan(),
            Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
        watches.follow(scanner);
    }
}

/// The watches that are set.
struct Watches {
    notify: notify::Result<Notify>,
    /// What matters, by the last scan.
    watch: Watch,
    /// The directories that are watched.
    set: BTreeSet<PathBuf>,
    /// Whether every directory that should be watched is.
    complete: bool,
}

impl Watches {
    fn new(notify: notify::Result<Notify>) -> Self {
        Self {
            notify,
            watch: Watch::default(),
            set: BTreeSet::new(),
            complete: false,
        }
    }

    /// Watches what the last scan found. What changed before a new watch was set was not seen: hence another scan.
    fn follow(&mut self, scanner: &Scanner) {
        loop {
            self.watch = scanner.watch();
            let (added, problem) = self.synchronize();
            scanner.set_watch_problem(problem);
            if !added {
                return;
            }
            scanner.scan();
        }
    }

    /// Sets and takes away watches; whether any was set, and what is wrong.
    fn synchronize(&mut self) -> (bool, Option<Problem>) {
        let notify = match &mut self.notify {
            Ok(notify) => notify,
            Err(error) => return (false, Some(cannot_watch(error))),
        };
        let wanted: BTreeSet<&Path> = self.watch.directories().collect();
        self.set.retain(|path| {
            let keep = wanted.contains(path.as_path());
            if !keep {
                // An error means that the kernel took it away with its directory.
                let _ = notify.unwatch(path);
            }
            keep
        });
        let mut added = false;
        let mut problem = None;
        self.complete = true;
        for path in wanted {
            if self.set.contains(path) {
                continue;
            }
            let Err(error) = notify.watch(path, RecursiveMode::NonRecursive) else {
                self.set.insert(path.to_owned());
                added = true;
                continue;
            };
            match &error.kind {
                // Gone since the scan; the directory above it tells.
                ErrorKind::PathNotFound => {}
                // May not be read, which the scan reported where it matters.
                ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::PermissionDenied => {
                    self.complete = false;
                }
                _ => {
                    self.complete = false;
                    problem = Some(cannot_watch(&error));
                    break;
                }
            }
        }
        (added, problem)
    }

    /// Takes note of an event; whether it calls for a scan.
    fn note(&mut self, event: notify::Result<Event>) -> bool {
        let Ok(event) = event else {
            return true;
        };
        if event.need_rescan() {
            // Events were lost, and what they said of watched directories with them.
            self.forget(Path::new("/"));
            return true;
        }
        if !event.paths.iter().any(|path| self.watch.concerns(path)) {
            return false;
        }
        if matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        ) {
            for path in &event.paths {
                self.forget(path);
            }
        }
        true
    }

    /// Forgets the watches at and below a path: they follow the directories that were there, not the path.
    fn forget(&mut self, path: &Path) {
        let Ok(notify) = &mut self.notify else {
            return;
        };
        self.set.retain(|watched| {
            let keep = !watched.starts_with(path);
            if !keep {
                let _ = notify.unwatch(watched);
            }
            keep
        });
    }

    /// Waits until nothing more happens, or for as long as patience lasts.
    fn settle(&mut self, wakes: &Receiver<Wake>) -> ControlFlow<()> {
        let now = Instant::now();
        let latest = now + PATIENCE;
        let mut until = now + QUIET;
        loop {
            match wakes.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Wake::Event(event)) => {
                    if self.note(event) {
                        until = latest.min(Instant::now() + QUIET);
                    }
                }
                // The scan that follows sees it all.
                Ok(Wake::Scanned) => {}
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    return ControlFlow::Break(());
                }
                Err(RecvTimeoutError::Timeout) => return ControlFlow::Continue(()),
            }
        }
    }
}

fn cannot_watch(error: &notify::Error) -> Problem {
    let reason = match &error.kind {
        ErrorKind::MaxFilesWatch => "the system's limit on watches is reached".to_owned(),
        _ => error.to_string(),
    };
    Problem::new(
        ProblemKind::Unreadable,
        format!(
            "skills can't be watched ({reason}); they are looked at every {} s instead",
            POLL.as_secs()
        ),
    )
    .hint("raise fs.inotify.max_user_watches or fs.inotify.max_user_instances (sysctl)")
}
