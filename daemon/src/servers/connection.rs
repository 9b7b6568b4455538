//! One running server: the handshake, requests, and its end, however that comes.

mod changes;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, GetExtensions, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RequestHandle,
    RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use skills::tool::Tool;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::far_end::{END_LIMIT, Ending, FarEnd};
use super::http::{self, Session, SharedClient};
use super::launcher::Launched;
use super::questions::Answers;
use super::server_log::ServerLog;
use super::tap::{MAX_LINE, Tap, tap};
use super::ticket::{Lost, Reply, ServerError, Ticket};
use crate::cache::Era;
use crate::config::Endpoint;

/// How long a courtesy to the server (a cancellation, closing down) may hold us up.
const COURTESY_LIMIT: Duration = Duration::from_secs(3);

/// A running server.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    tap: Tap,
    answers: Answers,
    /// Of one that is reached over HTTP.
    session: Option<Arc<Session>>,
    era: Era,
    /// When the handshake was over.
    opened: Instant,
    /// Cancelled to end the server.
    stop: CancellationToken,
    /// How it ended, once it did.
    ended: watch::Receiver<Option<Ending>>,
    /// Cancelled when nothing is left of it.
    gone: CancellationToken,
    /// Whether the server can't push changes, so that it must be asked.
    silent: AtomicBool,
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
    /// There is no reply to it alone; the connection goes on, unless the server can't be reached.
    Lost(Lost),
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
    /// Shakes hands with a process that was just started.
    ///
    /// An unknown era is left to rmcp, which probes with `server/discover` and falls back to `initialize`; where the tap can't make
    /// that work, the error says with which era a fresh start may. Must not be dropped before it returns: it ends the
    /// process when it fails.
    pub(super) async fn open(
        launched: Launched,
        era: Option<Era>,
        log: &ServerLog,
        answers: Answers,
        deadline: Instant,
        cancelled: &CancellationToken,
    ) -> Result<Self, OpenError> {
        let Launched {
            stdin,
            stdout,
            stderr,
            process,
        } = launched;
        let far_end = FarEnd::Process {
            process,
            log: log.clone(),
            drained: log.drain(stderr),
        };
        let (tap, transport) = tap(stdout, stdin, log.clone(), MAX_LINE);
        Self::shake_hands(transport, tap, answers, far_end, era, deadline, cancelled).await
    }

    /// Shakes hands with a server that is reached over HTTP. As with [`Connection::open`], it must not be dropped before it
    /// returns: it ends the session when it fails.
    pub(super) async fn open_http(
        client: Arc<SharedClient>,
        endpoint: &Endpoint,
        era: Option<Era>,
        log: &ServerLog,
        answers: Answers,
        deadline: Instant,
        cancelled: &CancellationToken,
    ) -> Result<Self, OpenError> {
        let opened = http::open(client, endpoint.clone(), log.clone()).await;
        let (tap, session, transport) = opened.map_err(|lost| OpenError {
            ending: Ending {
                what: lost.what,
                stderr: None,
                hint: lost.hint,
            },
            retry: None,
        })?;
        let far_end = FarEnd::Http(Arc::clone(&session));
        let mut connection =
            Self::shake_hands(transport, tap, answers, far_end, era, deadline, cancelled).await?;
        connection.session = Some(session);
        Ok(connection)
    }

    async fn shake_hands<T>(
        transport: T,
        tap: Tap,
        answers: Answers,
        far_end: FarEnd,
        era: Option<Era>,
        deadline: Instant,
        cancelled: &CancellationToken,
    ) -> Result<Self, OpenError>
    where
        T: Transport<RoleClient, Error = io::Error> + 'static,
    {
        let handshake = serve_client_with_lifecycle(answers.clone(), transport, lifecycle(era));
        let failure = tokio::select! {
            biased;
            () = cancelled.cancelled() => Failure::Cancelled,
            served = timeout_at(deadline, handshake) => match served {
                Ok(Ok(service)) => {
                    let era = tap.last_handshake().unwrap_or(Era::Initialize);
                    return Ok(Self::watch(service, tap, answers, era, far_end));
                }
                Ok(Err(error)) => Failure::Handshake(Box::new(error)),
                Err(_) => Failure::TimedOut,
            },
        };
        // The handshake owned the transport: standard input is closed by now.
        Err(failure.conclude(&tap, far_end).await)
    }

    fn watch(
        service: RunningService<RoleClient, Answers>,
        tap: Tap,
        answers: Answers,
        era: Era,
        mut far_end: FarEnd,
    ) -> Self {
        let (ended_sender, ended) = watch::channel(None);
        let connection = Self {
            peer: service.peer().clone(),
            tap,
            answers,
            session: None,
            era,
            opened: Instant::now(),
            stop: CancellationToken::new(),
            ended,
            gone: CancellationToken::new(),
            silent: AtomicBool::new(false),
        };
        let (stop, gone) = (connection.stop.clone(), connection.gone.clone());
        tokio::spawn(async move {
            let _gone = gone.drop_guard();
            let close = service.cancellation_token();
            let mut finished = std::pin::pin!(service.waiting());
            let ending = tokio::select! {
                _ = &mut finished => far_end.ended("ended by itself").await,
                () = stop.cancelled() => {
                    close.cancel();
                    let _ = timeout(COURTESY_LIMIT, finished).await;
                    far_end.now("was stopped")
                }
            };
            ended_sender.send_replace(Some(ending));
            far_end.stop().await;
        });
        connection
    }

    /// The era in which it answered.
    pub(super) fn era(&self) -> Era {
        self.era
    }

    /// What it is answered when it asks.
    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Resolves when it can be expected to use its roots, for which it asks on its own time in the earlier era.
    pub(super) async fn settled(&self) {
        if let (Era::Initialize, Some(told)) = (self.era, self.answers.roots_told()) {
            told.settled(self.opened).await;
        }
    }

    /// What it said of itself.
    pub(super) fn about(&self) -> Option<Arc<rmcp::model::ServerPeerInfo>> {
        self.peer.peer_info()
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
            .unwrap_or_else(|| Ending::new("ended"))
    }

    /// Ends it and waits until nothing is left.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.gone.cancelled().await;
    }

    /// Takes note of a tool that was listed.
    ///
    /// # Errors
    /// Why it must not be used over this connection.
    pub(super) fn admit(&self, tool: &Tool) -> Result<(), String> {
        match &self.session {
            Some(session) => session.admit(tool),
            None => Ok(()),
        }
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
            () = ticket.late(deadline) => {
                cancel(handle, "timed out").await;
                return Err(RequestError::TimedOut);
            }
        };
        match (ticket.take_reply(), received) {
            (Some(Reply::Result(raw)), _) => Ok(raw),
            (Some(Reply::Error(error)), _) => Err(RequestError::Refused(error)),
            (Some(Reply::TooLong { bytes }), _) => Err(RequestError::TooLong { bytes }),
            (Some(Reply::Lost(lost)), _) if lost.resend => {
                // The next one to ask gets a new session.
                self.stop.cancel();
                Err(RequestError::NotSent)
            }
            (Some(Reply::Lost(lost)), _) => Err(RequestError::Lost(lost)),
            (None, Ok(Err(ServiceError::TransportSend(_)))) => {
                // Not a whole line was written, so the server can't have acted on it. It reads no more.
                self.stop.cancel();
                Err(RequestError::NotSent)
            }
            (None, _) if !ticket.was_sent() => Err(RequestError::NotSent),
            (None, _) => {
                let ending = timeout(2 * END_LIMIT + COURTESY_LIMIT, self.ended()).await;
                Err(RequestError::BrokeOff(
                    ending.unwrap_or_else(|_| Ending::new("closed the connection")),
                ))
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
    async fn conclude(self, tap: &Tap, mut far_end: FarEnd) -> OpenError {
        let other = match tap.last_handshake() {
            Some(Era::Discover) => Some(Era::Initialize),
            Some(Era::Initialize) => Some(Era::Discover),
            None => None,
        };
        let other = other.filter(|_| !far_end.refuses());
        let (ending, retry) = match self {
            Self::Cancelled => (far_end.now("was stopped while it started"), None),
            Self::TimedOut => (far_end.now("did not answer in time"), None),
            Self::Handshake(error) => match *error {
                ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. } => {
                    let what = "ended before it answered";
                    (far_end.ended(what).await, other)
                }
                // Both eras were refused by a server that runs: another start would hear the same.
                ClientInitializeError::LegacyFallbackFailed { fallback, .. } => (
                    far_end.now(&format!("refused the handshake: {fallback}")),
                    None,
                ),
                error => (
                    far_end.now(&format!("refused the handshake: {error}")),
                    other,
                ),
            },
        };
        far_end.stop().await;
        OpenError { ending, retry }
    }
}
