//! The caller's end of the control socket: blocking, without a runtime, because a command must start at once.
//!
//! It knows how to ask, not how an answer is shown.

mod approvals;
mod calls;
mod link;
mod offers;
mod question;
mod requests;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, geteuid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};

use crate::protocol::{self, ErrorObject, Hello, Message, PayloadFile, Progress, Welcome, method};
use link::{Link, Received};
use question::nobody;

pub use offers::Attendant;
pub use question::{Asking, Question};

/// How long a daemon may take over a request that only looks.
pub const ANSWER: Duration = Duration::from_secs(10);

/// How long an interrupted call waits for the daemon to say that it was cancelled.
const CANCELLATION: Duration = Duration::from_secs(3);

/// A connection to a daemon.
#[derive(Debug)]
pub struct Client {
    link: Link,
    last_id: u64,
    welcome: Welcome,
    daemon: Option<Pid>,
    patience: Duration,
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
        Self::connect_within(socket, identity, ANSWER)
    }

    /// [`Client::connect`], with how long the daemon may take over each request but a call.
    ///
    /// # Errors
    /// Those of [`Client::connect`].
    pub fn connect_within(
        socket: &Path,
        identity: &Identity,
        patience: Duration,
    ) -> Result<Self, Problem> {
        let stream = UnixStream::connect(socket).map_err(|e| unreachable(socket, &e))?;
        let peer = socket_peercred(&stream).map_err(|e| unreachable(socket, &e.into()))?;
        if !trusted(peer.uid.as_raw(), geteuid().as_raw()) {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("user {} listens here, not you", peer.uid.as_raw()),
            )
            .at_file(socket, None)
            .hint("run the command as that user"));
        }
        let mut client = Self {
            link: Link::new(stream),
            last_id: 0,
            welcome: Welcome {
                protocol: protocol::VERSION,
                version: String::new(),
                instance: String::new(),
                catalog: String::new(),
                mount_point: None,
            },
            // 0, which is nobody, for a process that can't be seen from here.
            daemon: Pid::from_raw(Pid::as_raw(Some(peer.pid))),
            patience,
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

    /// The daemon's process, where it can be seen from here.
    pub const fn daemon(&self) -> Option<Pid> {
        self.daemon
    }

    /// Sends a request that only looks and waits for its answer.
    fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, Problem> {
        self.exchange(method, params, Some(self.patience), None, &mut |_| {})
    }

    /// Sends a request and waits for its answer, at most for `limit`.
    fn exchange<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
        limit: Option<Duration>,
        interrupt: Option<&OwnedFd>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<T, Problem> {
        self.exchange_asking(method, params, limit, interrupt, on_progress, &mut nobody)
    }

    /// [`Client::exchange`], with somebody who answers the daemon's questions.
    fn exchange_asking<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
        limit: Option<Duration>,
        mut interrupt: Option<&OwnedFd>,
        on_progress: &mut dyn FnMut(Progress),
        on_question: &mut dyn FnMut(&Question<'_>) -> Asking,
    ) -> Result<T, Problem> {
        let id = self.send(method, params)?;
        // No deadline where the clock does not reach as far.
        let mut deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut is_interrupted = false;
        loop {
            match self.link.receive(interrupt, deadline)? {
                Received::Message(message) if message.method.is_some() => {
                    self.asked(*message, on_progress, on_question)?;
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
                    return Err(self.silent(method, limit.unwrap_or_default()));
                }
            }
        }
    }

    fn silent(&self, method: &str, patience: Duration) -> Problem {
        let (process, hint) = match self.daemon {
            Some(pid) => (
                format!(" (process {pid})"),
                format!(
                    "end it with kill -9 {pid}, then clear its mount, if it has one: shelf unmount DIR"
                ),
            ),
            None => (
                String::new(),
                "clear its mount: shelf unmount DIR".to_owned(),
            ),
        };
        Problem::new(
            ProblemKind::Daemon,
            format!("the daemon{process} hangs: it did not answer `{method}` in {patience:?}"),
        )
        .hint(hint)
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

    /// Takes what the daemon says of its own accord: progress, and questions.
    fn asked(
        &mut self,
        message: Message,
        on_progress: &mut dyn FnMut(Progress),
        on_question: &mut dyn FnMut(&Question<'_>) -> Asking,
    ) -> Result<(), Problem> {
        let method = message.method.unwrap_or_default();
        if let Some(id) = message.id {
            // While it waits for an answer the daemon says only that it no longer does.
            if self.link.is_ahead() {
                return Ok(());
            }
            let connection = self.link.descriptor();
            let asking = on_question(&Question {
                method: &method,
                params: message.params.as_deref(),
                connection,
            });
            let outcome = match asking {
                Asking::Answered(answer) => Ok(answer),
                Asking::Unable => Err(ErrorObject::protocol(
                    ErrorObject::METHOD_NOT_FOUND,
                    format!("the caller can't answer `{method}`"),
                )),
                Asking::Over => return Ok(()),
            };
            return self.link.send(&Message::response(Some(id), outcome));
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

/// Whether what a user says may be believed: one's own daemon, or root, who could say anything anyway.
const fn trusted(listener: u32, caller: u32) -> bool {
    listener == caller || listener == 0
}

fn unreachable(socket: &Path, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            Problem::new(ProblemKind::Daemon, "no daemon listens here, it has ended")
                .hint("clear its mount with shelf unmount DIR, then mount again")
        }
        _ => Problem::new(
            ProblemKind::Daemon,
            format!("the daemon can't be reached: {error}"),
        ),
    }
    .at_file(socket, None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::link::Link;
    use super::{ANSWER, Client, trusted};
    use crate::protocol::{self, Nothing, Welcome};

    #[test]
    fn a_question_that_came_together_with_its_withdrawal_is_not_asked() {
        let (ours, mut daemons) = UnixStream::pair().unwrap();
        let said = concat!(
            r#"{"jsonrpc":"2.0","id":7,"method":"elicit","params":{}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"withdrawn","params":{}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "\n",
        );
        daemons.write_all(said.as_bytes()).unwrap();
        let mut client = Client {
            link: Link::new(ours),
            last_id: 0,
            welcome: Welcome {
                protocol: protocol::VERSION,
                version: String::new(),
                instance: String::new(),
                catalog: String::new(),
                mount_point: None,
            },
            daemon: None,
            patience: ANSWER,
        };
        let answer: Nothing = client
            .exchange_asking(
                "call",
                &Nothing {},
                Some(ANSWER),
                None,
                &mut |_| {},
                &mut |_| panic!("nobody waits for the answer"),
            )
            .unwrap();
        let Nothing {} = answer;
    }

    #[test]
    fn only_the_own_user_and_root_are_believed() {
        assert!(trusted(1000, 1000));
        assert!(trusted(0, 1000));
        assert!(!trusted(1001, 1000));
        assert!(!trusted(1000, 0));
    }
}
