//! What is at the other end of a connection: how it ended, and how it is ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::http::Session;
use super::launcher::Process;
use super::server_log::{ServerLog, wait_drained};

/// How long the end of a server's standard error and its exit status are waited for.
pub(super) const END_LIMIT: Duration = Duration::from_secs(1);

/// How a server ended, or failed to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// What happened, in a few words.
    pub(super) what: String,
    /// The end of its standard error, possibly empty; `None` for what has none.
    pub(super) stderr: Option<String>,
    /// What to do about it.
    pub(super) hint: Option<String>,
}

impl Ending {
    /// An ending of which no more is known.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            stderr: None,
            hint: None,
        }
    }
}

/// The other end of a connection.
pub(super) enum FarEnd {
    /// A process of ours, and where its standard error goes.
    Process {
        process: Box<dyn Process>,
        log: ServerLog,
        drained: CancellationToken,
    },
    /// A server that runs elsewhere.
    Http(Arc<Session>),
}

impl FarEnd {
    /// Says what happened, with what is known at this moment.
    pub(super) fn now(&self, what: &str) -> Ending {
        match self {
            Self::Process { log, .. } => Ending {
                what: what.to_owned(),
                stderr: Some(log.tail()),
                hint: None,
            },
            Self::Http(session) => lost(session).unwrap_or_else(|| Ending::new(what)),
        }
    }

    /// Says how it ended, with a process's exit status and the end of its standard error where they can be had.
    pub(super) async fn ended(&mut self, what: &str) -> Ending {
        match self {
            Self::Process {
                process,
                log,
                drained,
            } => {
                let what = match timeout(END_LIMIT, process.wait()).await {
                    Ok(Ok(status)) => format!("{what} ({status})"),
                    Ok(Err(_)) | Err(_) => what.to_owned(),
                };
                wait_drained(drained, END_LIMIT).await;
                Ending {
                    what,
                    stderr: Some(log.tail()),
                    hint: None,
                }
            }
            Self::Http(_) => self.now(what),
        }
    }

    /// Whether it said itself why it can't be had, so that asking it in another way is no use.
    pub(super) fn refuses(&self) -> bool {
        match self {
            Self::Process { .. } => false,
            Self::Http(session) => session.lost().is_some(),
        }
    }

    /// Ends it and waits until nothing is left of it here.
    pub(super) async fn stop(self) {
        match self {
            Self::Process { process, .. } => process.stop().await,
            Self::Http(session) => session.close().await,
        }
    }
}

fn lost(session: &Session) -> Option<Ending> {
    let lost = session.lost()?;
    Some(Ending {
        what: lost.what,
        stderr: None,
        hint: lost.hint,
    })
}
