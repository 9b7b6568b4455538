//! The members of the set of servers, and what becomes of them when the configuration changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::{Phase, Server, ServerState};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::handle::{Attempt, Handle};
use super::history::History;
use super::http::SharedClient;
use super::instances::Instances;
use super::launcher::Launcher;
use super::supervisor::{Backoff, Known, Role, Settings, Supervisor};
use super::{failure, questions};
use crate::cache::{Cached, DefinitionCache, Freshness};
use crate::catalog::{SourceUpdate, Updates};
use crate::config::{Access, Config, ServerConfig, Share};
use crate::surroundings::Surroundings;

/// After how long definitions are listed anew.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What all members share, and the members.
pub(super) struct Shared {
    /// Where the servers' own logs are.
    pub(super) logs: PathBuf,
    pub(super) surroundings: Surroundings,
    pub(super) launcher: Arc<dyn Launcher>,
    pub(super) client: Arc<SharedClient>,
    pub(super) cache: DefinitionCache,
    pub(super) updates: Updates,
    pub(super) members: Mutex<BTreeMap<ServerName, Member>>,
    /// Those that are no members any more and may still answer their last calls.
    pub(super) leaving: Mutex<BTreeMap<ServerName, JoinHandle<()>>>,
    /// Cancelled when all of them are to end: then no call is waited for.
    pub(super) ending: CancellationToken,
}

/// One configured server.
pub(super) enum Member {
    /// It can be started; a task looks after it.
    Supervised(Box<Supervised>),
    /// It can't, and why.
    Unavailable(Problem),
}

/// A server that can be started, and its task.
pub(super) struct Supervised {
    access: Access,
    roots: Vec<PathBuf>,
    known: Known,
    freshness: Freshness,
    pub(super) handle: Handle,
    /// Those of single sessions.
    pub(super) instances: Arc<Instances>,
    pub(super) settings: watch::Sender<Settings>,
    pub(super) stopping: CancellationToken,
    task: JoinHandle<()>,
}

impl Shared {
    /// The member for one entry of the configuration: the one from before when nothing that matters changed, else the one
    /// from before is on its way out.
    pub(super) fn member(
        &self,
        config: &Config,
        name: &ServerName,
        server: &ServerConfig,
        before: Option<Member>,
    ) -> Member {
        let path = config.file_of(name);
        let environment = &self.surroundings.environment;
        let access = if server.disabled {
            Err(failure::server(name, "it is disabled in the configuration"))
        } else {
            let access = server.access(name, path, environment);
            access.and_then(|access| Ok((access, server.roots(name, path, environment)?)))
        };
        match (access, before) {
            (Ok((access, roots)), Some(Member::Supervised(same)))
                if same.access == access && same.roots == roots =>
            {
                same.settings.send_replace(Settings::of(server));
                Member::Supervised(same)
            }
            (Ok(access), before) => {
                Member::Supervised(Box::new(self.supervise(name, server, access, before)))
            }
            (Err(problem), before) => {
                self.say_unavailable(name, path, server, &problem, before.as_ref());
                if let Some(before) = before {
                    self.dismiss(name, before);
                }
                Member::Unavailable(problem)
            }
        }
    }

    /// Lets a member go: it takes no more calls, and ends when it has answered those that it has.
    pub(super) fn dismiss(&self, name: &ServerName, member: Member) {
        if let Member::Supervised(server) = member {
            server.stopping.cancel();
            self.leaving().insert(name.clone(), server.task);
        }
    }

    pub(super) fn leaving(&self) -> MutexGuard<'_, BTreeMap<ServerName, JoinHandle<()>>> {
        // Handles are put in and taken out whole, so a panic elsewhere does not spoil them.
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say_unavailable(
        &self,
        name: &ServerName,
        path: &Path,
        server: &ServerConfig,
        problem: &Problem,
        before: Option<&Member>,
    ) {
        let directory = server.transport.directory(path.parent().unwrap_or(path));
        if server.disabled {
            // The tools of a disabled server are not on the shelf.
            let (phase, stale) = (Phase::Disabled, None);
            let state = ServerState { phase, stale };
            return self.say(name, (directory, Vec::new()), None, Vec::new(), state);
        }
        let cached = self.last_known(name, before);
        let state = ServerState {
            phase: Phase::Failed(problem.message.clone()),
            stale: cached.as_ref().map(|cached| cached.listed),
        };
        self.say(
            name,
            (directory, Vec::new()),
            cached,
            vec![problem.clone()],
            state,
        );
    }

    fn supervise(
        &self,
        name: &ServerName,
        server: &ServerConfig,
        (access, roots): (Access, Vec<PathBuf>),
        before: Option<Member>,
    ) -> Supervised {
        let freshness = self
            .cache
            .freshness(&access, &questions::fingerprint(&roots));
        let cached = self.last_known(name, before.as_ref());
        let stale = cached
            .as_ref()
            .filter(|cached| cached.freshness != freshness)
            .map(|cached| cached.listed);
        let state = ServerState {
            phase: Phase::Cold,
            stale,
        };
        let problems = cached
            .as_ref()
            .map_or_else(Vec::new, |cached| cached.problems.clone());
        self.say(
            name,
            (access.directory().map(Path::to_owned), roots.clone()),
            cached.clone(),
            problems,
            state.clone(),
        );
        let (predecessor, history): (_, History) = match before {
            Some(Member::Supervised(before)) => {
                before.stopping.cancel();
                (Some(before.task), before.handle.history)
            }
            Some(Member::Unavailable(_)) | None => {
                (self.leaving().remove(name), History::default())
            }
        };
        history.set_phase(Phase::Cold);
        let known = Known::new(cached);
        let (settings, settings_read) = watch::channel(Settings::of(server));
        let stopping = CancellationToken::new();
        let file = format!("{}.log", skills::names::encode(name.as_str()));
        let log_path = self.logs.join(file);
        let supervisor = Supervisor {
            role: Role::Listing,
            name: name.clone(),
            access: access.clone(),
            roots: roots.clone(),
            freshness,
            launcher: Arc::clone(&self.launcher),
            client: Arc::clone(&self.client),
            cache: self.cache.clone(),
            updates: self.updates.clone(),
            log_path,
            known: known.clone(),
            state,
            settings: settings_read,
            stopping: stopping.clone(),
            ending: self.ending.clone(),
            history,
            in_use: watch::Sender::new(0),
            attempt: Attempt::default(),
            backoff: Backoff::default(),
        };
        let pattern = supervisor.for_session(supervisor.log_path.clone(), History::default());
        let instances = Arc::new(Instances::new(pattern));
        let (handle, task) = supervisor.spawn(predecessor);
        let of_sessions = Arc::clone(&instances);
        let task = tokio::spawn(async move {
            // A task that panicked has nothing left to wait for.
            let _ = task.await;
            of_sessions.ended().await;
        });
        Supervised {
            access,
            roots,
            known,
            freshness,
            handle,
            instances,
            settings,
            stopping,
            task,
        }
    }

    /// The definitions that are shown now, else those on disk.
    fn last_known(&self, name: &ServerName, before: Option<&Member>) -> Option<Cached> {
        match before {
            Some(Member::Supervised(before)) => before.known.get().clone(),
            Some(Member::Unavailable(_)) | None => self.cache.load(name),
        }
    }

    fn say(
        &self,
        name: &ServerName,
        (directory, roots): (Option<PathBuf>, Vec<PathBuf>),
        cached: Option<Cached>,
        problems: Vec<Problem>,
        state: ServerState,
    ) {
        let server = Arc::new(Server {
            name: name.clone(),
            directory,
            roots,
            definitions: cached.map(|cached| cached.definitions),
        });
        let name = name.clone();
        // The catalog outlives the servers; when it is gone, nobody looks any more.
        let _ = self.updates.send(SourceUpdate::Server { server, problems });
        let _ = self.updates.send(SourceUpdate::State { name, state });
    }
}

impl Supervised {
    /// The way to the instance that a session calls.
    pub(super) fn handle_for(&self, session: &str) -> Result<Handle, Problem> {
        match self.settings.borrow().share {
            Share::All => Ok(self.handle.clone()),
            Share::Session => self.instances.of(session),
        }
    }

    /// Whether its definitions are missing, stale or too old.
    pub(super) fn needs_refresh(&self, now: SystemTime) -> bool {
        self.known.get().as_ref().is_none_or(|known| {
            let age = now.duration_since(known.listed).unwrap_or_default();
            known.freshness != self.freshness || age > MAX_AGE
        })
    }
}

impl Settings {
    fn of(server: &ServerConfig) -> Self {
        Self {
            start_timeout: server.start_timeout,
            timeout: server.timeout,
            idle: server.idle,
            share: server.share,
            restart: server.restart,
        }
    }
}

/// Ends servers and waits until nothing is left of them.
pub(super) async fn stop_all(members: impl IntoIterator<Item = Member>) {
    let mut tasks = Vec::new();
    for member in members {
        if let Member::Supervised(server) = member {
            server.stopping.cancel();
            tasks.push(server.task);
        }
    }
    for task in tasks {
        // A task that panicked has nothing left to wait for.
        let _ = task.await;
    }
}
