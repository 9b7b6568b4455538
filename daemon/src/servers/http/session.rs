//! What is known of one connection to an HTTP server: its session, its revision, the requests under way, and how it ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Method;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use rmcp::model::{JsonRpcMessage, NumberOrString, ServerJsonRpcMessage, ServerResult};
use skills::tool::Tool;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::outgoing::{Outgoing, PROTOCOL_VERSION};
use super::parameters::{self, Parameter};
use crate::cache::Era;
use crate::config::Endpoint;
use crate::servers::server_log::ServerLog;
use crate::servers::tap::Tap;
use crate::servers::ticket::Lost;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How many requests of one session are under way at once, each on a connection of its own; more of them wait.
const MAX_EXCHANGES: usize = 64;
/// How long the end of a session may take to be said.
const END_LIMIT: Duration = Duration::from_secs(2);

/// One connection to an HTTP server.
#[derive(Debug)]
pub(in crate::servers) struct Session {
    pub(super) client: Arc<Client>,
    endpoint: Endpoint,
    pub(super) tap: Tap,
    pub(super) log: ServerLog,
    incoming: mpsc::Sender<ServerJsonRpcMessage>,
    state: Mutex<State>,
    permits: Semaphore,
    /// Cancelled when it ends: nothing is sent or received any more.
    pub(super) closed: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    id: Option<HeaderValue>,
    /// The revision that was agreed on in the earlier era; in the later one each message carries its own.
    revision: Option<HeaderValue>,
    /// The arguments that are sent as headers too, by tool.
    tools: HashMap<String, Vec<Parameter>>,
    /// The requests under way.
    exchanges: HashMap<i64, Exchange>,
    /// Why it ended.
    lost: Option<Lost>,
    /// Whether the server has no stream to say on its own accord that something changed.
    deaf: bool,
}

/// A request under way.
#[derive(Debug)]
struct Exchange {
    cancelled: CancellationToken,
    /// Whether it stays under way for as long as the session lasts, so that nobody waits for its reply.
    is_subscription: bool,
}

impl Session {
    pub(super) fn new(
        client: Arc<Client>,
        endpoint: Endpoint,
        tap: Tap,
        log: ServerLog,
        incoming: mpsc::Sender<ServerJsonRpcMessage>,
    ) -> Self {
        Self {
            client,
            endpoint,
            tap,
            log,
            incoming,
            state: Mutex::default(),
            permits: Semaphore::new(MAX_EXCHANGES),
            closed: CancellationToken::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here can be left half done, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why it ended, unless it was ended.
    pub(in crate::servers) fn lost(&self) -> Option<Lost> {
        self.state().lost.clone()
    }

    /// Whether the server can't say that its tools changed.
    pub(in crate::servers) fn is_deaf(&self) -> bool {
        self.state().deaf
    }

    pub(super) fn set_deaf(&self, deaf: bool) {
        self.state().deaf = deaf;
    }

    /// Whether the server gave a session.
    pub(super) fn has_id(&self) -> bool {
        self.state().id.is_some()
    }

    /// Whether the configuration has an `Authorization`.
    pub(super) fn has_authorization(&self) -> bool {
        self.endpoint.headers.contains_key(AUTHORIZATION)
    }

    /// Takes note of which arguments of a tool are sent as headers too.
    ///
    /// # Errors
    /// What of them breaks the rules of the later era, so that the tool must not be used.
    pub(in crate::servers) fn admit(&self, tool: &Tool) -> Result<(), String> {
        if self.tap.last_handshake() != Some(Era::Discover) {
            return Ok(());
        }
        let wanted = parameters::parameters(tool.input_schema.get())?;
        self.state().tools.insert(tool.name.to_string(), wanted);
        Ok(())
    }

    pub(super) fn begin(&self, id: i64, message: &Outgoing) -> CancellationToken {
        let cancelled = CancellationToken::new();
        let exchange = Exchange {
            cancelled: cancelled.clone(),
            is_subscription: message.is_subscription(),
        };
        self.state().exchanges.insert(id, exchange);
        cancelled
    }

    /// Waits until a request may be sent that has a reply.
    pub(super) async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    pub(super) fn finish(&self, id: i64) {
        self.state().exchanges.remove(&id);
    }

    pub(super) fn cancel(&self, id: i64) {
        if let Some(exchange) = self.state().exchanges.remove(&id) {
            exchange.cancelled.cancel();
        }
    }

    /// Sends a message.
    pub(super) async fn post(&self, message: &Outgoing) -> Result<Response<Incoming>, Lost> {
        let mut headers = self.headers();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        message.set_headers(&mut headers, &self.state().tools);
        let uri = &self.endpoint.uri;
        self.client
            .send(&Method::POST, uri, &headers, &message.body)
            .await
    }

    /// Asks for the stream on which the server speaks of its own accord, or for the rest of one that broke off.
    pub(super) async fn get(&self, last_id: Option<&str>) -> Result<Response<Incoming>, Lost> {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last_id) = last_id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            headers.insert(LAST_EVENT_ID, last_id);
        }
        let uri = &self.endpoint.uri;
        self.client
            .send(&Method::GET, uri, &headers, &Bytes::new())
            .await
    }

    fn headers(&self) -> HeaderMap {
        let state = self.state();
        let mut headers = HeaderMap::new();
        let agent = concat!("toolshelf/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        headers.extend(self.endpoint.headers.clone());
        if let Some(id) = &state.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(revision) = &state.revision {
            headers.insert(PROTOCOL_VERSION, revision.clone());
        }
        headers
    }

    /// Takes the session that a reply to the handshake gives.
    pub(super) fn take_id(&self, request: i64, headers: &HeaderMap) {
        if self.tap.is_last_handshake(request, Era::Initialize)
            && let Some(id) = headers.get(SESSION_ID)
        {
            let mut id = id.clone();
            id.set_sensitive(true);
            self.state().id = Some(id);
        }
    }

    /// Hands on what the server sent; whether the reply to `request` was in it.
    pub(super) async fn deliver(&self, request: Option<i64>, bytes: &[u8]) -> bool {
        let mut answered = false;
        for message in self.tap.take_line(bytes, request) {
            let id = match &message {
                JsonRpcMessage::Response(response) => {
                    if let ServerResult::InitializeResult(result) = &response.result {
                        self.state().revision =
                            HeaderValue::from_str(result.protocol_version.as_str()).ok();
                    }
                    Some(&response.id)
                }
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            answered |= match (request, id) {
                (Some(request), Some(NumberOrString::Number(id))) => request == *id,
                _ => false,
            };
            self.receive(message).await;
        }
        answered
    }

    /// Says that the reply to a request was over the limit.
    pub(super) async fn too_long(&self, request: i64, bytes: usize) {
        if let Some(message) = self.tap.take_long_line(Some(request), bytes) {
            self.receive(message).await;
        }
    }

    /// Says that a request has no reply. One of the handshake, a session that is gone, and a server that can't be reached end the
    /// whole, the last only where no other request would be lost with it: the last of them to fail ends it.
    pub(super) async fn fail(&self, request: i64, lost: Lost) {
        let handshake = [Era::Initialize, Era::Discover]
            .into_iter()
            .any(|era| self.tap.is_last_handshake(request, era));
        if handshake {
            return self.end(lost);
        }
        let message = self.tap.lose(request, lost.clone());
        let ends = lost.resend || lost.unreachable && !self.is_awaited();
        if ends {
            return self.end(lost);
        }
        if let Some(message) = message {
            self.receive(message).await;
        }
    }

    /// Whether somebody waits for a reply that may still come.
    fn is_awaited(&self) -> bool {
        let state = self.state();
        let mut exchanges = state.exchanges.values();
        exchanges.any(|exchange| !exchange.is_subscription)
    }

    async fn receive(&self, message: ServerJsonRpcMessage) {
        // When rmcp is gone, so is whoever waits for this.
        let _ = self.incoming.send(message).await;
    }

    /// Ends it, for a reason of the server's.
    pub(super) fn end(&self, lost: Lost) {
        self.state().lost.get_or_insert(lost);
        self.closed.cancel();
    }

    /// Ends it, and says so to the server when that keeps a session for us.
    pub(in crate::servers) async fn close(&self) {
        self.closed.cancel();
        let is_kept = {
            let state = self.state();
            let gone = |lost: &Lost| lost.resend || lost.unreachable;
            let gone = state.lost.as_ref().is_some_and(gone);
            state.id.is_some() && !gone
        };
        if is_kept {
            let headers = self.headers();
            let (uri, nothing) = (&self.endpoint.uri, Bytes::new());
            let end = self.client.send(&Method::DELETE, uri, &headers, &nothing);
            // A server that does not let its sessions be ended says 405, and one that is gone needs no word.
            let _ = timeout(END_LIMIT, end).await;
        }
    }
}
