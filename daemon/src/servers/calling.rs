//! The life of one call: a lease of the connection, the request, and what became of it. It is never sent twice: only a server that
//! wants to know more first gets it again, with that.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::asked::Asked;
use super::asking::Asker;
use super::connection::RequestError;
use super::handle::Handle;
use super::input::{Inputs, MAX_ROUNDS, Wanted};
use super::questions::Addressee;
use super::supervisor::{Lease, Message, Settings};
use super::ticket::Ticket;
use super::{CallOptions, CallResult, Progress, deadline, failure};

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

/// For how long, and for whom.
struct Terms<'a> {
    limit: Duration,
    /// When the whole of it has to be over, where whoever calls limits that.
    whole: Option<Instant>,
    /// When its server has to have answered, from when it was sent first.
    ends: Option<Instant>,
    progress: Option<mpsc::UnboundedSender<Progress>>,
    asker: Option<Asker>,
    cancelled: &'a CancellationToken,
}

/// What a server answered.
enum Answered {
    Done(CallResult),
    /// It wants to know more first.
    Asks(Wanted),
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
        let whole = options.timeout.map(deadline);
        let mut terms = Terms {
            limit: options.timeout.unwrap_or(self.settings.timeout),
            whole,
            ends: whole,
            progress: options.progress,
            // A limit on the server's time alone is none on that of whoever is asked.
            asker: options.questions.map(|to| Asker::new(to, whole.is_none())),
            cancelled,
        };
        let mut state_lost = None;
        let mut inputs = Inputs::default();
        let mut rounds = 0;
        // Held while the server waits for an answer: an edit of its entry lets it finish what it has begun.
        let mut held = None;
        let outcome = loop {
            let (lease, reply) = self.exchange(&mut terms, &inputs, held.take()).await?;
            state_lost = state_lost.or_else(|| self.state_lost(&lease));
            let answered = match reply {
                Ok(raw) => self.result(raw),
                Err(RequestError::TimedOut) => Err(self.timed_out(terms.limit)),
                Err(RequestError::BrokeOff(_)) if self.stopping.is_cancelled() => {
                    Err(self.stopped())
                }
                Err(error) => Err(self.failed(error)),
            };
            match answered {
                Ok(Answered::Done(result)) => break Ok(result),
                Ok(Answered::Asks(wanted)) if rounds < MAX_ROUNDS => {
                    rounds += 1;
                    match self.inputs(&lease, &terms, wanted).await {
                        Ok(wanted) => {
                            inputs = wanted;
                            held = Some(lease);
                        }
                        Err(problem) => break Err(problem),
                    }
                }
                Ok(Answered::Asks(_)) => {
                    let message =
                        format!("the tool asks for further input for the {rounds}th time");
                    break Err(self.at_tool(&message));
                }
                Err(problem) => break Err(problem),
            }
        };
        match outcome {
            Ok(result) => Ok(CallResult {
                state_lost,
                ..result
            }),
            Err(problem) => Err(state_lost.into_iter().fold(problem, with_hint)),
        }
    }

    /// Sends it once, by the lease that is held already if that connection lives, and waits for the reply.
    async fn exchange(
        &self,
        terms: &mut Terms<'_>,
        inputs: &Inputs,
        held: Option<Lease>,
    ) -> Result<(Lease, Result<Box<RawValue>, RequestError>), Problem> {
        let mut held = held.filter(|lease| !lease.connection.is_closed());
        for _ in 0..TRIES {
            let lease = match held.take() {
                Some(lease) => lease,
                None => {
                    self.acquire(terms.limit, terms.whole, terms.cancelled)
                        .await?
                }
            };
            self.settled(&lease, terms).await?;
            let ends = *terms.ends.get_or_insert_with(|| deadline(terms.limit));
            let ticket = Ticket::with_asker(terms.progress.clone(), terms.asker.clone());
            let request = self.asked.request(inputs);
            let reply = lease
                .connection
                .request(request, ticket, ends, terms.cancelled)
                .await;
            if !matches!(reply, Err(RequestError::NotSent)) {
                return Ok((lease, reply));
            }
            // The time of the server that ended is not that of the next.
            terms.ends = terms.whole;
        }
        Err(self.failed(RequestError::NotSent))
    }

    /// Takes note of the start of the server that was called, and says why what this session did at the one before is gone.
    fn state_lost(&self, lease: &Lease) -> Option<String> {
        let history = &self.handle.history;
        let state_lost = history
            .lost(&self.session, lease.start)
            .map(|end| format!("the server was restarted since this session called it last, its earlier state is gone: {end}"));
        history.called(&self.session, lease.start);
        state_lost
    }

    /// Gets what the server wants to know, within the time that the call has.
    async fn inputs(
        &self,
        lease: &Lease,
        terms: &Terms<'_>,
        wanted: Wanted,
    ) -> Result<Inputs, Problem> {
        let asker = terms.asker.clone();
        let to = asker.map_or(Addressee::Nobody, Addressee::Caller);
        let late = async {
            match (&terms.asker, terms.ends) {
                (Some(asker), Some(ends)) => asker.late(ends).await,
                // Nobody is asked, so that nothing is waited for.
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            inputs = wanted.answered(lease.connection.answers(), &to) => {
                inputs.map_err(|why| self.at_tool(&why))
            }
            () = terms.cancelled.cancelled() => Err(failure::interrupted(&self.server, self.asked.place())),
            () = late => Err(self.timed_out(terms.limit)),
        }
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
        tokio::select! {
            biased;
            lease = lease => lease.unwrap_or_else(|_| Err(self.stopped())),
            () = cancelled.cancelled() => Err(failure::interrupted(&self.server, self.asked.place())),
            () = late(deadline) => Err(self.timed_out(limit)),
        }
    }

    /// Waits for a server that was started just now to know its roots.
    async fn settled(&self, lease: &Lease, terms: &Terms<'_>) -> Result<(), Problem> {
        tokio::select! {
            biased;
            () = lease.connection.settled() => Ok(()),
            () = terms.cancelled.cancelled() => Err(failure::interrupted(&self.server, self.asked.place())),
            () = late(terms.whole) => Err(self.timed_out(terms.limit)),
        }
    }

    fn result(&self, raw: Box<RawValue>) -> Result<Answered, Problem> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Outcome<'a> {
            #[serde(borrow, default)]
            is_error: Option<&'a RawValue>,
            #[serde(borrow, default)]
            result_type: Option<&'a RawValue>,
        }
        let outcome: Outcome<'_> = serde_json::from_str(raw.get())
            .map_err(|_| self.at_tool("the server's result is not an object"))?;
        match outcome.result_type.map(RawValue::get) {
            Some(r#""input_required""#) => Wanted::read(&raw)
                .map(Answered::Asks)
                .map_err(|why| self.at_tool(&format!("the tool {why}"))),
            Some(r#""task""#) => Err(self
                .at_tool("the tool started a task instead of answering, and shelf can't follow tasks")
                .hint("the task may well go on: the server's authors can say how its tool is called without one")),
            _ => {
                let is_error = outcome.is_error.is_some_and(|flag| flag.get() == "true");
                Ok(Answered::Done(CallResult {
                    raw,
                    is_error,
                    state_lost: None,
                }))
            }
        }
    }

    fn at_tool(&self, message: &str) -> Problem {
        failure::server(&self.server, message)
            .at_server(self.server.as_str(), Some(self.asked.place()))
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

/// Resolves when the deadline has passed, if there is one.
async fn late(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn with_hint(mut problem: Problem, more: String) -> Problem {
    let hint = match problem.hint.take() {
        Some(hint) => format!("{hint}; {more}"),
        None => more,
    };
    problem.hint(hint)
}
