//! One running server: the handshake, requests, and its end, however that comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, GetExtensions, Implementation,
    ProtocolVersion, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RequestHandle,
    RunningService, ServiceError, serve_client_with_lifecycle,
};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::launcher::{Launched, Process};
use super::server_log::{ServerLog, wait_drained};
use super::tap::{MAX_LINE, Tap, tap};
use super::ticket::{Reply, ServerError, Ticket};
use crate::cache::Era;

/// How long the end of a server's standard error and its exit status are waited for.
const END_LIMIT: Duration = Duration::from_secs(1);
/// How long a courtesy to the server (a cancellation, closing down) may hold us up.
const COURTESY_LIMIT: Duration = Duration::from_secs(3);
/// How long a server may take to confirm a subscription.
const LISTEN_LIMIT: Duration = Duration::from_secs(10);

/// The capabilities that we declare, as freshness hashes them. None: roots, sampling and elicitation would have to be
/// served, and the tools of some servers depend on what is declared.
pub(super) const CAPABILITIES: &str = "{}";

/// A running server.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    tap: Tap,
    era: Era,
    /// Cancelled to end the server.
    stop: CancellationToken,
    /// How it ended, once it did.
    ended: watch::Receiver<Option<Ending>>,
    /// Cancelled when nothing is left of it.
    gone: CancellationToken,
    /// Whether the server can't push changes, so that it must be asked.
    silent: AtomicBool,
}

/// How a server ended, or failed to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// What happened, in a few words.
    pub(super) what: String,
    /// The end of its standard error, possibly empty.
    pub(super) stderr: String,
}

/// Why a connection could not be opened.
#[derive(Debug)]
pub(super) struct OpenError {
    pub(super) ending: Ending,
    /// The era with which another start may succeed.
    pub(super) retry: Option<Era>,
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) enum RequestError {
    /// It never reached the server and may be sent again.
    NotSent,
    /// The server ended before it answered.
    BrokeOff(Ending),
    /// The server answered with a protocol error.
    Refused(ServerError),
    /// The reply was over the limit.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The deadline passed; the request was cancelled.
    TimedOut,
    /// The caller gave up; the request was cancelled.
    Interrupted,
}

impl Connection {
    /// Shakes hands with a server that was just started.
    ///
    /// An unknown era is left to rmcp, which probes with `server/discover` and falls back to `initialize`; where the tap can't make
    /// that work, the error says with which era a fresh start may. Must not be dropped before it returns: it ends the
    /// process when it fails.
    pub(super) async fn open(
        launched: Launched,
        era: Option<Era>,
        log: &ServerLog,
        deadline: Instant,
        cancelled: &CancellationToken,
    ) -> Result<Self, OpenError> {
        let Launched {
            stdin,
            stdout,
            stderr,
            process,
        } = launched;
        let drained = log.drain(stderr);
        let (tap, transport) = tap(stdout, stdin, log.clone(), MAX_LINE);
        let implementation = Implementation::new("toolshelf", env!("CARGO_PKG_VERSION"));
        let config = ClientConfig::new(ClientCapabilities::default(), implementation)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let handshake = serve_client_with_lifecycle(config, transport, lifecycle(era));
        let failure = tokio::select! {
            biased;
            () = cancelled.cancelled() => Failure::Cancelled,
            served = timeout_at(deadline, handshake) => match served {
                Ok(Ok(service)) => {
                    let era = tap.last_handshake().unwrap_or(Era::Initialize);
                    return Ok(Self::watch(service, tap, era, process, log.clone(), drained));
                }
                Ok(Err(error)) => Failure::Handshake(Box::new(error)),
                Err(_) => Failure::TimedOut,
            },
        };
        // The handshake owned the transport: standard input is closed by now.
        Err(failure.conclude(&tap, process, log, &drained).await)
    }

    fn watch(
        service: RunningService<RoleClient, ClientConfig>,
        tap: Tap,
        era: Era,
        process: Box<dyn Process>,
        log: ServerLog,
        drained: CancellationToken,
    ) -> Self {
        let (ended_sender, ended) = watch::channel(None);
        let connection = Self {
            peer: service.peer().clone(),
            tap,
            era,
            stop: CancellationToken::new(),
            ended,
            gone: CancellationToken::new(),
            silent: AtomicBool::new(false),
        };
        let (stop, gone) = (connection.stop.clone(), connection.gone.clone());
        tokio::spawn(async move {
            let _gone = gone.drop_guard();
            let mut process = process;
            let close = service.cancellation_token();
            let mut finished = std::pin::pin!(service.waiting());
            let ending = tokio::select! {
                _ = &mut finished => {
                    describe("ended by itself", process.as_mut(), &log, &drained).await
                }
                () = stop.cancelled() => {
                    close.cancel();
                    let _ = timeout(COURTESY_LIMIT, finished).await;
                    Ending { what: "was stopped".to_owned(), stderr: log.tail() }
                }
            };
            ended_sender.send_replace(Some(ending));
            process.stop().await;
        });
        connection
    }

    /// The era in which it answered.
    pub(super) fn era(&self) -> Era {
        self.era
    }

    /// What it said of itself.
    pub(super) fn about(&self) -> Option<Arc<rmcp::model::ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Whether it says that it has tools.
    pub(super) fn declares_tools(&self) -> bool {
        self.about()
            .is_some_and(|about| about.capabilities.tools.is_some())
    }

    /// Whether it has ended, or is about to.
    pub(super) fn is_closed(&self) -> bool {
        self.stop.is_cancelled() || self.peer.is_transport_closed() || self.ended.borrow().is_some()
    }

    /// Resolves when it has ended, and says how.
    pub(super) async fn ended(&self) -> Ending {
        let mut ended = self.ended.clone();
        let ending = ended.wait_for(Option::is_some).await;
        ending
            .ok()
            .and_then(|ending| ending.clone())
            .unwrap_or(Ending {
                what: "ended".to_owned(),
                stderr: String::new(),
            })
    }

    /// Ends it and waits until nothing is left.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.gone.cancelled().await;
    }

    /// Resolves when the server says that its tools changed.
    pub(super) async fn tools_changed(&self) {
        self.tap.tools_changed().await;
    }

    /// Whether it can't say that its tools changed.
    pub(super) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Subscribes to changes where the era wants that. What arrives is seen by the tap; a quarter of the servers refuse,
    /// and those must be asked again after calls.
    pub(super) fn subscribe(self: &Arc<Self>) {
        if self.era == Era::Initialize {
            return;
        }
        self.silent.store(true, Ordering::Relaxed);
        let (peer, stop) = (self.peer.clone(), self.stop.clone());
        let connection = Arc::downgrade(self);
        let set_silent = move |silent| {
            if let Some(connection) = connection.upgrade() {
                connection.silent.store(silent, Ordering::Relaxed);
            }
        };
        let listen = async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(Ok(mut subscription)) = timeout(LISTEN_LIMIT, peer.listen(filter)).await else {
                return;
            };
            set_silent(subscription.acknowledged().tools_list_changed != Some(true));
            while let Ok(Some(_)) = subscription.next().await {}
            set_silent(true);
        };
        tokio::spawn(async move { stop.run_until_cancelled(listen).await });
    }

    /// Sends a request and waits for the bytes of its result, until the deadline or the cancellation.
    pub(super) async fn request(
        &self,
        mut request: ClientRequest,
        ticket: Ticket,
        deadline: Instant,
        cancelled: &CancellationToken,
    ) -> Result<Box<RawValue>, RequestError> {
        if self.is_closed() {
            return Err(RequestError::NotSent);
        }
        request.extensions_mut().insert(ticket.clone());
        let options = PeerRequestOptions::no_options();
        let Ok(mut handle) = self.peer.send_cancellable_request(request, options).await else {
            return Err(RequestError::NotSent);
        };
        let received = tokio::select! {
            biased;
            received = &mut handle.rx => received,
            () = cancelled.cancelled() => {
                cancel(handle, "the caller gave up").await;
                return Err(RequestError::Interrupted);
            }
            () = sleep_until(deadline) => {
                cancel(handle, "timed out").await;
                return Err(RequestError::TimedOut);
            }
        };
        match (ticket.take_reply(), received) {
            (Some(Reply::Result(raw)), _) => Ok(raw),
            (Some(Reply::Error(error)), _) => Err(RequestError::Refused(error)),
            (Some(Reply::TooLong { bytes }), _) => Err(RequestError::TooLong { bytes }),
            (None, Ok(Err(ServiceError::TransportSend(_)))) => {
                // Not a whole line was written, so the server can't have acted on it. It reads no more.
                self.stop.cancel();
                Err(RequestError::NotSent)
            }
            (None, _) if !ticket.was_sent() => Err(RequestError::NotSent),
            (None, _) => {
                let ending = timeout(2 * END_LIMIT + COURTESY_LIMIT, self.ended()).await;
                Err(RequestError::BrokeOff(ending.unwrap_or_else(|_| Ending {
                    what: "closed the connection".to_owned(),
                    stderr: String::new(),
                })))
            }
        }
    }
}

async fn cancel(handle: RequestHandle<RoleClient>, reason: &str) {
    // A server that does not read its input must not hold up the caller.
    let _ = timeout(COURTESY_LIMIT, handle.cancel(Some(reason.to_owned()))).await;
}

fn lifecycle(era: Option<Era>) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    match era {
        Some(Era::Initialize) => ClientLifecycleMode::Initialize,
        Some(Era::Discover) => ClientLifecycleMode::Discover { preferred_versions },
        None => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
    }
}

enum Failure {
    Cancelled,
    TimedOut,
    Handshake(Box<ClientInitializeError>),
}

impl Failure {
    /// Ends the process and says what happened.
    async fn conclude(
        self,
        tap: &Tap,
        mut process: Box<dyn Process>,
        log: &ServerLog,
        drained: &CancellationToken,
    ) -> OpenError {
        let other = match tap.last_handshake() {
            Some(Era::Discover) => Some(Era::Initialize),
            Some(Era::Initialize) => Some(Era::Discover),
            None => None,
        };
        let now = |what: &str| Ending {
            what: what.to_owned(),
            stderr: log.tail(),
        };
        let (ending, retry) = match self {
            Self::Cancelled => (now("was stopped while it started"), None),
            Self::TimedOut => (now("did not answer in time"), None),
            Self::Handshake(error) => match *error {
                ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. } => {
                    let what = "ended before it answered";
                    let ending = describe(what, process.as_mut(), log, drained).await;
                    (ending, other)
                }
                // Both eras were refused by a server that runs: another start would hear the same.
                ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                    (now(&format!("refused the handshake: {fallback}")), None)
                }
                error => (now(&format!("refused the handshake: {error}")), other),
            },
        };
        process.stop().await;
        OpenError { ending, retry }
    }
}

/// Says how a process ended, with its exit status and the end of its standard error where they can be had.
async fn describe(
    what: &str,
    process: &mut dyn Process,
    log: &ServerLog,
    drained: &CancellationToken,
) -> Ending {
    let what = match timeout(END_LIMIT, process.wait()).await {
        Ok(Ok(status)) => format!("{what} ({status})"),
        Ok(Err(_)) | Err(_) => what.to_owned(),
    };
    wait_drained(drained, END_LIMIT).await;
    Ending {
        what,
        stderr: log.tail(),
    }
}
