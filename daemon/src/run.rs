//! The daemon's life: from its options to a running catalog, socket and output, and back to nothing.

mod config_watch;
mod output;
mod sources;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use skills::discovery::SkillRoot;
use skills::problem::{Problem, ProblemKind};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::access_log::AccessLog;
use crate::cache::DefinitionCache;
use crate::caller::Callers;
use crate::catalog::{self, Done, Snapshots, SourceUpdate, Updates};
use crate::config::Config;
use crate::control::{self, Context, Validators};
use crate::instance;
use crate::journal::{Journal, SeenFile};
use crate::mirror;
use crate::mount::{Mount, MountOptions};
use crate::protocol::{About, OutputKind};
use crate::run::config_watch::ConfigWatch;
use crate::run::output::Watcher;
use crate::run::sources::Sources;
use crate::surroundings::Surroundings;

/// What a daemon is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it is given of the machine.
    pub surroundings: Surroundings,
    /// The configuration file; absolute.
    pub config: Option<PathBuf>,
    /// The skill roots beside those of the configuration, in order of precedence; absolute.
    pub skills: Vec<SkillRoot>,
    /// Where the tree is shown.
    pub output: Output,
    /// How long the first listing of unknown servers may hold up [`Event::Ready`].
    pub wait: Duration,
}

/// Where the tree is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// A FUSE mount, until the daemon is stopped.
    Mount {
        /// Where.
        mount_point: PathBuf,
        /// Whether other users may read it.
        allow_other: bool,
        /// Whether the directory may have contents, which the mount then hides.
        nonempty: bool,
    },
    /// Plain files, written once.
    MirrorOnce {
        /// Where.
        target: PathBuf,
    },
    /// Nowhere: catalog and socket alone.
    None,
}

impl Output {
    /// The directory where the tree is shown.
    fn target(&self) -> Option<&Path> {
        match self {
            Self::Mount { mount_point, .. } => Some(mount_point),
            Self::MirrorOnce { target } => Some(target),
            Self::None => None,
        }
    }
}

/// What the daemon says while it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// Something goes on.
    Progress {
        /// What.
        message: String,
    },
    /// Everything can be read. Said once.
    Ready {
        /// The mount point or the mirror's target.
        mount_point: Option<PathBuf>,
        /// How many entries there are.
        entries: usize,
        /// What was skipped or is wrong.
        problems: Vec<Problem>,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
        /// The servers whose definitions are not known yet.
        pending: Vec<String>,
    },
}

/// Runs a daemon until it is shut down: by SIGTERM, SIGINT, a `stop` request or the end of its mount.
///
/// # Errors
/// Whatever keeps it from becoming ready.
pub fn run(options: Options, on_event: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| internal("the runtime could not be started", &error))?;
    let result = runtime.block_on(live(options, on_event));
    // Whatever still blocks by now (a notifier whose mount hangs) must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn live(options: Options, on_event: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    let started = Instant::now();
    // Before the file is read, so that no change is missed.
    let watch = options.config.as_deref().and_then(ConfigWatch::start);
    let config = sources::load(options.config.as_deref(), &options.surroundings.environment)?;
    let daemon = Daemon::start(&options, &config).await?;
    let result = daemon.serve(&options, watch, started, on_event).await;
    daemon.stop().await;
    result
}

/// A daemon with its catalog complete as far as it is known without starting anything.
struct Daemon {
    about: About,
    snapshots: Snapshots,
    updates: Updates,
    sources: Arc<Sources>,
    log: AccessLog,
    callers: Arc<Callers>,
    shutdown: CancellationToken,
}

impl Daemon {
    async fn start(options: &Options, config: &Config) -> Result<Self, Problem> {
        let directories = &options.surroundings.directories;
        let name = configuration_name(options);
        let about = about(options, config)?;
        if let Some(target) = options.output.target() {
            refuse_roots_around(target, &about.skills)?;
        }

        let log = AccessLog::open(&directories.state.join("log"), &about.instance, config.log)?;
        let kept = directories.state.join("catalogs");
        let (seen, journal) = (SeenFile::open(&kept, &name)?, Journal::open(&kept, &name)?);
        let (updates, snapshots) = catalog::start(config.index, seen, journal)
            .map_err(|error| internal("the catalog's thread could not be started", &error))?;

        let cache = DefinitionCache::open(&directories.cache, &name)?;
        let (given, surroundings) = (options.skills.clone(), options.surroundings.clone());
        let sources = Sources::start(config, given, surroundings, cache, updates.clone()).await;
        settle(&updates, |done| SourceUpdate::Flush { done }).await;
        Ok(Self {
            about,
            snapshots,
            updates,
            sources: Arc::new(sources),
            log,
            callers: Arc::default(),
            shutdown: CancellationToken::new(),
        })
    }

    async fn serve(
        &self,
        options: &Options,
        watch: Option<ConfigWatch>,
        started: Instant,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), Problem> {
        // Before there is a mount that a signal could leave behind.
        let ended = end_on_signals(self.shutdown.clone())?;
        let mount = match &options.output {
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
                Some(output::mount(
                    mount_point,
                    &mount_options,
                    &self.snapshots,
                    watcher,
                    gone,
                )?)
            }
            Output::None => None,
            Output::MirrorOnce { target } => {
                return self.mirror_once(target, options, started, on_event).await;
            }
        };
        let attended = self
            .attend(options, mount.as_ref(), watch, started, on_event)
            .await;
        ended.abort();
        // The mount goes first and does not wait for servers that are slow to end.
        if let Some(mount) = mount {
            let _ = tokio::task::spawn_blocking(move || mount.stop()).await;
        }
        self.sources.servers.stop().await;
        let _ = attended?.await;
        Ok(())
    }

    /// Answers requests until the shutdown; what is still being answered then ends with the task that is returned.
    async fn attend(
        &self,
        options: &Options,
        mount: Option<&Arc<Mount>>,
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
            servers: self.sources.servers.clone(),
            log: self.log.clone(),
            callers: Arc::clone(&self.callers),
            about: self.about.clone(),
            runtime: runtime.clone(),
            shutdown: self.shutdown.clone(),
            validators: Validators::default(),
        });
        let serving = tokio::spawn(control::serve(listener, context));

        self.first_listing(options.wait, on_event).await;
        if let Some(mount) = mount {
            self.settle_mount(mount).await;
        }
        on_event(self.ready(self.about.mount_point.clone(), started));

        if let Some(mut watch) = watch {
            let (sources, shutdown) = (Arc::clone(&self.sources), self.shutdown.clone());
            tokio::spawn(async move {
                while let Some(()) = tokio::select! {
                    change = watch.changed() => change,
                    () = shutdown.cancelled() => None,
                } {
                    sources.reload().await;
                }
            });
        }
        self.shutdown.cancelled().await;
        Ok(serving)
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

    /// Lists the servers that need it, and waits for those of which nothing is known yet; the others are listed when the task ends.
    async fn first_listing(
        &self,
        wait: Duration,
        on_event: &mut dyn FnMut(Event),
    ) -> JoinHandle<()> {
        let servers = self.sources.servers.clone();
        let listing = tokio::spawn(async move { servers.refresh().await });
        let mut generations = self.snapshots.generations();
        let deadline = tokio::time::Instant::now() + wait;
        let mut said = usize::MAX;
        loop {
            let pending = self.pending();
            if pending.is_empty() {
                return listing;
            }
            if pending.len() != said {
                said = pending.len();
                let message = format!(
                    "asking {} for their tools: {}",
                    count(said),
                    pending.join(", ")
                );
                on_event(Event::Progress { message });
            }
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return listing },
                () = tokio::time::sleep_until(deadline) => return listing,
                () = self.shutdown.cancelled() => return listing,
            }
        }
    }

    /// The servers that may still answer: definitions unknown, and neither failed nor disabled.
    fn pending(&self) -> Vec<String> {
        use skills::server::Phase;
        let snapshot = self.snapshots.current();
        let unknown = snapshot.sources.servers.values().filter(|(server, state)| {
            server.definitions.is_none()
                && !matches!(state.phase, Phase::Failed(_) | Phase::Disabled)
        });
        unknown.map(|(server, _)| server.name.to_string()).collect()
    }

    fn ready(&self, mount_point: Option<PathBuf>, started: Instant) -> Event {
        let snapshot = self.snapshots.current();
        Event::Ready {
            mount_point,
            entries: snapshot.entries.len(),
            problems: snapshot.problems().cloned().collect(),
            elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            pending: self.pending(),
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

    async fn mirror_once(
        &self,
        target: &Path,
        options: &Options,
        started: Instant,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), Problem> {
        let deadline = tokio::time::Instant::now() + options.wait;
        let listing = self.first_listing(options.wait, on_event).await;
        // There is no later: what is known, but old, is waited for too, and so is the end of the servers, that STATUS says.
        tokio::select! {
            _ = tokio::time::timeout_at(deadline, listing) => {}
            () = self.shutdown.cancelled() => {}
        }
        if self.shutdown.is_cancelled() {
            return Err(Problem::new(
                ProblemKind::Interrupted,
                "interrupted; nothing was written",
            ));
        }
        settle(&self.updates, |done| SourceUpdate::Flush { done }).await;
        let tree = Arc::clone(&self.snapshots.current().tree);
        let manifest = manifest_path(&options.surroundings.directories.state, target);
        let report = tokio::task::block_in_place(|| mirror::write_once(&tree, target, &manifest))?;
        let Event::Ready {
            mount_point,
            entries,
            mut problems,
            elapsed_ms,
            pending,
        } = self.ready(Some(target.to_owned()), started)
        else {
            return Ok(());
        };
        problems.extend(report.problems);
        on_event(Event::Ready {
            mount_point,
            entries,
            problems,
            elapsed_ms,
            pending,
        });
        Ok(())
    }

    /// What must not be lost is written out last.
    async fn stop(&self) {
        self.sources.servers.stop().await;
        settle(&self.updates, |done| SourceUpdate::End { done }).await;
        tokio::task::block_in_place(|| self.log.close());
    }
}

/// Refuses a skill root that contains the place where the tree is shown: the daemon would find its own output below it.
fn refuse_roots_around(target: &Path, roots: &[PathBuf]) -> Result<(), Problem> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let target = real(target);
    match roots.iter().find(|root| target.starts_with(real(root))) {
        None => Ok(()),
        Some(root) => Err(Problem::new(
            ProblemKind::Usage,
            format!(
                "the skill root {} contains the place of the shelf",
                root.display()
            ),
        )
        .at_file(target, None)
        .hint("choose a place elsewhere, or name the directories below the root one by one")),
    }
}

/// Waits until everything sent before is published.
async fn settle(updates: &Updates, ask: fn(Done) -> SourceUpdate) {
    let (done, published) = oneshot::channel();
    let done = Done::new(move |generation| {
        let _ = done.send(generation);
    });
    if updates.send(ask(done)).is_ok() {
        let _ = published.await;
    }
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

/// What tells the state of one configuration from that of another: a hash of its canonical path, or of the roots alone.
fn configuration_name(options: &Options) -> String {
    let mut hasher = blake3::Hasher::new();
    match &options.config {
        Some(config) => {
            let path = config.canonicalize().unwrap_or_else(|_| config.clone());
            hasher.update(path.as_os_str().as_encoded_bytes());
        }
        None => {
            for root in &options.skills {
                hasher
                    .update(root.path.as_os_str().as_encoded_bytes())
                    .update(b"\0");
            }
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Where it stands what the mirror wrote to a directory.
fn manifest_path(state: &Path, target: &Path) -> PathBuf {
    let hash = blake3::hash(target.as_os_str().as_encoded_bytes()).to_hex();
    state
        .join("mirrors")
        .join(format!("{}.manifest", &hash[..16]))
}

fn about(options: &Options, config: &Config) -> Result<About, Problem> {
    let (mount_point, output) = match &options.output {
        Output::Mount { mount_point, .. } => (Some(mount_point.clone()), OutputKind::Mount),
        Output::MirrorOnce { .. } => (None, OutputKind::Mirror),
        Output::None => (None, OutputKind::None),
    };
    let instance = instance::new_id()?;
    Ok(About {
        log: options.surroundings.directories.state.join("log"),
        instance,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        uid: rustix::process::geteuid().as_raw(),
        started: jiff::Timestamp::now(),
        config: options
            .config
            .as_ref()
            .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())),
        skills: options
            .skills
            .iter()
            .chain(&config.skills)
            .map(|root| root.path.clone())
            .collect(),
        mount_point,
        output,
    })
}

fn count(servers: usize) -> String {
    if servers == 1 {
        "1 server".to_owned()
    } else {
        format!("{servers} servers")
    }
}

fn internal(message: &str, error: &std::io::Error) -> Problem {
    Problem::new(ProblemKind::Internal, format!("{message}: {error}"))
}
