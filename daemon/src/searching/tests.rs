use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use skills::catalog::{IndexOptions, Snapshot};
use skills::problem::{Problem, ProblemKind};
use skills::search::{SearchIndex, SearchOptions};
use tokio::sync::oneshot;

use super::{Build, Searcher};
use crate::cache::TokenCounts;
use crate::catalog::{self, Done, SourceUpdate, Updates};
use crate::journal::{Journal, SeenFile};
use crate::pins::Pins;

const DEADLINE: Duration = Duration::from_secs(20);

fn searcher(base: &Path, build: Build) -> (Updates, Searcher) {
    let seen = SeenFile::open(base, "test").unwrap();
    let journal = Journal::open(base, "test").unwrap();
    let counts = TokenCounts::default();
    let pins = Pins::open(base, "test");
    let (updates, snapshots) =
        catalog::start(IndexOptions::default(), seen, journal, pins, counts).unwrap();
    let searcher = Searcher::building_by(build, snapshots, SearchOptions::default());
    flush(&updates);
    (updates, searcher)
}

/// Waits until what was sent is published.
fn flush(updates: &Updates) {
    let (done, published) = oneshot::channel();
    let done = Done::new(move |generation| done.send(generation).unwrap());
    updates.send(SourceUpdate::Flush { done }).unwrap();
    published.blocking_recv().unwrap();
}

/// Publishes a snapshot that differs from the one before.
fn change(updates: &Updates, what: &str) {
    let problem = Problem::new(ProblemKind::Unreadable, what);
    let update = SourceUpdate::Problems {
        source: "test".into(),
        problems: vec![problem],
    };
    updates.send(update).unwrap();
    flush(updates);
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nothing_is_built_before_it_is_wanted_and_each_snapshot_once() {
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    fn build(
        previous: Option<&SearchIndex>,
        snapshot: &Snapshot,
        options: &SearchOptions,
    ) -> SearchIndex {
        BUILT.fetch_add(1, Ordering::SeqCst);
        // Long enough for the others to come while it is built.
        thread::sleep(Duration::from_millis(30));
        SearchIndex::build(previous, snapshot, options)
    }
    let base = tempfile::tempdir().unwrap();
    let (updates, searcher) = searcher(base.path(), build);
    assert!(searcher.try_index().is_none());
    assert_eq!(BUILT.load(Ordering::SeqCst), 0);
    let generations: Vec<_> = thread::scope(|scope| {
        let ask = || scope.spawn(|| searcher.index().generation());
        let asking: Vec<_> = std::iter::repeat_with(ask).take(4).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(BUILT.load(Ordering::SeqCst), 1);
    change(&updates, "one");
    let stale = searcher.try_index().unwrap().generation();
    assert!(generations.iter().all(|generation| *generation == stale));
    assert!(searcher.index().generation() > stale);
    assert_eq!(BUILT.load(Ordering::SeqCst), 2);
}

#[test]
fn what_is_published_is_built_in_the_background_until_the_catalog_ends() {
    let base = tempfile::tempdir().unwrap();
    let (updates, searcher) = searcher(base.path(), SearchIndex::build);
    let generation = || searcher.try_index().map(|index| index.generation());
    searcher.follow(None);
    wait_until("the first index", || generation().is_some());
    let first = generation();
    change(&updates, "one");
    change(&updates, "two");
    let newest = Some(searcher.0.snapshots.current().generation);
    wait_until("the index follows", || generation() == newest);
    assert_ne!(generation(), first);

    let built = searcher.current();
    let options = SearchOptions {
        lexical: true,
        ..SearchOptions::default()
    };
    searcher.set_options(options.clone());
    wait_until("the options are used", || searcher.0.fresh().is_some());
    assert!(!Arc::ptr_eq(&built, &searcher.current()));
    let built = searcher.current();
    searcher.set_options(options);
    assert!(
        Arc::ptr_eq(&built, &searcher.current()),
        "they are the same"
    );

    // The thread holds one of the receivers.
    assert_eq!(searcher.0.options.receiver_count(), 1);
    let (done, ended) = oneshot::channel();
    let done = Done::new(move |generation| done.send(generation).unwrap());
    updates.send(SourceUpdate::End { done }).unwrap();
    ended.blocking_recv().unwrap();
    wait_until("the thread ends", || {
        searcher.0.options.receiver_count() == 0
    });
}

#[test]
fn a_build_that_breaks_down_hangs_nobody() {
    fn build(_: Option<&SearchIndex>, _: &Snapshot, _: &SearchOptions) -> SearchIndex {
        panic!("a fault of the test")
    }
    let base = tempfile::tempdir().unwrap();
    let (_updates, searcher) = searcher(base.path(), build);
    searcher.follow(None);
    for _ in 0..3 {
        let asking = searcher.clone();
        assert!(thread::spawn(move || asking.index()).join().is_err());
    }
    assert!(searcher.try_index().is_none());
}

#[test]
fn after_a_build_that_breaks_down_the_index_before_stays() {
    fn build(
        previous: Option<&SearchIndex>,
        snapshot: &Snapshot,
        options: &SearchOptions,
    ) -> SearchIndex {
        assert!(previous.is_none(), "a fault of the test");
        SearchIndex::build(previous, snapshot, options)
    }
    let base = tempfile::tempdir().unwrap();
    let (updates, searcher) = searcher(base.path(), build);
    let first = searcher.index();
    change(&updates, "one");
    assert!(Arc::ptr_eq(&first, &searcher.index()));
}
