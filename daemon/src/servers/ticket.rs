//! What a request carries through rmcp so that its reply comes back as the bytes that the server sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Progress;
use super::asking::Asker;

/// What a server answered, as it was sent.
#[derive(Debug)]
pub(super) enum Reply {
    /// The result.
    Result(Box<RawValue>),
    /// A protocol error.
    Error(ServerError),
    /// The reply was over the limit and was not kept.
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// There is none, while the connection may well go on.
    Lost(Lost),
}

/// Why a request that travels on its own has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// What the server did, in a few words.
    pub(super) what: String,
    /// What to do about it.
    pub(super) hint: Option<String>,
    /// Whether the server said that it did not take the request, and will take it in a new session.
    pub(super) resend: bool,
    /// Whether nothing answered where the server should be, so that it is to be had for nobody.
    pub(super) unreachable: bool,
}

impl Lost {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
            resend: false,
            unreachable: false,
        }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(super) fn resend(self) -> Self {
        Self {
            resend: true,
            ..self
        }
    }

    pub(super) fn unreachable(self) -> Self {
        Self {
            unreachable: true,
            ..self
        }
    }
}

/// A JSON-RPC error of a server.
#[derive(Debug)]
pub(super) struct ServerError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Box<RawValue>>,
}

impl ServerError {
    /// Reads an error object; what is missing or of another type is taken as it stands.
    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Object<'a> {
            #[serde(borrow)]
            code: Option<&'a RawValue>,
            message: Option<String>,
            data: Option<Box<RawValue>>,
        }
        let text = raw.map_or("no error object", RawValue::get);
        match serde_json::from_str::<Object<'_>>(text) {
            Ok(object) => Self {
                code: object
                    .code
                    .and_then(|code| code.get().parse().ok())
                    .unwrap_or_default(),
                message: object.message.unwrap_or_default(),
                data: object.data,
            },
            Err(_) => Self {
                code: 0,
                message: text.to_owned(),
                data: None,
            },
        }
    }
}

/// Belongs to one request; rides in its extensions, which are never sent.
#[derive(Clone, Debug)]
pub(super) struct Ticket(Arc<State>);

/// A ticket that nobody may wait for any more.
#[derive(Debug)]
pub(super) struct WeakTicket {
    state: Weak<State>,
    has_asker: bool,
}

#[derive(Debug, Default)]
struct State {
    sent: AtomicBool,
    reply: Mutex<Option<Reply>>,
    progress: Option<mpsc::UnboundedSender<Progress>>,
    asker: Option<Asker>,
}

impl Ticket {
    /// Makes a ticket; progress of its request goes to `progress`.
    pub(super) fn new(progress: Option<mpsc::UnboundedSender<Progress>>) -> Self {
        Self::with_asker(progress, None)
    }

    /// The same for a call, whose caller can be asked.
    pub(super) fn with_asker(
        progress: Option<mpsc::UnboundedSender<Progress>>,
        asker: Option<Asker>,
    ) -> Self {
        Self(Arc::new(State {
            progress,
            asker,
            ..State::default()
        }))
    }

    /// The way to whoever made the call.
    pub(super) fn asker(&self) -> Option<&Asker> {
        self.0.asker.as_ref()
    }

    /// Resolves when the time of the request is over.
    pub(super) async fn late(&self, deadline: Instant) {
        match self.asker() {
            Some(asker) => asker.late(deadline).await,
            None => sleep_until(deadline).await,
        }
    }

    /// The reply, once.
    pub(super) fn take_reply(&self) -> Option<Reply> {
        self.0
            .reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Whether the request may have reached the server, so that it must not be sent again.
    pub(super) fn was_sent(&self) -> bool {
        self.0.sent.load(Ordering::SeqCst)
    }

    pub(super) fn mark_sent(&self) {
        self.0.sent.store(true, Ordering::SeqCst);
    }

    pub(super) fn fill(&self, reply: Reply) {
        *self.0.reply.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply);
    }

    pub(super) fn progress(&self, progress: Progress) {
        if let Some(sender) = &self.0.progress {
            // Whoever asked for progress may have stopped listening.
            let _ = sender.send(progress);
        }
    }

    pub(super) fn downgrade(&self) -> WeakTicket {
        WeakTicket {
            state: Arc::downgrade(&self.0),
            has_asker: self.0.asker.is_some(),
        }
    }
}

impl WeakTicket {
    pub(super) fn upgrade(&self) -> Option<Ticket> {
        self.state.upgrade().map(Ticket)
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.state.strong_count() > 0
    }

    /// Whether it is that of a call for which nobody waits any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.has_asker && !self.is_wanted()
    }
}
