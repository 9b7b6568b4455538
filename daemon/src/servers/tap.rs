//! The tap between a server's pipes and rmcp.
//!
//! rmcp reads messages into types of its own: one odd tool loses the whole list, unknown fields and the spelling of
//! numbers are lost, and a line that is too long is dropped without a word. So the lines are read here. The reply to a
//! request that carries a [`Ticket`] goes to the ticket as the bytes that were sent; rmcp only learns that there was one.

mod asked;
mod given_up;
mod pipes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetExtensions, GetMeta,
    JsonRpcError, JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, NumberOrString,
    ServerJsonRpcMessage, ServerResult,
};
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Progress;
use super::envelope::Envelope;
use super::server_log::ServerLog;
use super::ticket::{Lost, Reply, ServerError, Ticket, WeakTicket};
use crate::cache::Era;

use self::given_up::GivenUp;
pub(super) use self::pipes::tap;

/// The longest line that is read whole.
pub(super) const MAX_LINE: usize = 64 * 1024 * 1024;

/// The side of the tap that stays with us while rmcp owns the transport.
#[derive(Clone, Debug)]
pub(super) struct Tap(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    log: ServerLog,
    lists_changed: Notify,
    /// Cancelled when the server will say nothing more.
    ended: CancellationToken,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    tickets: HashMap<i64, WeakTicket>,
    /// By progress token, which rmcp counts apart from the ids.
    progress: HashMap<i64, WeakTicket>,
    /// The requests of the handshake in the order in which they were sent.
    handshake: Vec<(i64, Era)>,
    /// Calls for which nobody waits any more, and of which the tickets are gone.
    given_up: GivenUp,
}

impl Tap {
    /// Makes the tap for a connection. What the server sends that is no message goes to `log`.
    pub(super) fn new(log: ServerLog) -> Self {
        Self(Arc::new(Shared {
            log,
            lists_changed: Notify::new(),
            ended: CancellationToken::new(),
            pending: Mutex::default(),
        }))
    }

    /// Resolves after the server said that one of its lists changed; several such notifications may be one.
    pub(super) async fn lists_changed(&self) {
        self.0.lists_changed.notified().await;
    }

    /// The era of the last handshake request that was sent.
    pub(super) fn last_handshake(&self) -> Option<Era> {
        self.pending().handshake.last().map(|(_, era)| *era)
    }

    /// Whether a request is the last of the handshake, and of this era.
    pub(super) fn is_last_handshake(&self, id: i64, era: Era) -> bool {
        self.pending().handshake.last() == Some(&(id, era))
    }

    /// Takes it that the lists may have changed unseen.
    pub(super) fn expect_changes(&self) {
        self.0.lists_changed.notify_one();
    }

    /// Takes it that a request has no reply; what rmcp is told of it.
    pub(super) fn lose(&self, id: i64, lost: Lost) -> Option<ServerJsonRpcMessage> {
        let mut pending = self.pending();
        let Some(ticket) = pending.tickets.remove(&id) else {
            if pending.given_up.remove(id) {
                return None;
            }
            // Of a handshake that was given up nobody wants to hear.
            let given_up = pending.handshake.iter().any(|(known, _)| *known == id);
            return (!given_up).then(|| error(id, ErrorCode::INTERNAL_ERROR, lost.what));
        };
        ticket.upgrade()?.fill(Reply::Lost(lost));
        Some(response(id))
    }

    /// Takes it that the server has ended: nobody needs to answer its questions any more.
    fn end(&self) {
        self.0.ended.cancel();
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // Nothing in here can be left half done, so a panic elsewhere does not spoil it.
        self.0
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the server sent, one message or several, maybe on the stream that answers a request; what rmcp is told of it.
    pub(super) fn take_line(&self, bytes: &[u8], stream: Option<i64>) -> Vec<ServerJsonRpcMessage> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Vec::new();
        }
        // Batches were part of one revision (2025-03-26).
        let batch: Vec<&RawValue> = if text.starts_with('[') {
            serde_json::from_str(text).unwrap_or_default()
        } else {
            Vec::new()
        };
        let parts: Vec<&str> = if batch.is_empty() {
            vec![text]
        } else {
            batch.iter().map(|part| part.get()).collect()
        };
        let mut messages = Vec::new();
        for part in parts {
            match Envelope::parse(part) {
                Some(envelope) => messages.extend(self.take_message(part, &envelope, stream)),
                None => self.0.log.noise(part),
            }
        }
        messages
    }

    fn take_message(
        &self,
        text: &str,
        envelope: &Envelope<'_>,
        stream: Option<i64>,
    ) -> Option<ServerJsonRpcMessage> {
        if envelope.is_response() {
            return self.take_response(text, envelope);
        }
        match envelope.method.as_deref() {
            Some(method) if method != "ping" && envelope.is_request() => {
                return self.take_request(method, envelope, stream);
            }
            Some("notifications/progress") => {
                self.take_progress(envelope);
                return None;
            }
            Some(
                "notifications/tools/list_changed"
                | "notifications/resources/list_changed"
                | "notifications/prompts/list_changed",
            ) => self.0.lists_changed.notify_one(),
            _ => {}
        }
        let message = serde_json::from_str(text).ok();
        if message.is_none() {
            self.0.log.noise(text);
        }
        message
    }

    fn take_response(&self, text: &str, envelope: &Envelope<'_>) -> Option<ServerJsonRpcMessage> {
        let Some(id) = envelope.id() else {
            self.0.log.noise(text);
            return None;
        };
        let mut pending = self.pending();
        if let Some(ticket) = pending.tickets.remove(&id) {
            let ticket = ticket.upgrade()?;
            ticket.fill(match (envelope.result, envelope.error) {
                (Some(result), None) => Reply::Result(result.to_owned()),
                (_, error) => Reply::Error(ServerError::read(error)),
            });
            return Some(response(id));
        }
        if pending.given_up.remove(id) {
            return None;
        }
        let handshake = pending.handshake.iter().position(|(known, _)| *known == id);
        let superseded = handshake.is_some_and(|at| at + 1 < pending.handshake.len());
        let era = handshake.map(|at| pending.handshake[at].1);
        drop(pending);
        if superseded {
            // rmcp probes for ten seconds and then sends `initialize`; a slow server still answers the probe, and
            // rmcp would take that for a reply to `initialize` with the wrong id.
            return None;
        }
        Some(match serde_json::from_str(text) {
            Ok(ServerJsonRpcMessage::Response(response))
                if era == Some(Era::Discover)
                    && !matches!(response.result, ServerResult::DiscoverResult(_)) =>
            {
                // Some servers of the earlier era answer every unknown method with an empty result.
                error(id, ErrorCode::METHOD_NOT_FOUND, "no such method")
            }
            Ok(message) => message,
            Err(_) => match envelope.error {
                Some(raw) => {
                    let ServerError { code, message, .. } = ServerError::read(Some(raw));
                    let code = i32::try_from(code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
                    error(id, code, message)
                }
                None => error(id, ErrorCode::INTERNAL_ERROR, "the reply can't be read"),
            },
        })
    }

    /// Takes it that a message was over the limit; what rmcp is told of it.
    pub(super) fn take_long_line(
        &self,
        id: Option<i64>,
        bytes: usize,
    ) -> Option<ServerJsonRpcMessage> {
        let Some(id) = id else {
            self.0
                .log
                .noise(&format!("(a line of {bytes} bytes was left out)"));
            return None;
        };
        let mut pending = self.pending();
        let Some(ticket) = pending.tickets.remove(&id) else {
            if pending.given_up.remove(id) {
                return None;
            }
            return Some(error(
                id,
                ErrorCode::INTERNAL_ERROR,
                format!("the reply of {bytes} bytes is too long"),
            ));
        };
        ticket.upgrade()?.fill(Reply::TooLong { bytes });
        Some(response(id))
    }

    fn take_progress(&self, envelope: &Envelope<'_>) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            progress_token: &'a RawValue,
            progress: f64,
            total: Option<f64>,
            message: Option<String>,
        }
        let Some(params) = envelope
            .params
            .and_then(|raw| serde_json::from_str::<Params<'_>>(raw.get()).ok())
        else {
            return;
        };
        let token = params.progress_token.get().trim_matches('"').parse();
        let ticket = token
            .ok()
            .and_then(|token: i64| self.pending().progress.get(&token)?.upgrade());
        if let Some(ticket) = ticket {
            ticket.progress(Progress {
                progress: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }

    /// Remembers what must be known of a request before the server can answer it.
    pub(super) fn register(&self, message: &ClientJsonRpcMessage) {
        let JsonRpcMessage::Request(message) = message else {
            return;
        };
        let NumberOrString::Number(id) = message.id else {
            return;
        };
        let mut pending = self.pending();
        match &message.request {
            ClientRequest::InitializeRequest(_) => pending.handshake.push((id, Era::Initialize)),
            ClientRequest::DiscoverRequest(_) => pending.handshake.push((id, Era::Discover)),
            request => {
                let Some(ticket) = request.extensions().get::<Ticket>() else {
                    return;
                };
                ticket.mark_sent();
                pending.forget_tickets();
                pending.progress.retain(|_, ticket| ticket.is_wanted());
                pending.tickets.insert(id, ticket.downgrade());
                if let Some(token) = request.get_meta().get_progress_token()
                    && let NumberOrString::Number(token) = token.0
                {
                    pending.progress.insert(token, ticket.downgrade());
                }
            }
        }
    }
}

impl Pending {
    /// Forgets the tickets for which nobody waits any more; of calls their ids are kept.
    fn forget_tickets(&mut self) {
        let given_up = &mut self.given_up;
        self.tickets.retain(|id, ticket| {
            if ticket.is_given_up() {
                given_up.add(*id);
            }
            ticket.is_wanted()
        });
    }
}

/// What rmcp is told of a reply that went to a ticket.
fn response(id: i64) -> ServerJsonRpcMessage {
    JsonRpcMessage::Response(JsonRpcResponse {
        jsonrpc: JsonRpcVersion2_0,
        id: NumberOrString::Number(id),
        result: ServerResult::empty(()),
    })
}

fn error(
    id: i64,
    code: ErrorCode,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> ServerJsonRpcMessage {
    JsonRpcMessage::Error(JsonRpcError::new(
        Some(NumberOrString::Number(id)),
        ErrorData::new(code, message, None),
    ))
}
