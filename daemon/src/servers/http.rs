//! MCP over streamable HTTP, in both eras: each message is a request of its own, and what comes back goes through the same tap
//! as the lines of a process.
//!
//! Knows nothing of processes, and of the configuration only the expanded endpoint.

mod client;
mod connector;
mod events;
mod exchange;
mod listening;
mod lost;
mod outgoing;
mod parameters;
mod session;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, NumberOrString, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

pub(super) use self::client::SharedClient;
use self::outgoing::Outgoing;
pub(super) use self::session::Session;
use super::server_log::ServerLog;
use super::tap::Tap;
use super::ticket::Lost;
use crate::cache::Era;
use crate::config::Endpoint;

/// How long a message that has no reply may take.
const CONTROL_LIMIT: Duration = Duration::from_secs(10);

/// What rmcp sends and receives through.
#[derive(Debug)]
pub(super) struct HttpTransport {
    session: Arc<Session>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Ends all that is under way.
    _closing: DropGuard,
}

/// Prepares a session; nothing is sent before rmcp does. What the server sends that is no message goes to `log`.
pub(super) async fn open(
    client: Arc<SharedClient>,
    endpoint: Endpoint,
    log: ServerLog,
) -> Result<(Tap, Arc<Session>, HttpTransport), Lost> {
    let client = tokio::task::spawn_blocking(move || client.get())
        .await
        .unwrap_or_else(|error| Err(Lost::new(format!("can't be reached: {error}"))))?;
    let tap = Tap::new(log.clone());
    let (sender, incoming) = mpsc::channel(16);
    let session = Arc::new(Session::new(client, endpoint, tap.clone(), log, sender));
    let transport = HttpTransport {
        session: Arc::clone(&session),
        incoming,
        _closing: session.closed.clone().drop_guard(),
    };
    Ok((tap, session, transport))
}

impl HttpTransport {
    /// Starts the exchange for a request. It is under way at once; what becomes of it is received.
    fn request(&self, id: i64, message: Outgoing) {
        let session = Arc::clone(&self.session);
        let cancelled = session.begin(id, &message);
        tokio::spawn(async move {
            let exchange = exchange::run(&session, id, &message);
            let outcome = tokio::select! {
                biased;
                () = session.closed.cancelled() => Ok(()),
                () = cancelled.cancelled() => Ok(()),
                outcome = exchange => outcome,
            };
            session.finish(id);
            if let Err(lost) = outcome {
                session.fail(id, lost).await;
            }
        });
    }

    /// Cancels a request. In the later era the end of its reply's stream says so; in the earlier one a message does, before the
    /// stream is let go.
    fn cancel(&self, id: i64, message: Outgoing) {
        let session = Arc::clone(&self.session);
        tokio::spawn(async move {
            if session.tap.last_handshake() != Some(Era::Discover) {
                control(&session, &message).await;
            }
            session.cancel(id);
        });
    }
}

/// Sends a message that has no reply. It may be lost, as it may on a pipe whose other end has gone.
async fn control(session: &Session, message: &Outgoing) {
    if let Err(lost) = notify(session, message).await {
        session.log.noise(&format!(
            "(a message was not delivered: the server {})",
            lost.what
        ));
    }
}

async fn notify(session: &Session, message: &Outgoing) -> Result<(), Lost> {
    match timeout(CONTROL_LIMIT, exchange::notify(session, message)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Lost::new("did not answer in time")),
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = serde_json::to_vec(&message).map(Outgoing::new);
        // What must be waited for here: nothing may be asked of a server before it knows that it is initialized.
        let mut initialized = None;
        if let Ok(outgoing) = &outgoing {
            match &message {
                JsonRpcMessage::Request(request) => {
                    if let NumberOrString::Number(id) = request.id {
                        self.session.tap.register(&message);
                        self.request(id, outgoing.clone());
                    }
                }
                JsonRpcMessage::Notification(notification) => match &notification.notification {
                    ClientNotification::InitializedNotification(_) => {
                        initialized = Some((Arc::clone(&self.session), outgoing.clone()));
                    }
                    ClientNotification::CancelledNotification(cancelled) => {
                        if let Some(NumberOrString::Number(id)) = cancelled.params.request_id {
                            self.cancel(id, outgoing.clone());
                        }
                    }
                    _ => self.control(outgoing.clone()),
                },
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                    self.control(outgoing.clone());
                }
            }
        }
        async move {
            outgoing?;
            if let Some((session, message)) = initialized {
                if let Err(lost) = notify(&session, &message).await {
                    let error = io::Error::other(lost.what.clone());
                    session.end(lost);
                    return Err(error);
                }
                tokio::spawn(async move {
                    let closed = session.closed.clone();
                    closed
                        .run_until_cancelled(listening::listen(&session))
                        .await;
                });
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        tokio::select! {
            biased;
            message = self.incoming.recv() => message,
            () = self.session.closed.cancelled() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.session.closed.cancel();
        Ok(())
    }
}

impl HttpTransport {
    fn control(&self, message: Outgoing) {
        let session = Arc::clone(&self.session);
        tokio::spawn(async move { control(&session, &message).await });
    }
}
