//! The one output of a daemon, fed with each new snapshot.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use skills::entry_id::EntryId;
use skills::problem::Problem;
use skills::search::Query;
use skills::search_page::{self, LIMIT, Page};
use skills::tree::SourceFile;
use tokio_util::sync::CancellationToken;

use crate::access_log::{AccessLog, Event};
use crate::caller::{Caller, Callers};
use crate::catalog::{Done, Snapshots, SourceUpdate, Updates};
use crate::mount::{Found, Mount, MountOptions, Observer, Searching};
use crate::run::sources::Sources;
use crate::searching::Searcher;

/// How long an open waits for the version that it found to be published.
const PUBLISH_DEADLINE: Duration = Duration::from_secs(1);

/// What a mount tells to the daemon.
pub(super) struct Watcher {
    pub(super) callers: Arc<Callers>,
    pub(super) log: AccessLog,
    pub(super) sources: Arc<Sources>,
    pub(super) updates: Updates,
}

impl Observer for Watcher {
    fn identify(&self, thread: u32, uid: u32) -> Caller {
        self.callers.identify(thread, uid)
    }

    fn opened(&self, caller: Caller, path: PathBuf, entry: Option<EntryId>) {
        let path = path.to_string_lossy().into_owned();
        self.log.try_record(caller, Event::Open { path, entry });
    }

    fn searched(&self, caller: Caller, words: &str, matches: usize) {
        let (words, matches) = (words.to_owned(), Ok(matches));
        self.log
            .try_record(caller, Event::Search { words, matches });
    }

    fn source_changed(&self, source: &SourceFile) -> Option<u64> {
        self.sources.skills.rescan(&source.root.join(&source.path));
        let (done, published) = sync_channel(1);
        let done = Done::new(move |generation| {
            let _ = done.try_send(generation);
        });
        self.updates.send(SourceUpdate::Flush { done }).ok()?;
        published.recv_timeout(PUBLISH_DEADLINE).ok()
    }
}

/// What answers the names of `search/`.
pub(super) struct Librarian {
    pub(super) searcher: Searcher,
    pub(super) snapshots: Snapshots,
}

impl Searching for Librarian {
    fn generation(&self) -> u64 {
        self.snapshots.current().generation
    }

    fn answer(&self, words: &str) -> Found {
        let index = self.searcher.index();
        let snapshot = self.snapshots.current();
        let answer = index.search(&Query {
            words,
            limit: LIMIT,
            kind: None,
            server: None,
            lexical: false,
            exclude: &HashSet::new(),
        });
        let page = Page {
            words,
            answer: &answer,
            entries: snapshot.entries.len(),
            out_of_service: &search_page::out_of_service(&snapshot),
        };
        Found {
            text: page.to_string(),
            matches: page.matches(),
        }
    }
}

/// Mounts the current snapshot and keeps the mount current until it is stopped. When the mount goes by itself (an outside
/// umount), `gone` is cancelled.
pub(super) fn mount(
    mount_point: &Path,
    options: &MountOptions,
    snapshots: &Snapshots,
    watcher: Watcher,
    librarian: Librarian,
    gone: &CancellationToken,
) -> Result<Arc<Mount>, Problem> {
    let snapshot = snapshots.current();
    let mut generations = snapshots.generations();
    let tree = Arc::clone(&snapshot.tree);
    let mount = Mount::start(
        mount_point,
        options,
        snapshot.generation,
        tree,
        Arc::new(watcher),
        Some(Arc::new(librarian)),
    )?;
    let mount = Arc::new(mount);

    let (feeding, snapshots) = (Arc::clone(&mount), snapshots.clone());
    tokio::spawn(async move {
        generations.mark_changed();
        while generations.changed().await.is_ok() {
            let snapshot = snapshots.current();
            feeding.publish(snapshot.generation, Arc::clone(&snapshot.tree));
        }
    });

    let (waiting, gone) = (Arc::clone(&mount), gone.clone());
    tokio::task::spawn_blocking(move || {
        waiting.wait();
        gone.cancel();
    });
    Ok(mount)
}
