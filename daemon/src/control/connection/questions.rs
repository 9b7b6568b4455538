//! What the daemon asks a caller while its request runs: one connection's end of it, and the end of whoever asks.
//!
//! It knows no method, and no answer but that there is one.

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::no_parameters;
use crate::protocol::{ErrorObject, Message, method};

/// How many questions wait to be sent.
const WAITING: usize = 4;

pub(in crate::control) type Answer = Result<Box<RawValue>, ErrorObject>;

/// The way to ask the caller of a request.
#[derive(Clone, Debug)]
pub(in crate::control) struct Questions(mpsc::Sender<Question>);

/// One question on its way.
#[derive(Debug)]
pub(super) struct Question {
    method: &'static str,
    params: Box<RawValue>,
    answer: oneshot::Sender<Answer>,
}

impl Questions {
    /// Those of a caller who is gone.
    #[cfg(test)]
    pub(in crate::control) fn to_nobody() -> Self {
        Self(mpsc::channel(1).0)
    }

    /// Those of a caller who makes that of the first one; `None` is silence.
    #[cfg(test)]
    pub(in crate::control) fn answered_by(
        answer: impl FnOnce(&RawValue) -> Option<Answer> + Send + 'static,
    ) -> Self {
        let (questions, mut asked) = mpsc::channel::<Question>(1);
        tokio::spawn(async move {
            if let Some(question) = asked.recv().await {
                let Question {
                    params,
                    answer: mut to,
                    ..
                } = question;
                match answer(&params) {
                    Some(answer) => drop(to.send(answer)),
                    None => to.closed().await,
                }
            }
        });
        Self(questions)
    }

    /// Asks, and waits for the answer. `None` when there will be none: the caller is gone, or the question can't be written.
    pub(in crate::control) async fn ask(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Option<Answer> {
        let params = serde_json::value::to_raw_value(params).ok()?;
        let (answer, answered) = oneshot::channel();
        let question = Question {
            method,
            params,
            answer,
        };
        self.0.send(question).await.ok()?;
        answered.await.ok()
    }
}

/// The questions of one request, as the connection sees them: one after the other, as people answer.
pub(super) struct Desk {
    asked: mpsc::Receiver<Question>,
    open: Option<(u64, oneshot::Sender<Answer>)>,
    last_id: u64,
}

impl Desk {
    /// A desk, and the way to it.
    pub(super) fn new() -> (Questions, Self) {
        let (questions, asked) = mpsc::channel(WAITING);
        let desk = Self {
            asked,
            open: None,
            last_id: 0,
        };
        (Questions(questions), desk)
    }

    /// Whether the caller has a question. Whatever else it is sent meanwhile says that it need not answer.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The next message for the caller: a question, or that the one which it has is withdrawn, since nobody waits for the answer any
    /// more. `None` when nobody can ask any more. A question waits on when this is dropped.
    pub(super) async fn next(&mut self) -> Option<Message> {
        if let Some((_, answer)) = &mut self.open {
            answer.closed().await;
            self.open = None;
            return Some(Message::notification(method::WITHDRAWN, no_parameters()));
        }
        let question = self.asked.recv().await?;
        self.last_id += 1;
        let Question {
            method,
            params,
            answer,
        } = question;
        self.open = Some((self.last_id, answer));
        Some(Message::request(self.last_id, method, params))
    }

    /// Takes a message that is no request: an answer, if it is one to something that was asked.
    pub(super) fn take(&mut self, message: Message) {
        let is_answer = |(asked, _): &mut (u64, _)| message.id == Some(*asked);
        let Some((_, answer)) = self.open.take_if(is_answer) else {
            return;
        };
        let outcome = match (message.result, message.error) {
            (Some(result), None) => Ok(result),
            (_, Some(error)) => Err(error),
            (None, None) => return,
        };
        // Whoever asked may wait no longer.
        let _ = answer.send(outcome);
    }

    /// The caller is gone: nothing that was asked, or is asked from now on, is answered.
    pub(super) fn close(&mut self) {
        self.open = None;
        self.asked.close();
        while self.asked.try_recv().is_ok() {}
    }
}
