//! The task that owns one server: it alone starts, lists and stops it, and says its state.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::{Definitions, Phase, Server, ServerState};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Ending, OpenError};
use super::failure;
use super::launcher::Launcher;
use super::listing::{self, Listing};
use super::server_log::ServerLog;
use crate::cache::{Cached, DefinitionCache, Era, Freshness};
use crate::catalog::{SourceUpdate, Updates};
use crate::config::Launch;

/// Changes are announced in bursts: they are listed once it was quiet for this long …
const QUIET: Duration = Duration::from_millis(200);
/// … and at the latest after this long.
const MAX_BURST: Duration = Duration::from_secs(1);

/// What can change without a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) start_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) idle: Option<Duration>,
}

/// What is asked of the task.
#[derive(Debug)]
pub(super) enum Message {
    /// Lend the connection, started if need be.
    Acquire(oneshot::Sender<Result<Lease, Problem>>),
    /// List the tools, started if need be, and stop again when nobody calls.
    Refresh(oneshot::Sender<()>),
}

/// A connection on loan to one call: while it is held, the server is not idle.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) connection: Arc<Connection>,
    in_use: watch::Sender<usize>,
}

impl Lease {
    fn new(connection: &Arc<Connection>, in_use: &watch::Sender<usize>) -> Self {
        in_use.send_modify(|calls| *calls += 1);
        Self {
            connection: Arc::clone(connection),
            in_use: in_use.clone(),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.in_use.send_modify(|calls| *calls -= 1);
    }
}

/// The definitions that are shown, shared with whoever asks how old they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Arc<Mutex<Option<Cached>>>);

impl Known {
    /// Starts from what is known already.
    pub(super) fn new(cached: Option<Cached>) -> Self {
        Self(Arc::new(Mutex::new(cached)))
    }

    /// What is known.
    pub(super) fn get(&self) -> MutexGuard<'_, Option<Cached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the task is made from.
pub(super) struct Supervisor {
    pub(super) name: ServerName,
    pub(super) launch: Launch,
    pub(super) freshness: Freshness,
    pub(super) launcher: Arc<dyn Launcher>,
    pub(super) cache: DefinitionCache,
    pub(super) updates: Updates,
    pub(super) log_path: PathBuf,
    pub(super) known: Known,
    /// The state that was said last.
    pub(super) state: ServerState,
    pub(super) settings: watch::Receiver<Settings>,
    /// Cancelled to end the task and its server.
    pub(super) stopping: CancellationToken,
    /// How many calls hold a lease.
    pub(super) in_use: watch::Sender<usize>,
}

/// The running server.
struct Running {
    connection: Arc<Connection>,
    /// Since when nobody calls.
    idle_since: Instant,
    /// When the tools are to be listed again, and when that was first asked for.
    relist: Option<(Instant, Instant)>,
    listing: Option<JoinHandle<Result<Listing, Problem>>>,
    /// Who waits for the next listing.
    refreshers: Vec<oneshot::Sender<()>>,
}

enum Event {
    Stop,
    Message(Message),
    Ended(Ending),
    ToolsChanged,
    Relist,
    Listed(Result<Listing, Problem>),
    UseChanged,
    Idle,
}

impl Supervisor {
    /// Serves messages until it is stopped, then ends the server.
    pub(super) async fn run(
        mut self,
        mut inbox: mpsc::UnboundedReceiver<Message>,
        predecessor: Option<JoinHandle<()>>,
    ) {
        if let Some(predecessor) = predecessor {
            // Two servers of one name must not run side by side: they may share a file or a port.
            let _ = predecessor.await;
        }
        let mut running: Option<Running> = None;
        let mut in_use = self.in_use.subscribe();
        loop {
            match self
                .next_event(&mut inbox, running.as_mut(), &mut in_use)
                .await
            {
                Event::Stop => break,
                Event::Message(message) => self.serve(message, &mut running, &mut inbox).await,
                Event::Ended(ending) => self.bury(&mut running, &ending).await,
                Event::Idle => self.stop(&mut running).await,
                event => {
                    if let Some(running) = &mut running {
                        self.attend(event, running).await;
                    }
                }
            }
        }
        if let Some(running) = running {
            running.end().await;
        }
    }

    async fn next_event(
        &mut self,
        inbox: &mut mpsc::UnboundedReceiver<Message>,
        running: Option<&mut Running>,
        in_use: &mut watch::Receiver<usize>,
    ) -> Event {
        let message = async { inbox.recv().await.map_or(Event::Stop, Event::Message) };
        let Some(running) = running else {
            return tokio::select! {
                biased;
                () = self.stopping.cancelled() => Event::Stop,
                event = message => event,
            };
        };
        let unused = *in_use.borrow_and_update() == 0;
        let idle = self.settings.borrow_and_update().idle;
        let idle_at = idle
            .filter(|_| unused && running.listing.is_none())
            .map(|idle| running.idle_since + idle);
        let relist_at = running
            .relist
            .filter(|_| running.listing.is_none())
            .map(|(at, _)| at);
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => Event::Stop,
            ending = running.connection.ended() => Event::Ended(ending),
            event = message => event,
            listed = finished(running.listing.as_mut()) => Event::Listed(listed),
            () = running.connection.tools_changed() => Event::ToolsChanged,
            _ = in_use.changed() => Event::UseChanged,
            // Returns to the loop, which reads the settings anew.
            Ok(()) = self.settings.changed() => Event::UseChanged,
            () = at(relist_at) => Event::Relist,
            () = at(idle_at) => Event::Idle,
        }
    }

    async fn serve(
        &mut self,
        message: Message,
        running: &mut Option<Running>,
        inbox: &mut mpsc::UnboundedReceiver<Message>,
    ) {
        if running
            .as_ref()
            .is_some_and(|running| running.connection.is_closed())
        {
            let ending = match running {
                Some(running) => running.connection.ended().await,
                None => return,
            };
            self.bury(running, &ending).await;
        }
        match message {
            // Whoever asked has gone: nothing is started for nobody.
            Message::Acquire(ready) if ready.is_closed() => {}
            Message::Acquire(ready) => {
                let lent = match running {
                    Some(running) => Ok(Lease::new(&running.connection, &self.in_use)),
                    None => match self.start().await {
                        Ok(started) => {
                            let started = running.insert(started);
                            Ok(Lease::new(&started.connection, &self.in_use))
                        }
                        Err(problem) => {
                            refuse_waiting(inbox, &problem);
                            Err(problem)
                        }
                    },
                };
                // A lease that nobody takes is given back by being dropped.
                let _ = ready.send(lent);
            }
            Message::Refresh(done) => match running {
                Some(running) => {
                    running.refreshers.push(done);
                    running.relist_now();
                }
                None => {
                    if let Ok(started) = self.start().await {
                        *running = Some(started);
                        if inbox.is_empty() {
                            self.stop(running).await;
                        }
                    }
                    let _ = done.send(());
                }
            },
        }
    }

    /// Handles what happens to a running server without ending it.
    async fn attend(&mut self, event: Event, running: &mut Running) {
        match event {
            Event::ToolsChanged => running.relist_soon(),
            Event::Relist => {
                running.relist = None;
                running.listing = Some(tokio::spawn({
                    let (name, connection) = (self.name.clone(), Arc::clone(&running.connection));
                    let (limit, stopping) =
                        (self.settings.borrow().start_timeout, self.stopping.clone());
                    async move {
                        let deadline = Instant::now() + limit;
                        listing::list(&name, &connection, deadline, &stopping).await
                    }
                }));
            }
            Event::Listed(listed) => {
                running.listing = None;
                match listed {
                    Ok(listing) => {
                        self.publish(listing, &running.connection).await;
                        self.say(Phase::Ready, None);
                    }
                    // It still runs and answers calls; only what is shown may be old.
                    Err(problem) => {
                        tracing::warn!(%problem, "the tools were not listed again");
                        let listed = self.known.get().as_ref().map(|known| known.listed);
                        self.say(Phase::Ready, listed);
                    }
                }
                for done in running.refreshers.drain(..) {
                    let _ = done.send(());
                }
            }
            Event::UseChanged => {
                running.idle_since = Instant::now();
                if *self.in_use.borrow() == 0 && running.connection.is_silent() {
                    running.relist_soon();
                }
            }
            Event::Stop | Event::Message(_) | Event::Ended(_) | Event::Idle => {}
        }
    }

    async fn start(&mut self) -> Result<Running, Problem> {
        self.say(Phase::Starting, self.state.stale);
        let deadline = Instant::now() + self.settings.borrow().start_timeout;
        let log = ServerLog::create(&self.log_path);
        let started = match self.open(deadline, &log).await {
            Ok(connection) => {
                let listed = listing::list(&self.name, &connection, deadline, &self.stopping).await;
                match listed {
                    Ok(listing) => Ok((connection, listing)),
                    Err(problem) => {
                        connection.close().await;
                        let summary = problem.message.clone();
                        Err((problem, summary))
                    }
                }
            }
            Err(ending) => {
                let problem = failure::of_ending(&self.name, "the server ", &ending, log.path());
                Err((problem, failure::summary(&ending)))
            }
        };
        match started {
            Ok((connection, listing)) => {
                let connection = Arc::new(connection);
                connection.subscribe();
                self.publish(listing, &connection).await;
                self.say(Phase::Ready, None);
                Ok(Running {
                    connection,
                    idle_since: Instant::now(),
                    relist: None,
                    listing: None,
                    refreshers: Vec::new(),
                })
            }
            Err((problem, summary)) => {
                let stale = self.known.get().as_ref().map(|known| known.listed);
                self.say(Phase::Failed(summary), stale);
                Err(problem)
            }
        }
    }

    /// Starts the process, and once more in the other era where that may help: a server of one era may end, or answer
    /// nonsense, when it is spoken to in the other.
    async fn open(&self, deadline: Instant, log: &ServerLog) -> Result<Connection, Ending> {
        let mut era = self.remembered_era();
        let mut again = true;
        loop {
            let launched = self.launcher.launch(&self.launch).map_err(|error| Ending {
                what: format!("could not be started: {error}"),
                stderr: String::new(),
            })?;
            match Connection::open(launched, era, log, deadline, &self.stopping).await {
                Ok(connection) => return Ok(connection),
                Err(OpenError {
                    retry: Some(other), ..
                }) if again && Instant::now() < deadline => {
                    again = false;
                    era = Some(other);
                }
                Err(OpenError { ending, .. }) => return Err(ending),
            }
        }
    }

    /// The era that this very configuration answered in before.
    fn remembered_era(&self) -> Option<Era> {
        let known = self.known.get();
        let known = known.as_ref()?;
        known.era.filter(|_| known.freshness == self.freshness)
    }

    async fn publish(&self, listing: Listing, connection: &Connection) {
        let about = connection.about();
        let about = about.as_deref();
        let implementation = about.and_then(|about| about.server_info.as_ref());
        let definitions = Definitions {
            title: implementation
                .map(|server| server.title.clone().unwrap_or_else(|| server.name.clone())),
            version: implementation.map(|server| server.version.clone()),
            instructions: about.and_then(|about| about.instructions.clone()),
            protocol: about.map(|about| about.protocol_version.as_str().to_owned()),
            tools: listing.tools,
        };
        let before = self.known.get().clone();
        // Content that only churns (key order, the order of tools) keeps the bytes that were shown.
        let unchanged = before
            .as_ref()
            .filter(|before| before.definitions.same(&definitions));
        let shown = unchanged.map(|before| Arc::clone(&before.definitions));
        let nothing_new = unchanged.is_some_and(|before| before.problems == listing.problems);
        let definitions = shown.unwrap_or_else(|| Arc::new(definitions));
        *self.known.get() = Some(Cached {
            definitions: Arc::clone(&definitions),
            problems: listing.problems.clone(),
            freshness: self.freshness,
            listed: SystemTime::now(),
            era: Some(connection.era()),
        });
        self.store(Arc::clone(&definitions), connection.era()).await;
        if !nothing_new {
            self.send_server(definitions, listing.problems);
        }
    }

    async fn store(&self, definitions: Arc<Definitions>, era: Era) {
        let (cache, name, freshness) = (self.cache.clone(), self.name.clone(), self.freshness);
        let stored = tokio::task::spawn_blocking(move || {
            cache.store(&name, &definitions, freshness, Some(era))
        });
        match stored.await {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => tracing::warn!(%problem, "the definitions are not cached"),
            Err(error) => tracing::warn!(%error, "the definitions are not cached"),
        }
    }

    fn send_server(&self, definitions: Arc<Definitions>, problems: Vec<Problem>) {
        let server = Arc::new(Server {
            name: self.name.clone(),
            directory: self.launch.directory.clone(),
            definitions: Some(definitions),
        });
        // The catalog outlives the servers; when it is gone, nobody looks any more.
        let _ = self.updates.send(SourceUpdate::Server { server, problems });
    }

    fn say(&mut self, phase: Phase, stale: Option<SystemTime>) {
        let state = ServerState { phase, stale };
        if state != self.state {
            self.state = state.clone();
            let name = self.name.clone();
            let _ = self.updates.send(SourceUpdate::State { name, state });
        }
    }

    async fn stop(&mut self, running: &mut Option<Running>) {
        if let Some(running) = running.take() {
            running.end().await;
            self.say(Phase::Cold, self.state.stale);
        }
    }

    async fn bury(&mut self, running: &mut Option<Running>, ending: &Ending) {
        if let Some(running) = running.take() {
            running.end().await;
            self.say(Phase::Failed(failure::summary(ending)), self.state.stale);
        }
    }
}

impl Running {
    fn relist_soon(&mut self) {
        let now = Instant::now();
        let first = self.relist.map_or(now, |(_, first)| first);
        self.relist = Some(((now + QUIET).min(first + MAX_BURST), first));
    }

    fn relist_now(&mut self) {
        let now = Instant::now();
        self.relist = Some((now, now));
    }

    async fn end(self) {
        if let Some(listing) = self.listing {
            listing.abort();
        }
        self.connection.close().await;
    }
}

/// Gives those who waited for the same start the same answer, instead of starting it again for each.
fn refuse_waiting(inbox: &mut mpsc::UnboundedReceiver<Message>, problem: &Problem) {
    while let Ok(message) = inbox.try_recv() {
        match message {
            Message::Acquire(ready) => drop(ready.send(Err(problem.clone()))),
            Message::Refresh(done) => drop(done.send(())),
        }
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

async fn finished(
    listing: Option<&mut JoinHandle<Result<Listing, Problem>>>,
) -> Result<Listing, Problem> {
    match listing {
        Some(listing) => listing.await.unwrap_or_else(|error| {
            let message = format!("listing the tools failed: {error}");
            Err(Problem::new(
                skills::problem::ProblemKind::Internal,
                message,
            ))
        }),
        None => std::future::pending().await,
    }
}
