//! The task that owns one server: it alone starts, lists and stops it, and says its state.

mod backoff;
mod definitions;
mod inbox;
mod lease;
mod serving;
mod start;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::{Phase, ServerState};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

pub(super) use self::backoff::Backoff;
pub(super) use self::definitions::Known;
use self::inbox::Inbox;
pub(super) use self::inbox::Message;
pub(super) use self::lease::Lease;
use super::connection::Connection;
use super::far_end::Ending;
use super::handle::{Attempt, Handle};
use super::history::History;
use super::http::SharedClient;
use super::launcher::Launcher;
use super::listing::{self, Listing};
use super::{deadline, failure};
use crate::cache::{DefinitionCache, Freshness};
use crate::catalog::Updates;
use crate::config::{Access, Restart, Share};

/// Changes are announced in bursts: they are listed once it was quiet for this long …
const QUIET: Duration = Duration::from_millis(200);
/// … at the latest after this long …
const MAX_BURST: Duration = Duration::from_secs(1);
/// … and not more often than this: some servers announce a change whenever they are listed.
const MIN_GAP: Duration = Duration::from_secs(1);

/// How long a server whose entry changed or went may take to answer the calls that it has.
const LAST_CALLS: Duration = Duration::from_secs(30);

/// What can change without a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) start_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) idle: Option<Duration>,
    pub(super) share: Share,
    pub(super) restart: Restart,
}

/// What a task does with the tools that its server lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// They are the definitions of the server, and its phase is the server's state.
    Listing,
    /// Nothing: it is an instance that one session has for itself.
    Session,
}

/// What the task is made from.
pub(super) struct Supervisor {
    pub(super) role: Role,
    pub(super) name: ServerName,
    pub(super) access: Access,
    pub(super) roots: Vec<PathBuf>,
    pub(super) freshness: Freshness,
    pub(super) launcher: Arc<dyn Launcher>,
    pub(super) client: Arc<SharedClient>,
    pub(super) cache: DefinitionCache,
    pub(super) updates: Updates,
    pub(super) log_path: PathBuf,
    pub(super) known: Known,
    /// The state that was said last.
    pub(super) state: ServerState,
    pub(super) settings: watch::Receiver<Settings>,
    /// Cancelled to end the task and its server, once the calls that it has are answered.
    pub(super) stopping: CancellationToken,
    /// Cancelled to end it without waiting for them.
    pub(super) ending: CancellationToken,
    pub(super) history: History,
    /// How many calls hold a lease.
    pub(super) in_use: watch::Sender<usize>,
    pub(super) attempt: Attempt,
    pub(super) backoff: Backoff,
}

/// The running server.
struct Running {
    connection: Arc<Connection>,
    /// Which start this is.
    start: u64,
    /// Since when nobody calls.
    idle_since: Instant,
    /// When everything is to be listed again, and when that was first asked for.
    relist: Option<(Instant, Instant)>,
    listing: Option<JoinHandle<Result<Listing, Problem>>>,
    /// When it was listed last.
    listed: Instant,
    /// Who waits for the next listing.
    refreshers: Vec<oneshot::Sender<Result<(), Problem>>>,
}

enum Event {
    Stop,
    Message(Message),
    Ended(Ending),
    ListsChanged,
    Relist,
    Listed(Result<Listing, Problem>),
    UseChanged,
    Idle,
}

impl Supervisor {
    /// The same server as one session has it for itself.
    pub(super) fn for_session(&self, log_path: PathBuf, history: History) -> Self {
        Self {
            role: Role::Session,
            name: self.name.clone(),
            access: self.access.clone(),
            roots: self.roots.clone(),
            freshness: self.freshness,
            launcher: Arc::clone(&self.launcher),
            client: Arc::clone(&self.client),
            cache: self.cache.clone(),
            updates: self.updates.clone(),
            log_path,
            known: self.known.clone(),
            state: ServerState::default(),
            settings: self.settings.clone(),
            stopping: self.stopping.clone(),
            ending: self.ending.clone(),
            history,
            in_use: watch::Sender::new(0),
            attempt: Attempt::default(),
            backoff: Backoff::default(),
        }
    }

    /// Runs it in a task of its own, after its predecessor has ended.
    pub(super) fn spawn(self, predecessor: Option<JoinHandle<()>>) -> (Handle, JoinHandle<()>) {
        let (inbox, messages) = mpsc::unbounded_channel();
        let handle = Handle {
            inbox,
            history: self.history.clone(),
            in_use: self.in_use.clone(),
            attempt: self.attempt.clone(),
            log_path: self.log_path.clone(),
        };
        let task = self.run(Inbox::new(messages), predecessor);
        (handle, tokio::spawn(task))
    }

    /// Serves messages until it is stopped, then ends the server.
    async fn run(mut self, mut inbox: Inbox, predecessor: Option<JoinHandle<()>>) {
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
                Event::Idle => self.stop(&mut running, "it was idle").await,
                event => {
                    if let Some(running) = &mut running {
                        self.attend(event, running).await;
                    }
                }
            }
        }
        // Who still asks is told at once that this server is not to be had any more.
        drop(inbox);
        if let Some(running) = running {
            self.finish_calls(&mut in_use).await;
            running.end().await;
            self.history.ended("its entry in the configuration changed");
        }
    }

    /// Waits for the calls that are under way, but not for ever: a successor of the same name waits for this server's end.
    async fn finish_calls(&self, in_use: &mut watch::Receiver<usize>) {
        tokio::select! {
            _ = in_use.wait_for(|calls| *calls == 0) => {}
            () = sleep(LAST_CALLS) => {}
            () = self.ending.cancelled() => {}
        }
    }

    async fn next_event(
        &mut self,
        inbox: &mut Inbox,
        running: Option<&mut Running>,
        in_use: &mut watch::Receiver<usize>,
    ) -> Event {
        let message = async { inbox.next().await.map_or(Event::Stop, Event::Message) };
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
            .and_then(|idle| running.idle_since.checked_add(idle));
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
            () = running.connection.lists_changed() => Event::ListsChanged,
            _ = in_use.changed() => Event::UseChanged,
            // Returns to the loop, which reads the settings anew.
            Ok(()) = self.settings.changed() => Event::UseChanged,
            () = at(relist_at) => Event::Relist,
            () = at(idle_at) => Event::Idle,
        }
    }

    /// Handles what happens to a running server without ending it.
    async fn attend(&mut self, event: Event, running: &mut Running) {
        match event {
            Event::ListsChanged => running.relist_soon(),
            Event::Relist => {
                running.relist = None;
                running.listing = Some(tokio::spawn({
                    let (name, connection) = (self.name.clone(), Arc::clone(&running.connection));
                    let (limit, stopping) =
                        (self.settings.borrow().start_timeout, self.stopping.clone());
                    async move { listing::list(&name, &connection, deadline(limit), &stopping).await }
                }));
            }
            Event::Listed(listed) => {
                running.listing = None;
                running.listed = Instant::now();
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
                    let _ = done.send(Ok(()));
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

    async fn bury(&mut self, running: &mut Option<Running>, ending: &Ending) {
        if let Some(running) = running.take() {
            running.end().await;
            let summary = failure::summary(ending);
            self.history.ended(format!("it {}", ending.what));
            self.history.failed(summary.clone());
            self.backoff.crashed(failure::of_ending(
                &self.name,
                "it ",
                ending,
                &self.log_path,
            ));
            let outlook = self.backoff.outlook(self.settings.borrow().restart);
            self.say(Phase::Failed(summary + &outlook), self.state.stale);
        }
    }
}

impl Running {
    fn relist_soon(&mut self) {
        let now = Instant::now();
        let first = self.relist.map_or(now, |(_, first)| first);
        let quiet = (now + QUIET).min(first + MAX_BURST);
        self.relist = Some((quiet.max(self.listed + MIN_GAP), first));
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
