//! The caller's end of the control socket: blocking, without a runtime, because a command must start at once.
//!
//! It knows how to ask, not how an answer is shown.

mod link;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};

use crate::protocol::{
    self, Call, CallReply, Describe, Description, ErrorObject, Hello, ListFilter, Listing, Message,
    Nothing, PayloadFile, Progress, Status, Welcome, method,
};
use link::{Link, Received};

/// How long a daemon may take over a request that only looks.
const ANSWER: Duration = Duration::from_secs(10);

/// How long an interrupted call waits for the daemon to say that it was cancelled.
const CANCELLATION: Duration = Duration::from_secs(3);

/// A connection to a daemon.
#[derive(Debug)]
pub struct Client {
    link: Link,
    last_id: u64,
    welcome: Welcome,
}

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The caller's own version.
    pub version: String,
    /// `SHELF_SESSION`, when it is set.
    pub session: Option<String>,
}

impl Client {
    /// Connects and greets.
    ///
    /// # Errors
    /// [`ProblemKind::Daemon`] when nobody listens or the daemon has another version, [`ProblemKind::Refused`] when it belongs to
    /// another user.
    pub fn connect(socket: &Path, identity: &Identity) -> Result<Self, Problem> {
        let stream = UnixStream::connect(socket).map_err(|e| unreachable(socket, &e))?;
        let mut client = Self {
            link: Link::new(stream),
            last_id: 0,
            welcome: Welcome {
                protocol: protocol::VERSION,
                version: String::new(),
                instance: String::new(),
            },
        };
        client.welcome = client.ask(
            method::HELLO,
            &Hello {
                protocol: protocol::VERSION,
                version: identity.version.clone(),
                session: identity.session.clone(),
            },
        )?;
        Ok(client)
    }

    /// What the daemon said of itself.
    pub const fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Asks for the state of the daemon.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn status(&mut self) -> Result<Status, Problem> {
        self.ask(method::STATUS, &Nothing {})
    }

    /// Asks for the entries that pass the filter.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn list(&mut self, filter: &ListFilter) -> Result<Listing, Problem> {
        self.ask(method::LIST, filter)
    }

    /// Asks for an entry in full.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn describe(&mut self, entry: &Describe) -> Result<Description, Problem> {
        self.ask(method::DESCRIBE, entry)
    }

    /// Asks for an entry in full, and waits for its server if that has not said its tools yet. `interrupt` becomes readable when
    /// the user no longer wants it.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn describe_when_known(
        &mut self,
        entry: &Describe,
        interrupt: Option<&OwnedFd>,
    ) -> Result<Description, Problem> {
        let limit = ANSWER + Duration::from_millis(entry.wait_ms);
        self.exchange(method::DESCRIBE, entry, Some(limit), interrupt, &mut |_| {})
    }

    /// Asks the daemon to unmount and end; it answers before it does.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn stop(&mut self) -> Result<(), Problem> {
        self.ask(method::STOP, &Nothing {}).map(|Nothing {}| ())
    }

    /// Calls a tool. `interrupt` becomes readable when the user no longer wants it: the call is then cancelled at the server too.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn call(
        &mut self,
        call: &Call,
        interrupt: Option<&OwnedFd>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<CallReply, Problem> {
        self.exchange(method::CALL, call, None, interrupt, on_progress)
    }

    /// Sends a request that only looks and waits for its answer.
    fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, Problem> {
        self.exchange(method, params, Some(ANSWER), None, &mut |_| {})
    }

    /// Sends a request and waits for its answer, at most for `limit`.
    fn exchange<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
        limit: Option<Duration>,
        mut interrupt: Option<&OwnedFd>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<T, Problem> {
        let id = self.send(method, params)?;
        let mut deadline = limit.map(|limit| Instant::now() + limit);
        let mut is_interrupted = false;
        loop {
            match self.link.receive(interrupt, deadline)? {
                Received::Message(message) if message.method.is_some() => {
                    self.asked(*message, on_progress)?;
                }
                Received::Message(message) => {
                    if let Some(answer) = answer_to(id, *message) {
                        return read(&answer?);
                    }
                }
                Received::Interrupted => {
                    (interrupt, is_interrupted) = (None, true);
                    deadline = Some(Instant::now() + CANCELLATION);
                    self.link.close_writing();
                }
                Received::TooLate if is_interrupted => {
                    return Err(Problem::new(
                        ProblemKind::Interrupted,
                        "interrupted; the daemon did not confirm that the call was cancelled",
                    ));
                }
                Received::TooLate => {
                    let limit = limit.unwrap_or_default();
                    return Err(Problem::new(
                        ProblemKind::Daemon,
                        format!("the daemon did not answer `{method}` in {limit:?}"),
                    ));
                }
            }
        }
    }

    fn send(&mut self, method: &str, params: &impl Serialize) -> Result<u64, Problem> {
        let params = serde_json::value::to_raw_value(params).map_err(|e| {
            Problem::new(
                ProblemKind::Internal,
                format!("the request can't be written: {e}"),
            )
        })?;
        self.last_id += 1;
        self.link
            .send(&Message::request(self.last_id, method, params))?;
        Ok(self.last_id)
    }

    /// Takes what the daemon says of its own accord: progress, and requests, of which none is known yet.
    fn asked(
        &mut self,
        message: Message,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Problem> {
        let method = message.method.unwrap_or_default();
        if let Some(id) = message.id {
            let error = ErrorObject::protocol(
                ErrorObject::METHOD_NOT_FOUND,
                format!("the caller has no method `{method}`"),
            );
            return self.link.send(&Message::response(Some(id), Err(error)));
        }
        if method == method::PROGRESS
            && let Some(params) = message.params
            && let Ok(progress) = serde_json::from_str(params.get())
        {
            on_progress(progress);
        }
        Ok(())
    }
}

/// The outcome of the request with this id; an error without an id is about the connection, and so about every request.
fn answer_to(id: u64, message: Message) -> Option<Result<Box<RawValue>, Problem>> {
    match (message.id, message.error, message.result) {
        (None, Some(error), _) => Some(Err(*error.data)),
        (Some(answered), Some(error), _) if answered == id => Some(Err(*error.data)),
        (Some(answered), None, Some(result)) if answered == id => Some(Ok(result)),
        _ => None,
    }
}

/// Reads a result, from the file that it was put into where it was too long for a line.
fn read<T: DeserializeOwned>(result: &RawValue) -> Result<T, Problem> {
    let unreadable = |e: &dyn std::fmt::Display| {
        Problem::new(
            ProblemKind::Daemon,
            format!("the daemon's answer can't be read: {e}"),
        )
    };
    let Ok(file) = serde_json::from_str::<PayloadFile>(result.get()) else {
        return serde_json::from_str(result.get()).map_err(|e| unreadable(&e));
    };
    let json = fs::read_to_string(&file.payload_file)
        .map_err(|e| unreadable(&e).at_file(&file.payload_file, None))?;
    let _ = fs::remove_file(&file.payload_file);
    serde_json::from_str(&json).map_err(|e| unreadable(&e))
}

fn unreachable(socket: &Path, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Problem::new(
            ProblemKind::Daemon,
            "no daemon listens here, it has ended or belongs to another user",
        )
        .hint("clear its mount with shelf unmount DIR, then mount again"),
        _ => Problem::new(
            ProblemKind::Daemon,
            format!("the daemon can't be reached: {error}"),
        ),
    }
    .at_file(socket, None)
}
