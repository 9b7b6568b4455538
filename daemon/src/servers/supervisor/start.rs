//! Starting a server: the process, the handshake in the right era, the first list.

use std::sync::Arc;

use skills::problem::Problem;
use skills::server::Phase;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Running, Supervisor};
use crate::cache::Era;
use crate::config::Access;
use crate::servers::connection::{Connection, OpenError};
use crate::servers::far_end::Ending;
use crate::servers::questions::Answers;
use crate::servers::server_log::ServerLog;
use crate::servers::{deadline, failure, listing};

impl Supervisor {
    /// Starts the server and lists its tools.
    pub(super) async fn start(&mut self) -> Result<Running, Problem> {
        self.say(Phase::Starting, self.state.stale);
        let deadline = deadline(self.settings.borrow().start_timeout);
        let log = ServerLog::create(&self.log_path);
        let attempt = self.attempt.begin(&self.stopping);
        let started = match self.open(deadline, &log, &attempt).await {
            Ok(connection) => {
                let listed = listing::list(&self.name, &connection, deadline, &attempt).await;
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
                self.backoff.reset();
                self.say(Phase::Ready, None);
                Ok(Running {
                    connection,
                    start: self.history.started(),
                    idle_since: Instant::now(),
                    relist: None,
                    listing: None,
                    listed: Instant::now(),
                    refreshers: Vec::new(),
                })
            }
            Err((problem, summary)) => {
                let stale = self.known.get().as_ref().map(|known| known.listed);
                if attempt.is_cancelled() {
                    // It did not fail: somebody stopped it.
                    self.history.ended("it was stopped");
                    self.say(Phase::Cold, stale);
                    return Err(problem);
                }
                self.history.failed(summary.clone());
                self.backoff.failed(problem.clone(), Instant::now());
                let outlook = self.backoff.outlook(self.settings.borrow().restart);
                self.say(Phase::Failed(summary + &outlook), stale);
                Err(problem)
            }
        }
    }

    /// Starts the process or connects, and once more in the other era where that may help: a server of one era may end, or
    /// answer nonsense, when it is spoken to in the other.
    async fn open(
        &self,
        deadline: Instant,
        log: &ServerLog,
        attempt: &CancellationToken,
    ) -> Result<Connection, Ending> {
        let mut era = match self.access {
            Access::Process(_) => self.remembered_era(),
            // A probe costs no start there, and what is behind a URL may become another server.
            Access::Http(_) => None,
        };
        let mut again = true;
        loop {
            match self.open_in(era, deadline, log, attempt).await {
                Ok(connection) => return Ok(connection),
                Err(OpenError {
                    retry: Some(other), ..
                }) if again && Instant::now() < deadline => {
                    again = false;
                    era = Some(other);
                    log.forget();
                }
                Err(OpenError { ending, .. }) => return Err(ending),
            }
        }
    }

    async fn open_in(
        &self,
        era: Option<Era>,
        deadline: Instant,
        log: &ServerLog,
        attempt: &CancellationToken,
    ) -> Result<Connection, OpenError> {
        let answers = Answers::new(self.roots.clone(), log.clone());
        match &self.access {
            Access::Process(launch) => {
                let launched = self.launcher.launch(launch).map_err(|error| OpenError {
                    ending: Ending {
                        stderr: Some(String::new()),
                        ..Ending::new(format!("could not be started: {error}"))
                    },
                    retry: None,
                })?;
                self.history.launched(launched.process.guard());
                Connection::open(launched, era, log, answers, deadline, attempt).await
            }
            Access::Http(endpoint) => {
                let client = Arc::clone(&self.client);
                Connection::open_http(client, endpoint, era, log, answers, deadline, attempt).await
            }
        }
    }

    /// The era that this very configuration answered in before.
    fn remembered_era(&self) -> Option<Era> {
        let known = self.known.get();
        let known = known.as_ref()?;
        known.era.filter(|_| known.freshness == self.freshness)
    }
}
