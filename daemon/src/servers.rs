//! The MCP servers: started when needed, listed, called, stopped when idle.
//!
//! rmcp lives below this module and nowhere else.

mod asked;
mod asking;
mod calling;
mod connection;
mod envelope;
mod failure;
mod far_end;
mod handle;
mod history;
mod http;
mod input;
mod instances;
mod launcher;
mod lines;
mod listing;
mod member;
mod questions;
mod report;
mod server_log;
mod settling;
mod supervisor;
mod tap;
#[cfg(test)]
mod tests;
mod ticket;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::asked::Asked;
pub use self::asking::{Elicited, Inquiry};
use self::http::SharedClient;
use self::launcher::{GuardLauncher, Launcher};
use self::member::{Member, Shared, stop_all};
pub(crate) use self::report::Report;
use self::supervisor::Message;
use crate::cache::DefinitionCache;
use crate::catalog::{SourceUpdate, Updates};
use crate::config::{Config, ServerConfig};
use crate::surroundings::Surroundings;

/// How many servers are started at once to be listed.
const STARTS_AT_ONCE: usize = 4;

/// Every configured server.
#[derive(Clone)]
pub struct Servers(Arc<Shared>);

/// What a call needs beside the tool and its arguments.
#[derive(Debug)]
pub struct CallOptions {
    /// How long it may take, a start of the server included; `None` is the server's own setting, a start not included.
    pub timeout: Option<Duration>,
    /// Cancels the call at the server too.
    pub cancelled: CancellationToken,
    /// Where progress goes.
    pub progress: Option<mpsc::UnboundedSender<Progress>>,
    /// Where what the server asks goes; without it nobody is asked.
    pub questions: Option<mpsc::UnboundedSender<Inquiry>>,
    /// Who calls; empty when nobody knows.
    pub session: String,
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

/// What a server answered to a call, or to whatever else was asked of it.
#[derive(Debug)]
pub struct CallResult {
    /// The whole result object as the server sent it.
    pub raw: Box<RawValue>,
    /// `isError`.
    pub is_error: bool,
    /// Why what this session did at the server before is gone.
    pub state_lost: Option<String>,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Expanded configurations hold secrets.
        f.debug_struct("Servers").finish_non_exhaustive()
    }
}

/// One entry of a configuration, with what was made of it before.
type Entry<'a> = (&'a ServerName, &'a ServerConfig, Option<Member>);

impl Servers {
    /// Makes the set of servers; nothing is started. What they write to their standard error goes below `logs`. Must be
    /// called inside a tokio runtime.
    pub fn new(
        surroundings: Surroundings,
        logs: PathBuf,
        cache: DefinitionCache,
        updates: Updates,
    ) -> Self {
        let launcher = Arc::new(GuardLauncher {
            executable: surroundings.executable.clone(),
        });
        Self::with_launcher(surroundings, logs, cache, updates, launcher)
    }

    fn with_launcher(
        surroundings: Surroundings,
        logs: PathBuf,
        cache: DefinitionCache,
        updates: Updates,
        launcher: Arc<dyn Launcher>,
    ) -> Self {
        let client = Arc::new(SharedClient::new(surroundings.environment.clone()));
        Self(Arc::new(Shared {
            client,
            surroundings,
            logs,
            launcher,
            cache,
            updates,
            members: Mutex::default(),
            leaving: Mutex::default(),
            ending: CancellationToken::new(),
        }))
    }

    /// Takes over a configuration: says every server to the catalog (from the cache where it knows them), stops those that are gone or
    /// were changed, as soon as they have answered the calls that they have.
    pub fn configure(&self, config: &Config) {
        let mut members = self.members();
        let mut before = std::mem::take(&mut *members);
        let entries: Vec<_> = config
            .servers
            .iter()
            .map(|(name, server)| (name, server, before.remove(name)))
            .collect();
        for (name, member) in self.take_over(config, entries) {
            members.insert(name.clone(), member);
        }
        for (name, member) in before {
            self.0.dismiss(&name, member);
            let _ = self.0.updates.send(SourceUpdate::Removed { name });
        }
    }

    /// Makes the members of some entries, on every core: most of the time goes into reading cached definitions.
    fn take_over<'a>(
        &self,
        config: &Config,
        mut entries: Vec<Entry<'a>>,
    ) -> Vec<(&'a ServerName, Member)> {
        let runtime = &tokio::runtime::Handle::current();
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let share = entries.len().div_ceil(cores).max(1);
        thread::scope(|scope| {
            let mut workers = Vec::new();
            while !entries.is_empty() {
                let part = entries.split_off(entries.len().saturating_sub(share));
                workers.push(scope.spawn(move || {
                    let _runtime = runtime.enter();
                    let member = |(name, server, before): Entry<'a>| {
                        (name, self.0.member(config, name, server, before))
                    };
                    part.into_iter().map(member).collect::<Vec<_>>()
                }));
            }
            let members = workers.into_iter().map(|worker| worker.join());
            members
                .flat_map(|members| members.expect("reading a cache does not panic"))
                .collect()
        })
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
                let (inbox, permits) = (server.handle.inbox.clone(), Arc::clone(&permits));
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

    /// Asks a server for its tools that failed when it was asked last, unless that was just now. `None` when it can't be started
    /// at all.
    pub(crate) async fn ask_again(&self, server: &ServerName) -> Option<Result<(), Problem>> {
        let inbox = match self.members().get(server)? {
            Member::Supervised(server) => server.handle.inbox.clone(),
            Member::Unavailable(_) => return None,
        };
        let (done, asked) = oneshot::channel();
        inbox.send(Message::Refresh(done)).ok()?;
        asked.await.ok()
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
        let name = tool.to_owned();
        let asked = Asked::Tool { name, arguments };
        self.ask(server, asked, options).await
    }

    /// Asks a server for something, starting it when it does not run.
    ///
    /// # Errors
    /// As [`Servers::call`]; `NotFound` where the server says that there is no such resource.
    pub async fn ask(
        &self,
        server: &ServerName,
        asked: Asked,
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
                    asked,
                    handle: supervised.handle_for(&options.session)?,
                    session: options.session.clone(),
                    settings: supervised.settings.borrow().clone(),
                    stopping: supervised.stopping.clone(),
                    ending: self.0.ending.clone(),
                },
            }
        };
        call.run_to_end(options).await
    }

    /// Stops every server and waits until nothing is left of them.
    pub async fn stop(&self) {
        self.0.ending.cancel();
        let members = std::mem::take(&mut *self.members());
        let leaving = std::mem::take(&mut *self.0.leaving());
        stop_all(members.into_values()).await;
        for task in leaving.into_values() {
            // A task that panicked has nothing left to wait for.
            let _ = task.await;
        }
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<ServerName, Member>> {
        // Members are put in and taken out whole, so a panic elsewhere does not spoil them.
        self.0
            .members
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A limit as a point in time; one that the clock can't say is as good as none.
fn deadline(limit: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + FAR)
}
