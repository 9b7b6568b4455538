//! A running daemon: its parts, the order in which they start, and the order in which they end.

mod once;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skills::problem::{Problem, ProblemKind};
use skills::server::{Phase, ServerState};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::config_watch::ConfigWatch;
use super::mirroring::Keeper;
use super::origin::Origin;
use super::output::{self, Librarian, Watcher};
use super::pinning;
use super::sources::Sources;
use super::{Event, Options, Output, first_listing, identity, internal};
use crate::access_log::AccessLog;
use crate::cache::{DefinitionCache, TokenCounts};
use crate::caller::Callers;
use crate::catalog::{self, Done, Snapshots, SourceUpdate, Updates};
use crate::config::Config;
use crate::control::{self, Context, Validators};
use crate::gate::Gate;
use crate::gate::remembered::Remembered;
use crate::instance;
use crate::journal::{self, Journal, SeenFile};
use crate::mount::{Mount, MountOptions};
use crate::pins::Pins;
use crate::protocol::About;
use crate::retention;
use crate::searching::Searcher;

/// How often it is looked whether definitions have become too old.
const LOOK_FOR_OLD: Duration = Duration::from_secs(60 * 60);

/// How long the catalog may take to write out what it keeps on disk.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// A daemon with its catalog complete as far as it is known without starting anything.
pub(super) struct Daemon {
    about: About,
    snapshots: Snapshots,
    searcher: Searcher,
    updates: Updates,
    sources: Arc<Sources>,
    gate: Arc<Gate>,
    log: AccessLog,
    journal: journal::Place,
    pins: Pins,
    callers: Arc<Callers>,
    /// After how long without a connection it ends when it shows nothing; `None` is never.
    idle: Option<Duration>,
    shutdown: CancellationToken,
}

/// Where the tree is shown by now.
enum Shown {
    Mounted(Arc<Mount>),
    Mirrored(Keeper),
    Nowhere,
}

impl Daemon {
    pub(super) async fn start(
        options: &Options,
        origin: Origin,
        config: &Config,
    ) -> Result<Self, Problem> {
        let directories = &options.surroundings.directories;
        let name = identity::configuration_of(options);
        let about = identity::about(options, config)?;
        if let Some(target) = options.output.target() {
            identity::refuse_roots_around(target, &about.skills)?;
        }
        if let Output::Mount { mount_point, .. } = &options.output {
            let (config, project) = (options.config.as_deref(), options.project.as_deref());
            identity::refuse_hidden_settings(mount_point, config, project)?;
        }

        let log = AccessLog::open(&directories.state.join("log"), &about.instance, config.log)?;
        let place = journal::Place::below(&directories.state, &about.catalog);
        let seen = SeenFile::open(&place.directory, &about.catalog)?;
        let journal = Journal::open(&place.directory, &about.catalog)?;
        let counts = TokenCounts::read(&directories.cache, &name);
        let pins = Pins::open(
            &directories.state,
            &identity::pins_name(options.config.as_deref()),
        );
        let (index, held) = (config.index, pins.clone());
        let (updates, snapshots) = catalog::start(index, seen, journal, held, counts)
            .map_err(|error| internal("the catalog's thread could not be started", &error))?;

        let cache = match DefinitionCache::open(&directories.cache, &name) {
            Ok(cache) => cache,
            Err(problem) => {
                let _ = updates.send(SourceUpdate::Problems {
                    source: "cache".into(),
                    problems: vec![problem],
                });
                DefinitionCache::unstored()?
            }
        };
        // Not waited for: nothing depends on it.
        tokio::spawn(retention::day_by_day(directories.clone()));
        let server_logs = identity::server_logs(&directories.state, options);
        let remembered = Remembered::below(&directories.state, &name);
        let gate = Arc::new(Gate::new(about.uid, remembered));
        let (to, policed) = (updates.clone(), Arc::clone(&gate));
        let read = (origin, config);
        let sources = Sources::start(options, read, server_logs, cache, to, policed).await;
        settle(&updates, |done| SourceUpdate::Flush { done }).await;
        Ok(Self {
            about,
            searcher: Searcher::start(snapshots.clone(), config.search.clone()),
            snapshots,
            updates,
            sources: Arc::new(sources),
            gate,
            log,
            journal: place,
            pins,
            callers: Arc::default(),
            idle: config.daemon.idle,
            shutdown: CancellationToken::new(),
        })
    }

    pub(super) async fn serve(
        &self,
        options: &Options,
        watch: Option<ConfigWatch>,
        started: Instant,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), Problem> {
        // Before there is a mount that a signal could leave behind.
        let ended = end_on_signals(self.shutdown.clone())?;
        let shown = match &options.output {
            Output::Mount {
                mount_point,
                allow_other,
                nonempty,
            } => {
                let mount_options = MountOptions {
                    instance: self.about.instance.clone(),
                    allow_other: *allow_other,
                    nonempty: *nonempty,
                };
                let (watcher, gone) = (self.watcher(), &self.shutdown);
                Shown::Mounted(output::mount(
                    mount_point,
                    &mount_options,
                    &self.snapshots,
                    watcher,
                    self.librarian(),
                    gone,
                )?)
            }
            Output::Mirror { target } => {
                let state = &options.surroundings.directories.state;
                let manifest = identity::manifest_path(state, target);
                let (snapshots, updates) = (&self.snapshots, &self.updates);
                let gone = &self.shutdown;
                Shown::Mirrored(Keeper::start(target, &manifest, snapshots, updates, gone)?)
            }
            Output::None => Shown::Nowhere,
            Output::MirrorOnce { target } => {
                return self.mirror_once(target, options, started, on_event).await;
            }
        };
        let attended = self.attend(options, &shown, watch, started, on_event).await;
        ended.abort();
        self.end(shown).await;
        let _ = attended?.await;
        Ok(())
    }

    /// Ends the output and the servers.
    async fn end(&self, shown: Shown) {
        match shown {
            // The mount goes first and does not wait for servers that are slow to end.
            Shown::Mounted(mount) => {
                let _ = tokio::task::spawn_blocking(move || mount.stop()).await;
                self.sources.servers.stop().await;
            }
            Shown::Mirrored(keeper) => {
                self.sources.servers.stop().await;
                keeper.stop(self.say_cold().await).await;
            }
            Shown::Nowhere => self.sources.servers.stop().await,
        }
    }

    /// Says of every server that it does not run, for what is left behind to be true; returns the generation that says so.
    async fn say_cold(&self) -> u64 {
        for (name, (_, state)) in &self.snapshots.current().sources.servers {
            if matches!(state.phase, Phase::Starting | Phase::Ready) {
                let state = ServerState {
                    phase: Phase::Cold,
                    stale: state.stale,
                };
                let name = name.clone();
                // The catalog ends after this.
                let _ = self.updates.send(SourceUpdate::State { name, state });
            }
        }
        settle(&self.updates, |done| SourceUpdate::Flush { done }).await
    }

    /// Answers requests until the shutdown; what is still being answered then ends with the task that is returned.
    async fn attend(
        &self,
        options: &Options,
        shown: &Shown,
        watch: Option<ConfigWatch>,
        started: Instant,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<JoinHandle<()>, Problem> {
        let runtime = &options.surroundings.directories.runtime;
        let (_registration, listener) = instance::register(runtime, &self.about)?;
        let listener = tokio::net::UnixListener::from_std(listener)
            .map_err(|error| internal("the control socket can't be used", &error))?;
        let context = Arc::new(Context {
            snapshots: self.snapshots.clone(),
            searcher: self.searcher.clone(),
            servers: self.sources.servers.clone(),
            gate: Arc::clone(&self.gate),
            log: self.log.clone(),
            journal: self.journal.clone(),
            pins: self.pins.clone(),
            updates: self.updates.clone(),
            callers: Arc::clone(&self.callers),
            about: self.about.clone(),
            runtime: runtime.clone(),
            shutdown: self.shutdown.clone(),
            validators: Validators::default(),
        });
        let idle = self.idle.filter(|_| matches!(shown, Shown::Nowhere));
        let serving = tokio::spawn(control::serve(listener, context, idle));

        self.first_listing(options.wait, on_event).await;
        match shown {
            Shown::Mounted(mount) => self.settle_mount(mount).await,
            Shown::Mirrored(keeper) => self.settle_mirror(keeper).await,
            Shown::Nowhere => {}
        }
        on_event(self.ready(self.about.mount_point.clone(), started));
        // Not sooner: it would take time from the start.
        self.searcher.follow(identity::index_cache(options));
        pinning::follow(&self.pins, &self.snapshots, &self.updates, &self.shutdown);

        if let Some(mut watch) = watch {
            let (sources, shutdown) = (Arc::clone(&self.sources), self.shutdown.clone());
            let searcher = self.searcher.clone();
            tokio::spawn(async move {
                while let Some(()) = tokio::select! {
                    change = watch.changed() => change,
                    () = shutdown.cancelled() => None,
                } {
                    sources.reload(&searcher);
                }
            });
        }
        tokio::select! {
            () = self.shutdown.cancelled() => Ok(serving),
            () = self.refresh_day_by_day() => Ok(serving),
            () = ended(self.snapshots.generations()) => Err(Problem::new(
                ProblemKind::Internal,
                "the catalog's thread broke off",
            )),
        }
    }

    /// Lists anew what has become a day old. Never ends.
    async fn refresh_day_by_day(&self) {
        let first = tokio::time::Instant::now() + LOOK_FOR_OLD;
        let mut hours = tokio::time::interval_at(first, LOOK_FOR_OLD);
        loop {
            hours.tick().await;
            self.sources.servers.refresh().await;
        }
    }

    /// Waits until the mount shows what the catalog has by now: what is announced must be what the next command reads.
    async fn settle_mount(&self, mount: &Arc<Mount>) {
        let (mount, snapshot) = (Arc::clone(mount), self.snapshots.current());
        let settled = tokio::task::spawn_blocking(move || {
            mount.publish(snapshot.generation, Arc::clone(&snapshot.tree));
            mount.settle(snapshot.generation);
        });
        let _ = settled.await;
    }

    /// The same for a mirror, whose own problems are announced, too.
    async fn settle_mirror(&self, keeper: &Keeper) {
        let flush = |done| SourceUpdate::Flush { done };
        let generation = settle(&self.updates, flush).await;
        tokio::select! {
            () = keeper.settle(generation) => {}
            () = self.shutdown.cancelled() => {}
        }
        settle(&self.updates, flush).await;
    }

    async fn first_listing(
        &self,
        wait: Duration,
        on_event: &mut dyn FnMut(Event),
    ) -> JoinHandle<()> {
        let servers = self.sources.servers.clone();
        first_listing::run(servers, &self.snapshots, wait, &self.shutdown, on_event).await
    }

    fn ready(&self, mount_point: Option<PathBuf>, started: Instant) -> Event {
        let snapshot = self.snapshots.current();
        Event::Ready {
            mount_point,
            entries: snapshot.entries.len(),
            problems: snapshot.problems().cloned().collect(),
            elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            pending: first_listing::pending(&self.snapshots),
        }
    }

    fn watcher(&self) -> Watcher {
        Watcher {
            callers: Arc::clone(&self.callers),
            log: self.log.clone(),
            sources: Arc::clone(&self.sources),
            updates: self.updates.clone(),
        }
    }

    fn librarian(&self) -> Librarian {
        Librarian {
            searcher: self.searcher.clone(),
            snapshots: self.snapshots.clone(),
        }
    }

    /// What must not be lost is written out last.
    pub(super) async fn stop(&self) {
        self.sources.servers.stop().await;
        // Bounded: a catalog that hangs must not keep the process.
        let end = settle(&self.updates, |done| SourceUpdate::End { done });
        if tokio::time::timeout(END_DEADLINE, end).await.is_err() {
            tracing::warn!("the catalog did not end in time");
        }
        tokio::task::block_in_place(|| self.log.close());
    }
}

/// Waits until nothing is published any more: the catalog's thread is gone.
async fn ended(mut generations: watch::Receiver<u64>) {
    while generations.changed().await.is_ok() {}
}

/// Waits until everything sent before is published, and returns the generation.
async fn settle(updates: &Updates, ask: fn(Done) -> SourceUpdate) -> u64 {
    let (done, published) = oneshot::channel();
    let done = Done::new(move |generation| {
        let _ = done.send(generation);
    });
    if updates.send(ask(done)).is_err() {
        return 0;
    }
    published.await.unwrap_or_default()
}

/// Cancels the token at SIGTERM, SIGINT or SIGHUP (a terminal that goes away).
fn end_on_signals(shutdown: CancellationToken) -> Result<JoinHandle<()>, Problem> {
    let listen = |kind| signal(kind).map_err(|error| internal("signals can't be handled", &error));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
        shutdown.cancel();
    }))
}
