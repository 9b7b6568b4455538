//! The MCP servers: started when needed, listed, called, stopped when idle.
//!
//! rmcp lives below this module and nowhere else.

mod calling;
mod connection;
mod envelope;
mod failure;
mod launcher;
mod lines;
mod listing;
mod server_log;
mod supervisor;
mod tap;
#[cfg(test)]
mod tests;
mod ticket;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::server::{Phase, Server, ServerState};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use self::launcher::{GuardLauncher, Launcher};
use self::supervisor::{Known, Message, Settings, Supervisor};
use crate::cache::{Cached, DefinitionCache, Freshness};
use crate::catalog::{SourceUpdate, Updates};
use crate::config::{Config, Launch, ServerConfig, Transport};
use crate::surroundings::Surroundings;

/// How many servers are started at once to be listed.
const STARTS_AT_ONCE: usize = 4;
/// After how long definitions are listed anew.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Every configured server.
#[derive(Clone)]
pub struct Servers(Arc<Shared>);

struct Shared {
    surroundings: Surroundings,
    launcher: Arc<dyn Launcher>,
    cache: DefinitionCache,
    updates: Updates,
    members: Mutex<BTreeMap<ServerName, Member>>,
}

/// One configured server.
enum Member {
    /// It can be started; a task looks after it.
    Supervised(Supervised),
    /// It can't, and why.
    Unavailable(Problem),
}

struct Supervised {
    launch: Launch,
    known: Known,
    freshness: Freshness,
    inbox: mpsc::UnboundedSender<Message>,
    settings: watch::Sender<Settings>,
    stopping: CancellationToken,
    task: JoinHandle<()>,
    log_path: PathBuf,
}

/// What a call needs beside the tool and its arguments.
#[derive(Debug)]
pub struct CallOptions {
    /// How long it may take, a start of the server included; `None` is the server's own setting, a start not included.
    pub timeout: Option<Duration>,
    /// Cancels the call at the server too.
    pub cancelled: CancellationToken,
    /// Where progress goes.
    pub progress: Option<mpsc::UnboundedSender<Progress>>,
}

/// Progress of a call as the server reported it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Progress {
    /// How far it is.
    pub progress: f64,
    /// Out of how much.
    pub total: Option<f64>,
    /// What it is doing.
    pub message: Option<String>,
}

/// What a server answered to `tools/call`.
#[derive(Debug)]
pub struct CallResult {
    /// The whole result object as the server sent it.
    pub raw: Box<RawValue>,
    /// `isError`.
    pub is_error: bool,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Expanded configurations hold secrets.
        f.debug_struct("Servers").finish_non_exhaustive()
    }
}

impl Servers {
    /// Makes the set of servers; nothing is started. Must be called inside a tokio runtime.
    pub fn new(surroundings: Surroundings, cache: DefinitionCache, updates: Updates) -> Self {
        let launcher = Arc::new(GuardLauncher {
            executable: surroundings.executable.clone(),
        });
        Self::with_launcher(surroundings, cache, updates, launcher)
    }

    fn with_launcher(
        surroundings: Surroundings,
        cache: DefinitionCache,
        updates: Updates,
        launcher: Arc<dyn Launcher>,
    ) -> Self {
        Self(Arc::new(Shared {
            surroundings,
            launcher,
            cache,
            updates,
            members: Mutex::default(),
        }))
    }

    /// Takes over a configuration: says every server to the catalog (from the cache where it knows them), stops those that are gone or
    /// were changed.
    pub async fn configure(&self, config: &Config) {
        let ended = {
            let mut members = self.members();
            let mut before = std::mem::take(&mut *members);
            let mut ended = Vec::new();
            for (name, server) in &config.servers {
                let (member, replaced) = self.0.member(config, name, server, before.remove(name));
                members.insert(name.clone(), member);
                ended.extend(replaced);
            }
            for (name, member) in before {
                let _ = self.0.updates.send(SourceUpdate::Removed { name });
                ended.push(member);
            }
            ended
        };
        stop_all(ended).await;
    }

    /// Lists the servers whose definitions are missing, stale or a day old, four at a time, and stops them again. Returns when all
    /// were tried.
    pub async fn refresh(&self) {
        let permits = Arc::new(Semaphore::new(STARTS_AT_ONCE));
        let mut tasks = JoinSet::new();
        let now = SystemTime::now();
        for member in self.members().values() {
            if let Member::Supervised(server) = member
                && server.needs_refresh(now)
            {
                let (inbox, permits) = (server.inbox.clone(), Arc::clone(&permits));
                tasks.spawn(async move {
                    let _permit = permits.acquire().await;
                    let (done, refreshed) = oneshot::channel();
                    // A task that was stopped meanwhile drops its end, and that will do.
                    if inbox.send(Message::Refresh(done)).is_ok() {
                        let _ = refreshed.await;
                    }
                });
            }
        }
        tasks.join_all().await;
    }

    /// Calls a tool, starting its server when it does not run.
    ///
    /// # Errors
    /// `Server`, `TimedOut`, `Interrupted` and, for a protocol error of the server, `ToolError`; never a guess.
    pub async fn call(
        &self,
        server: &ServerName,
        tool: &str,
        arguments: Map<String, Value>,
        options: CallOptions,
    ) -> Result<CallResult, Problem> {
        let call = {
            let members = self.members();
            let member = members.get(server).ok_or_else(|| {
                let message = format!("there is no server {server} in the configuration");
                Problem::new(ProblemKind::NotFound, message)
            })?;
            match member {
                Member::Unavailable(problem) => return Err(problem.clone()),
                Member::Supervised(supervised) => calling::Call {
                    server: server.clone(),
                    tool: tool.to_owned(),
                    arguments,
                    inbox: supervised.inbox.clone(),
                    settings: supervised.settings.borrow().clone(),
                    log_path: supervised.log_path.clone(),
                },
            }
        };
        call.run_to_end(options).await
    }

    /// Stops every server and waits until nothing is left of them.
    pub async fn stop(&self) {
        let members = std::mem::take(&mut *self.members());
        stop_all(members.into_values()).await;
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<ServerName, Member>> {
        // Members are put in and taken out whole, so a panic elsewhere does not spoil them.
        self.0
            .members
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// The member for one entry of the configuration: the one from before when nothing that matters changed. With it comes
    /// the one from before when it must be ended.
    fn member(
        &self,
        config: &Config,
        name: &ServerName,
        server: &ServerConfig,
        before: Option<Member>,
    ) -> (Member, Option<Member>) {
        let path = config.path.as_deref().unwrap_or(Path::new(""));
        let launch = match &server.transport {
            _ if server.disabled => {
                Err(failure::server(name, "it is disabled in the configuration"))
            }
            Transport::Stdio(_) => server.launch(name, path, &self.surroundings.environment),
            Transport::Http { .. } => {
                Err(failure::server(name, "HTTP servers are not supported yet"))
            }
            Transport::Invalid(problem) => Err(problem.clone()),
        };
        match (launch, before) {
            (Ok(launch), Some(Member::Supervised(same))) if same.launch == launch => {
                same.settings.send_replace(Settings::of(server));
                (Member::Supervised(same), None)
            }
            (Ok(launch), before) => {
                let supervised = self.supervise(name, server, launch, before);
                (Member::Supervised(supervised), None)
            }
            (Err(problem), before) => {
                self.say_unavailable(name, path, server.disabled, &problem, before.as_ref());
                (Member::Unavailable(problem), before)
            }
        }
    }

    fn say_unavailable(
        &self,
        name: &ServerName,
        path: &Path,
        disabled: bool,
        problem: &Problem,
        before: Option<&Member>,
    ) {
        let directory = path.parent().unwrap_or(path).to_owned();
        if disabled {
            // The tools of a disabled server are not on the shelf.
            let (phase, stale) = (Phase::Disabled, None);
            let state = ServerState { phase, stale };
            return self.say(name, directory, None, Vec::new(), state);
        }
        let cached = self.last_known(name, before);
        let state = ServerState {
            phase: Phase::Failed(problem.message.clone()),
            stale: cached.as_ref().map(|cached| cached.listed),
        };
        self.say(name, directory, cached, vec![problem.clone()], state);
    }

    fn supervise(
        &self,
        name: &ServerName,
        server: &ServerConfig,
        launch: Launch,
        before: Option<Member>,
    ) -> Supervised {
        let freshness = self.cache.freshness(&launch, connection::CAPABILITIES);
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
            .map_or_else(Vec::new, |c| c.problems.clone());
        self.say(
            name,
            launch.directory.clone(),
            cached.clone(),
            problems,
            state.clone(),
        );
        let predecessor = match before {
            Some(Member::Supervised(before)) => {
                before.stopping.cancel();
                Some(before.task)
            }
            Some(Member::Unavailable(_)) | None => None,
        };
        let known = Known::new(cached);
        let (inbox, messages) = mpsc::unbounded_channel();
        let (settings, settings_read) = watch::channel(Settings::of(server));
        let stopping = CancellationToken::new();
        let file = format!("{}.log", skills::names::encode(name.as_str()));
        let log_path = self
            .surroundings
            .directories
            .state
            .join("servers")
            .join(file);
        let supervisor = Supervisor {
            name: name.clone(),
            launch: launch.clone(),
            freshness,
            launcher: Arc::clone(&self.launcher),
            cache: self.cache.clone(),
            updates: self.updates.clone(),
            log_path: log_path.clone(),
            known: known.clone(),
            state,
            settings: settings_read,
            stopping: stopping.clone(),
            in_use: watch::Sender::new(0),
        };
        Supervised {
            launch,
            known,
            freshness,
            inbox,
            settings,
            stopping,
            task: tokio::spawn(supervisor.run(messages, predecessor)),
            log_path,
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
        directory: PathBuf,
        cached: Option<Cached>,
        problems: Vec<Problem>,
        state: ServerState,
    ) {
        let server = Arc::new(Server {
            name: name.clone(),
            directory,
            definitions: cached.map(|cached| cached.definitions),
        });
        let name = name.clone();
        // The catalog outlives the servers; when it is gone, nobody looks any more.
        let _ = self.updates.send(SourceUpdate::Server { server, problems });
        let _ = self.updates.send(SourceUpdate::State { name, state });
    }
}

impl Supervised {
    fn needs_refresh(&self, now: SystemTime) -> bool {
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
        }
    }
}

async fn stop_all(members: impl IntoIterator<Item = Member>) {
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
