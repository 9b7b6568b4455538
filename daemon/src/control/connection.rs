//! One connection: its greeting, its requests one after the other, and what its end cancels.
//!
//! It knows the wire, not what the methods mean.

mod questions;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::questions::Desk;
use super::lines::Lines;
use crate::caller::{Caller, session_name};
use crate::protocol::{
    self, About, ErrorObject, Hello, MAX_LINE, Message, PayloadFile, Progress, Welcome, method,
};

pub(super) use self::questions::Questions;

#[cfg(test)]
mod tests;

/// How many reports of progress wait for a caller that does not read them.
const WAITING_PROGRESS: usize = 64;

/// A request as it came over the wire.
#[derive(Debug)]
pub(super) struct Request {
    /// Who asks.
    pub(super) caller: Caller,
    /// The method.
    pub(super) method: String,
    /// Its parameters; `{}` where there were none.
    pub(super) params: Box<RawValue>,
    /// Cancelled when the connection closes or the daemon ends.
    pub(super) cancelled: CancellationToken,
    /// Progress for the caller to see.
    pub(super) progress: mpsc::Sender<Progress>,
    /// The way to ask the caller something.
    pub(super) questions: Questions,
}

/// What requests are handed to.
pub(super) trait Service: Send + Sync + 'static {
    /// What the daemon says of itself.
    fn about(&self) -> &About;

    /// The end of the daemon.
    fn shutdown(&self) -> &CancellationToken;

    /// Puts a result that is too long for a line into a file.
    fn keep(&self, json: String) -> impl Future<Output = io::Result<PathBuf>> + Send;

    /// Answers a request. Never dropped half way: it is told by its token when nobody waits any more.
    fn handle(
        self: Arc<Self>,
        request: Request,
    ) -> impl Future<Output = Result<Box<RawValue>, ErrorObject>> + Send;
}

/// Tells somebody who may not use the socket so.
pub(super) async fn refuse(mut stream: UnixStream, uid: u32) -> io::Result<()> {
    let problem = Problem::new(
        ProblemKind::Refused,
        format!("user {uid} may not use this shelf, it belongs to another user"),
    );
    send(&mut stream, &Message::response(None, Err(problem.into()))).await
}

/// Serves a connection until it closes, breaks or the daemon ends.
pub(super) async fn serve<S: Service>(
    stream: UnixStream,
    caller: Caller,
    service: Arc<S>,
) -> io::Result<()> {
    let (reader, writer) = stream.into_split();
    let mut connection = Connection {
        lines: Lines::new(reader),
        writer,
        caller,
        service,
        greeted: false,
    };
    loop {
        let line = tokio::select! {
            line = connection.lines.next() => line,
            () = connection.service.shutdown().cancelled() => return Ok(()),
        };
        match line {
            Ok(Some(line)) => connection.message(&line).await?,
            Ok(None) => return Ok(()),
            Err(e) => {
                let error = ErrorObject::protocol(ErrorObject::PARSE_ERROR, e.to_string());
                return connection.reply(None, Err(error)).await;
            }
        }
    }
}

struct Connection<S> {
    lines: Lines<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    caller: Caller,
    service: Arc<S>,
    greeted: bool,
}

type Outcome = Result<Box<RawValue>, ErrorObject>;

impl<S: Service> Connection<S> {
    async fn message(&mut self, line: &[u8]) -> io::Result<()> {
        let message: Message = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(e) => {
                let error = ErrorObject::protocol(
                    ErrorObject::PARSE_ERROR,
                    format!("a message can't be read: {e}"),
                );
                return self.reply(None, Err(error)).await;
            }
        };
        // Without both it is a notification, or an answer to what nobody waits for.
        let (Some(id), Some(method)) = (message.id, message.method) else {
            return Ok(());
        };
        let params = message.params.unwrap_or_else(no_parameters);
        if method == method::HELLO {
            let outcome = self.greet(&params);
            return self.reply(Some(id), outcome).await;
        }
        if !self.greeted {
            let error = ErrorObject::protocol(
                ErrorObject::INVALID_REQUEST,
                "a connection has to open with `hello`",
            );
            return self.reply(Some(id), Err(error)).await;
        }
        self.request(id, method, params).await
    }

    fn greet(&mut self, params: &RawValue) -> Outcome {
        let hello: Hello = serde_json::from_str(params.get()).map_err(|e| {
            ErrorObject::protocol(
                ErrorObject::INVALID_PARAMS,
                format!("the greeting can't be read: {e}"),
            )
        })?;
        let about = self.service.about();
        if hello.protocol != protocol::VERSION {
            return Err(mismatch(&hello, about).into());
        }
        if let Some(session) = hello.session.as_deref().and_then(session_name) {
            self.caller.session = session;
        }
        self.greeted = true;
        super::answer(&Welcome {
            protocol: protocol::VERSION,
            version: about.version.clone(),
            instance: about.instance.clone(),
            catalog: about.catalog.clone(),
            mount_point: about.mount_point.clone(),
        })
    }

    /// Runs one request, in a task of its own so that a caller who does not read can't hold it up.
    async fn request(&mut self, id: u64, method: String, params: Box<RawValue>) -> io::Result<()> {
        let cancelled = self.service.shutdown().child_token();
        let (progress, mut reported) = mpsc::channel(WAITING_PROGRESS);
        let (questions, mut desk) = Desk::new();
        let mut running = tokio::spawn(self.service.clone().handle(Request {
            caller: self.caller.clone(),
            method,
            params,
            cancelled: cancelled.clone(),
            progress,
            questions,
        }));
        let talk = self.talk(&mut running, &mut reported, &mut desk, &cancelled);
        let talked = talk.await;
        // Whatever went wrong on the wire, the request gets to its end: it is logged, and its server told.
        let outcome = match talked {
            Ok(outcome) => outcome,
            Err(e) => {
                cancelled.cancel();
                desk.close();
                let _ = running.await;
                return Err(e);
            }
        };
        while let Ok(progress) = reported.try_recv() {
            self.report(&progress).await?;
        }
        self.reply(Some(id), outcome).await
    }

    /// Listens to both ends while a request runs, until it has its outcome.
    async fn talk(
        &mut self,
        running: &mut JoinHandle<Outcome>,
        reported: &mut mpsc::Receiver<Progress>,
        desk: &mut Desk,
        cancelled: &CancellationToken,
    ) -> io::Result<Outcome> {
        let mut open = true;
        loop {
            let is_asked = desk.is_open();
            tokio::select! {
                outcome = &mut *running => return Ok(outcome.unwrap_or_else(|e| {
                    let problem = Problem::new(
                        ProblemKind::Internal,
                        format!("the request broke down: {e}"),
                    );
                    Err(problem.into())
                })),
                Some(progress) = reported.recv(), if !is_asked => self.report(&progress).await?,
                Some(question) = desk.next() => send(&mut self.writer, &question).await?,
                line = self.lines.next(), if open => {
                    if let Some(line) = line? {
                        self.heard(&line, desk).await?;
                    } else {
                        open = false;
                        desk.close();
                        cancelled.cancel();
                    }
                }
            }
        }
    }

    /// Takes what comes while a request runs: answers, and further requests, which are refused.
    async fn heard(&mut self, line: &[u8], desk: &mut Desk) -> io::Result<()> {
        let Ok(message) = serde_json::from_slice::<Message>(line) else {
            return Ok(());
        };
        if message.method.is_none() {
            desk.take(message);
            return Ok(());
        }
        let Some(id) = message.id else { return Ok(()) };
        let error = ErrorObject::protocol(
            ErrorObject::INVALID_REQUEST,
            "another request is still running on this connection",
        );
        self.reply(Some(id), Err(error)).await
    }

    async fn report(&mut self, progress: &Progress) -> io::Result<()> {
        let Ok(params) = serde_json::value::to_raw_value(progress) else {
            return Ok(());
        };
        let message = Message::notification(method::PROGRESS, params);
        send(&mut self.writer, &message).await
    }

    async fn reply(&mut self, id: Option<u64>, outcome: Outcome) -> io::Result<()> {
        let mut kept = None;
        let outcome = match outcome {
            // Whatever is shorter leaves room for the rest of the message.
            Ok(result) if result.get().len() > MAX_LINE - 1024 => {
                let json = String::from(Box::<str>::from(result));
                match self.service.keep(json).await {
                    Ok(payload_file) => super::answer(&PayloadFile {
                        payload_file: kept.insert(payload_file).clone(),
                    }),
                    Err(e) => Err(Problem::new(
                        ProblemKind::Internal,
                        format!("the result is too long for a message and can't be kept: {e}"),
                    )
                    .into()),
                }
            }
            other => other,
        };
        let sent = send(&mut self.writer, &Message::response(id, outcome)).await;
        if let (Err(_), Some(file)) = (&sent, kept) {
            let _ = std::fs::remove_file(file);
        }
        sent
    }
}

fn no_parameters() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("`{}` is JSON")
}

fn mismatch(hello: &Hello, about: &About) -> Problem {
    Problem::new(
        ProblemKind::Daemon,
        format!(
            "the daemon is shelf {} (protocol {}), this is shelf {} (protocol {})",
            about.version,
            protocol::VERSION,
            hello.version,
            hello.protocol
        ),
    )
    .hint("unmount and mount again with one version")
}

async fn send<W: AsyncWrite + Unpin>(writer: &mut W, message: &Message) -> io::Result<()> {
    writer.write_all(message.to_line().as_bytes()).await
}
