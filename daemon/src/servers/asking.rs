//! What a server asks while a call runs, on its way to whoever made the call; and the time that this takes.
//!
//! It knows neither the messages of the protocol nor how a person is asked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

/// What reaches whoever calls.
#[derive(Debug)]
pub enum Inquiry {
    /// A form to be filled in. A sender that is dropped is nobody's answer.
    Form {
        /// What the server says.
        message: String,
        /// The schema of the answer, which [`skills::arguments::form::Form`] can read.
        schema: Box<RawValue>,
        /// Where the answer goes.
        answer: oneshot::Sender<Elicited>,
    },
    /// The server asked for what it can't have; the sentence says what and why.
    Refused(String),
}

/// What became of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Elicited {
    /// It was filled in.
    Accept {
        /// The values, by field.
        content: Map<String, Value>,
    },
    /// Somebody said no.
    Decline,
    /// Nobody answered.
    Cancel {
        /// Why, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

/// The way from a request under way to whoever made the call.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    to: mpsc::UnboundedSender<Inquiry>,
    /// For how long whoever calls was asked; a limit on the server's time alone is longer by that.
    paused: watch::Sender<Paused>,
    /// Whether the time of an answer is not the server's.
    stops_the_clock: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Paused {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

/// The time during which a question is open.
struct Pause<'a>(&'a watch::Sender<Paused>);

impl Asker {
    /// Makes the way for one call. With `stops_the_clock` the time that answers take does not count against deadlines.
    pub(super) fn new(to: mpsc::UnboundedSender<Inquiry>, stops_the_clock: bool) -> Self {
        Self {
            to,
            paused: watch::Sender::default(),
            stops_the_clock,
        }
    }

    /// Asks, and waits for what becomes of it.
    pub(super) async fn ask(&self, message: String, schema: Box<RawValue>) -> Elicited {
        let _pause = self.stops_the_clock.then(|| Pause::new(&self.paused));
        let (answer, answered) = oneshot::channel();
        let form = Inquiry::Form {
            message,
            schema,
            answer,
        };
        // Whoever called may be gone.
        let _ = self.to.send(form);
        answered.await.unwrap_or(Elicited::Cancel { why: None })
    }

    /// Tells whoever calls that the server was refused something.
    pub(super) fn tell(&self, refused: String) {
        let _ = self.to.send(Inquiry::Refused(refused));
    }

    /// Resolves when the deadline has passed, later by the time that was taken for answers.
    pub(super) async fn late(&self, deadline: Instant) {
        let mut paused = self.paused.subscribe();
        loop {
            let Paused { open, total, .. } = *paused.borrow_and_update();
            let over = async {
                match open {
                    0 => sleep_until(deadline + total).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => return,
                // The sender is our own.
                _ = paused.changed() => {}
            }
        }
    }
}

impl<'a> Pause<'a> {
    fn new(paused: &'a watch::Sender<Paused>) -> Self {
        paused.send_modify(|paused| {
            paused.open += 1;
            paused.since.get_or_insert_with(Instant::now);
        });
        Self(paused)
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|paused| {
            paused.open -= 1;
            if paused.open == 0 {
                let since = paused.since.take();
                paused.total += since.map_or(Duration::ZERO, |since| since.elapsed());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::value::RawValue;
    use tokio::sync::mpsc;
    use tokio::time::{Instant, sleep};

    use super::{Asker, Elicited, Inquiry};

    fn schema() -> Box<RawValue> {
        RawValue::from_string("{}".to_owned()).unwrap()
    }

    const LIMIT: Duration = Duration::from_millis(50);
    const ANSWER: Duration = Duration::from_millis(500);

    /// How long that limit lasts when whoever calls takes that long to answer.
    async fn lasts(stops_the_clock: bool) -> Duration {
        let (to, mut asked) = mpsc::unbounded_channel();
        let asker = Asker::new(to, stops_the_clock);
        let began = Instant::now();
        let answering = async {
            let Some(Inquiry::Form { answer, .. }) = asked.recv().await else {
                panic!("nothing is asked");
            };
            sleep(ANSWER).await;
            answer.send(Elicited::Decline).unwrap();
        };
        let late = async {
            asker.late(began + LIMIT).await;
            began.elapsed()
        };
        let asking = asker.ask("?".to_owned(), schema());
        let (elicited, (), lasted) = tokio::join!(asking, answering, late);
        assert_eq!(elicited, Elicited::Decline);
        lasted
    }

    #[tokio::test]
    async fn the_time_of_an_answer_is_not_the_server_s_unless_the_whole_is_limited() {
        assert!(lasts(true).await >= ANSWER + LIMIT / 2);
        assert!(lasts(false).await < ANSWER);
    }

    #[tokio::test]
    async fn nobody_s_answer_is_a_cancellation() {
        let (to, asked) = mpsc::unbounded_channel();
        drop(asked);
        let elicited = Asker::new(to, true).ask("?".to_owned(), schema()).await;
        assert_eq!(elicited, Elicited::Cancel { why: None });
    }
}
