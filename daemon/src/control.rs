//! The control socket, as the daemon serves it: who may connect, and what a request does.
//!
//! Every call passes here: found, checked against its schema, let through the gate, logged exactly once.

mod approvals;
mod call;
pub(crate) mod changes;
mod connection;
mod elicitation;
mod lines;
mod loads;
pub(crate) mod methods;
mod offers;
mod payload;
mod pins;
mod scope;
pub(crate) mod search;
mod servers;
mod validators;
mod waiting;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::access_log::{AccessLog, Event};
use crate::caller::Callers;
use crate::catalog::{Snapshots, Updates};
use crate::gate::Gate;
use crate::journal;
use crate::pins::Pins;
use crate::protocol::{About, ErrorObject, Nothing, Refused, method};
use crate::searching::Searcher;
use crate::servers::Servers;

pub use validators::Validators;

/// How long the end of the daemon waits for replies that are under way.
const LAST_REPLIES: Duration = Duration::from_secs(3);

/// How long whoever started the daemon may take to connect, however short it may be idle.
const FIRST_CONNECTION: Duration = Duration::from_secs(10);

/// How long accepting rests after it failed (no file descriptor left, for one).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Everything that requests are answered from.
#[derive(Debug)]
pub struct Context {
    /// The catalog.
    pub snapshots: Snapshots,
    /// The search index.
    pub searcher: Searcher,
    /// The servers.
    pub servers: Servers,
    /// What every call passes.
    pub gate: Arc<Gate>,
    /// The access log.
    pub log: AccessLog,
    /// Where the journal is.
    pub journal: journal::Place,
    /// What is trusted.
    pub pins: Pins,
    /// The way to the catalog's writer.
    pub updates: Updates,
    /// Identifies who asks.
    pub callers: Arc<Callers>,
    /// What this daemon is.
    pub about: About,
    /// Where results that are too long for a line go: the runtime directory.
    pub runtime: PathBuf,
    /// Ends the daemon; also what `stop` does.
    pub shutdown: CancellationToken,
    /// The schemas, made ready.
    pub validators: Validators,
}

/// Serves the socket until the daemon is shut down, then waits a moment for replies that are under way.
///
/// Shuts the daemon down itself when there has been no connection for `idle`. Whoever connects in that very moment is told
/// nothing, and has to look for a daemon again.
pub async fn serve(listener: UnixListener, context: Arc<Context>, idle: Option<Duration>) {
    let mut connections = JoinSet::new();
    let mut idle_since = Instant::now();
    let mut awaited = FIRST_CONNECTION;
    loop {
        let left = idle
            .filter(|_| connections.is_empty())
            .map(|idle| idle.max(awaited).saturating_sub(idle_since.elapsed()));
        tokio::select! {
            () = context.shutdown.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(welcome(stream, context.clone()));
                }
                Err(e) => {
                    tracing::warn!("a connection could not be accepted: {e}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {
                idle_since = Instant::now();
                awaited = Duration::ZERO;
            }
            () = tokio::time::sleep(left.unwrap_or_default()), if left.is_some() => {
                context.shutdown.cancel();
            }
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_REPLIES, ended).await.is_err() {
        tracing::warn!("the last connections were cut off");
    }
}

/// Checks who connects, and serves them.
async fn welcome(stream: UnixStream, context: Arc<Context>) {
    let served = async {
        let credentials = stream.peer_cred()?;
        if !admitted(credentials.uid(), context.about.uid) {
            return connection::refuse(stream, credentials.uid()).await;
        }
        let pid = credentials
            .pid()
            .and_then(|pid| u32::try_from(pid).ok())
            .unwrap_or_default();
        let caller = context.callers.identify(pid, credentials.uid());
        connection::serve(stream, caller, context).await
    };
    // A client that is gone is no news.
    if let Err(e) = served.await {
        tracing::debug!("a connection broke off: {e}");
    }
}

/// Whether a user may use the socket: the daemon's own, and root, who could do anything anyway.
const fn admitted(caller: u32, daemon: u32) -> bool {
    caller == daemon || caller == 0
}

impl connection::Service for Context {
    fn about(&self) -> &About {
        &self.about
    }

    fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    async fn keep(&self, json: String) -> io::Result<PathBuf> {
        payload::keep(&self.runtime, json).await
    }

    async fn handle(
        self: Arc<Self>,
        request: connection::Request,
    ) -> Result<Box<RawValue>, ErrorObject> {
        let snapshot = self.snapshots.current();
        match request.method.as_str() {
            method::STATUS => {
                let Nothing {} = parameters(&request)?;
                let policy = self.gate.standing(request.caller.uid);
                let mut status = methods::status(&snapshot, &self.about, policy);
                status.problems.extend(self.gate.problems(&snapshot));
                status.problems.extend(self.log.problem());
                answer(&status)
            }
            method::LIST => {
                let filter = parameters(&request)?;
                let lines = methods::lines(&*snapshot);
                answer(&methods::list(&*snapshot, lines, &filter)?)
            }
            method::DESCRIBE => {
                let asked: crate::protocol::Describe = parameters(&request)?;
                let limit = Duration::from_millis(asked.wait_ms);
                let known = self.when_known(&asked.entry, limit, &request).await;
                let described = known.and_then(|known| methods::describe(&known, &asked.entry));
                if asked.shown {
                    let (entry, outcome) = match &described {
                        Ok(description) => (description.id.clone(), Ok(())),
                        Err(problem) => (methods::id_as_asked(&asked.entry), Err(problem.kind)),
                    };
                    let event = Event::Show { entry, outcome };
                    self.log.record(request.caller, event).await;
                }
                answer(&described?)
            }
            method::SEARCH => {
                let asked = parameters(&request)?;
                answer(&self.search(asked, &request).await?)
            }
            method::EVALUATE => answer(&self.evaluate(parameters(&request)?).await?),
            method::LOAD => {
                let asked = parameters(&request)?;
                let catalog = &self.about.catalog;
                answer(&loads::load(&self.log, catalog, &snapshot, &asked, &request.caller).await?)
            }
            method::CHANGES => {
                let asked = parameters(&request)?;
                answer(&changes::changes(&self.journal, &self.snapshots, asked).await?)
            }
            method::DIFFERENCES => answer(&self.differences(parameters(&request)?).await?),
            method::TRUST => answer(&self.trust(parameters(&request)?, &request).await?),
            method::OVERVIEW => {
                let asked: crate::protocol::Overview = parameters(&request)?;
                answer(&snapshot.overview_in_bytes(asked.max_bytes))
            }
            method::CALL => {
                let mut asked = parameters(&request)?;
                let found = call::find(&self, &mut asked, &request).await;
                answer(&call::call(&self, found, asked, request).await?)
            }
            method::REFUSED => {
                let Refused {
                    entry,
                    arguments,
                    kind,
                } = parameters(&request)?;
                let found = methods::find(&snapshot, &entry);
                let event = Event::Refused {
                    entry: found.map_or_else(|_| methods::id_as_asked(&entry), |(id, _)| id),
                    arguments,
                    kind,
                };
                self.log.record(request.caller, event).await;
                answer(&Nothing {})
            }
            method::READ => answer(&offers::read(&self, parameters(&request)?, request).await?),
            method::PROMPT => answer(&offers::prompt(&self, parameters(&request)?, request).await?),
            method::OFFERS => answer(&offers::list(&snapshot, &parameters(&request)?)?),
            method::SERVERS => answer(&servers::report(&self, &snapshot).await?),
            method::CONTROL => {
                let asked = parameters(&request)?;
                servers::control(&self, &snapshot, asked, &request.cancelled).await?;
                answer(&Nothing {})
            }
            method::APPROVALS => {
                let Nothing {} = parameters(&request)?;
                answer(&self.approvals()?)
            }
            method::APPROVE => answer(&self.approve(parameters(&request)?, &request).await?),
            method::DENY => answer(&self.deny(parameters(&request)?, &request).await?),
            method::FLUSH => {
                self.log.flush().await;
                answer(&Nothing {})
            }
            method::STOP => {
                self.shutdown.cancel();
                answer(&Nothing {})
            }
            other => Err(ErrorObject::protocol(
                ErrorObject::METHOD_NOT_FOUND,
                format!("there is no method `{other}`"),
            )),
        }
    }
}

fn parameters<T: DeserializeOwned>(request: &connection::Request) -> Result<T, ErrorObject> {
    serde_json::from_str(request.params.get()).map_err(|e| {
        ErrorObject::protocol(
            ErrorObject::INVALID_PARAMS,
            format!("the parameters of `{}` can't be read: {e}", request.method),
        )
    })
}

fn answer<T: Serialize>(value: &T) -> Result<Box<RawValue>, ErrorObject> {
    serde_json::value::to_raw_value(value).map_err(|e| {
        Problem::new(
            ProblemKind::Internal,
            format!("the answer can't be written: {e}"),
        )
        .into()
    })
}

#[cfg(test)]
mod tests {
    use super::admitted;

    #[test]
    fn only_the_own_user_and_root_are_admitted() {
        assert!(admitted(1000, 1000));
        assert!(admitted(0, 1000));
        assert!(!admitted(1001, 1000));
        assert!(!admitted(1000, 0));
    }
}
