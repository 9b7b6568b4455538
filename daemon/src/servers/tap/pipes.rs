//! The pipes of a server: read and written line by line, each in a task of its own.
//!
//! What a line means is the tap's business.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Tap;
use crate::servers::lines::{Line, Lines};
use crate::servers::server_log::ServerLog;

/// What rmcp sends and receives through.
#[derive(Debug)]
pub(in crate::servers) struct TapTransport {
    tap: Tap,
    outgoing: Option<mpsc::UnboundedSender<Outgoing>>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Ends the writing task, which drops the server's standard input, even when a write is stuck.
    writing: Option<DropGuard>,
}

#[derive(Debug)]
struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

/// Puts a tap on a server's pipes. What the server prints that is no message goes to `log`.
pub(in crate::servers) fn tap<R, W>(
    stdout: R,
    stdin: W,
    log: ServerLog,
    max_line: usize,
) -> (Tap, TapTransport)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let tap = Tap::new(log);
    let (outgoing, to_write) = mpsc::unbounded_channel();
    let (read, incoming) = mpsc::channel(16);
    let closed = CancellationToken::new();
    tokio::spawn(write_lines(stdin, to_write, closed.clone()));
    tokio::spawn(read_lines(Lines::new(stdout, max_line), tap.clone(), read));
    let transport = TapTransport {
        tap: tap.clone(),
        outgoing: Some(outgoing),
        incoming,
        writing: Some(closed.drop_guard()),
    };
    (tap, transport)
}

async fn write_lines<W: AsyncWrite + Unpin>(
    mut stdin: W,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
    closed: CancellationToken,
) {
    let write = async {
        while let Some(Outgoing { line, written }) = outgoing.recv().await {
            let result = match stdin.write_all(&line).await {
                Ok(()) => stdin.flush().await,
                Err(error) => Err(error),
            };
            // Nobody waits for a message whose sender was dropped.
            let _ = written.send(result);
        }
    };
    tokio::select! {
        () = write => {}
        () = closed.cancelled() => {}
    }
}

async fn read_lines<R: AsyncRead + Unpin>(
    mut lines: Lines<R>,
    tap: Tap,
    read: mpsc::Sender<ServerJsonRpcMessage>,
) {
    while let Ok(Some(line)) = lines.next().await {
        let messages = match line {
            Line::Whole(bytes) => tap.take_line(&bytes, None),
            Line::TooLong { id, bytes } => tap.take_long_line(id, bytes).into_iter().collect(),
        };
        for message in messages {
            // When rmcp is gone the pipe is still drained, or the server would block instead of ending.
            let _ = read.send(message).await;
        }
    }
    tap.end();
}

impl TapTransport {
    /// Queues a message at once, so that messages are written in the order in which rmcp sends them: it polls the
    /// futures of [`Transport::send`] in any order, and a cancellation must not overtake its request.
    fn queue(
        &self,
        message: &ClientJsonRpcMessage,
    ) -> io::Result<oneshot::Receiver<io::Result<()>>> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.tap.register(message);
        let (written, receiver) = oneshot::channel();
        self.outgoing
            .as_ref()
            .and_then(|outgoing| outgoing.send(Outgoing { line, written }).ok())
            .ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(receiver)
    }
}

impl Transport<RoleClient> for TapTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let queued = self.queue(&message);
        async move {
            queued?
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        self.writing = None;
        Ok(())
    }
}
