//! The life of one call: a lease of the connection, the request, and what became of it. It is never sent twice.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::asked::Asked;
use super::connection::RequestError;
use super::handle::Handle;
use super::supervisor::{Lease, Message, Settings};
use super::ticket::Ticket;
use super::{CallOptions, CallResult, deadline, failure};

/// How often a call that was not sent is tried: a server may have ended unseen while it was idle.
const TRIES: usize = 2;

/// A call and the way to its server.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) server: ServerName,
    pub(super) asked: Asked,
    pub(super) handle: Handle,
    /// Who calls; empty when nobody knows.
    pub(super) session: String,
    pub(super) settings: Settings,
    /// Cancelled when the server's entry changed or went, or all servers end.
    pub(super) stopping: CancellationToken,
    /// Cancelled when all servers end.
    pub(super) ending: CancellationToken,
}

impl Call {
    /// Runs the call; when the returned future is dropped, it is cancelled at the server too.
    pub(super) async fn run_to_end(self, options: CallOptions) -> Result<CallResult, Problem> {
        let cancelled = options.cancelled.child_token();
        let _cancel_when_dropped = cancelled.clone().drop_guard();
        let task = tokio::spawn(async move { self.run(options, &cancelled).await });
        task.await.unwrap_or_else(|error| {
            let message = format!("the call ended without a result: {error}");
            Err(Problem::new(ProblemKind::Internal, message))
        })
    }

    async fn run(
        self,
        options: CallOptions,
        cancelled: &CancellationToken,
    ) -> Result<CallResult, Problem> {
        let whole_deadline = options.timeout.map(deadline);
        let limit = options.timeout.unwrap_or(self.settings.timeout);
        for _ in 0..TRIES {
            let lease = self.acquire(limit, whole_deadline, cancelled).await?;
            let deadline = whole_deadline.unwrap_or_else(|| deadline(limit));
            let ticket = Ticket::new(options.progress.clone());
            let reply = lease
                .connection
                .request(self.asked.request(), ticket, deadline, cancelled)
                .await;
            if matches!(reply, Err(RequestError::NotSent)) {
                continue;
            }
            let history = &self.handle.history;
            let state_lost = history
                .lost(&self.session, lease.start)
                .map(|end| format!("the server was restarted since this session called it last, its earlier state is gone: {end}"));
            history.called(&self.session, lease.start);
            let outcome = match reply {
                Ok(raw) => self.result(raw),
                Err(RequestError::TimedOut) => Err(self.timed_out(limit)),
                Err(RequestError::BrokeOff(_)) if self.stopping.is_cancelled() => {
                    Err(self.stopped())
                }
                Err(error) => Err(self.failed(error)),
            };
            return match outcome {
                Ok(result) => Ok(CallResult {
                    state_lost,
                    ..result
                }),
                Err(problem) => Err(state_lost.into_iter().fold(problem, with_hint)),
            };
        }
        Err(self.failed(RequestError::NotSent))
    }

    async fn acquire(
        &self,
        limit: Duration,
        deadline: Option<Instant>,
        cancelled: &CancellationToken,
    ) -> Result<Lease, Problem> {
        let (ready, lease) = oneshot::channel();
        self.handle
            .inbox
            .send(Message::Acquire(ready))
            .map_err(|_| self.stopped())?;
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            lease = lease => lease.unwrap_or_else(|_| Err(self.stopped())),
            () = cancelled.cancelled() => Err(failure::interrupted(&self.server, self.asked.place())),
            () = late => Err(self.timed_out(limit)),
        }
    }

    fn result(&self, raw: Box<RawValue>) -> Result<CallResult, Problem> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Outcome<'a> {
            #[serde(borrow, default)]
            is_error: Option<&'a RawValue>,
            #[serde(borrow, default)]
            result_type: Option<&'a RawValue>,
        }
        let at_tool = |message: &str| {
            failure::server(&self.server, message)
                .at_server(self.server.as_str(), Some(self.asked.place()))
        };
        let outcome: Outcome<'_> = serde_json::from_str(raw.get())
            .map_err(|_| at_tool("the server's result is not an object"))?;
        match outcome.result_type.map(RawValue::get) {
            Some(r#""input_required""#) => Err(at_tool(
                "the tool asks for further input, which is not supported yet",
            )),
            Some(r#""task""#) => Err(at_tool(
                "the tool started a task instead of answering, which is not supported yet",
            )),
            _ => {
                let is_error = outcome.is_error.is_some_and(|flag| flag.get() == "true");
                Ok(CallResult {
                    raw,
                    is_error,
                    state_lost: None,
                })
            }
        }
    }

    fn failed(&self, error: RequestError) -> Problem {
        if let RequestError::Refused(said) = &error
            && let Some(problem) = self.asked.not_found(said)
        {
            return problem.at_server(self.server.as_str(), Some(self.asked.place()));
        }
        failure::of_call(
            &self.server,
            self.asked.place(),
            error,
            &self.handle.log_path,
        )
    }

    fn stopped(&self) -> Problem {
        let why = if self.ending.is_cancelled() {
            "the shelf ends"
        } else {
            "its entry in the configuration changed"
        };
        failure::server(
            &self.server,
            format!("the server was stopped before it answered, since {why}"),
        )
        .at_server(self.server.as_str(), Some(self.asked.place()))
    }

    fn timed_out(&self, limit: Duration) -> Problem {
        failure::timed_out(&self.server, self.asked.place(), Some(limit))
    }
}

fn with_hint(mut problem: Problem, more: String) -> Problem {
    let hint = match problem.hint.take() {
        Some(hint) => format!("{hint}; {more}"),
        None => more,
    };
    problem.hint(hint)
}
