//! The desk where searches are asked for: who asks for what is ranked already waits along, a few searches wait for a
//! worker, and nobody waits longer than a second.
//!
//! It must not know what an answer is used for: a reply is a function, called exactly once.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::Searching;
use super::answers::{Answer, Answers};
use crate::mount::pool::Pool;
use crate::mount::refusal::Refusal;

#[cfg(test)]
mod tests;

/// Searches that are ranked side by side.
pub(super) const WORKERS: usize = 4;

/// Searches that wait for a worker.
pub(super) const QUEUED: usize = 4;

/// How long whoever asks waits. A handler that waits for ever would leave the reader where no signal reaches it.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Takes the answer, or why there is none.
pub(in crate::mount) type Reply = Box<dyn FnOnce(Result<Arc<Answer>, Refusal>) + Send>;

/// The desk. Its threads end when it is dropped.
#[derive(Debug)]
pub(super) struct Desk {
    inner: Arc<Inner>,
    workers: Pool,
}

struct Inner {
    searching: Arc<dyn Searching>,
    answers: Answers,
    state: Mutex<State>,
    /// Somebody came to wait, or the desk is closed.
    changed: Condvar,
    patience: Duration,
}

#[derive(Default)]
struct State {
    /// What no worker has begun with.
    queue: VecDeque<Arc<str>>,
    /// Turns that workers have yet to take: enough for the queue, and no more though much was given up.
    turns: usize,
    /// All that is queued or being ranked, with those who wait for it: nobody any more where all lost patience.
    asked: HashMap<Arc<str>, Vec<Waiting>>,
    closed: bool,
}

struct Waiting {
    until: Instant,
    reply: Reply,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Desk").field(&self.answers).finish()
    }
}

impl Desk {
    /// Starts the threads that rank, and the one that keeps the time.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub(super) fn start(searching: Arc<dyn Searching>) -> io::Result<Self> {
        Self::with_patience(searching, PATIENCE)
    }

    fn with_patience(searching: Arc<dyn Searching>, patience: Duration) -> io::Result<Self> {
        let inner = Arc::new(Inner {
            searching,
            answers: Answers::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
            patience,
        });
        let desk = Self {
            inner: inner.clone(),
            workers: Pool::start("shelf-search", WORKERS)?,
        };
        thread::Builder::new()
            .name("shelf-patience".to_owned())
            .spawn(move || inner.send_away_who_waited_too_long())?;
        Ok(desk)
    }

    pub(super) fn answers(&self) -> &Answers {
        &self.inner.answers
    }

    /// Answers words, which were looked up in that directory. Never waits; the reply may be called before this returns.
    pub(super) fn ask(&self, directory: u64, words: &str, reply: Reply) {
        let (inner, now) = (&self.inner, Instant::now());
        let generation = inner.searching.generation();
        if let Some(answer) = inner.answers.fresh(words, generation, now) {
            return reply(Ok(answer));
        }
        let waiting = Waiting {
            until: now + inner.patience,
            reply,
        };
        let mut state = inner.state();
        if let Some(others) = state.asked.get_mut(words) {
            others.push(waiting);
        } else if state.asked.len() >= WORKERS + QUEUED {
            drop(state);
            return (waiting.reply)(Err(Refusal::Busy));
        } else {
            let words: Arc<str> = words.into();
            state.queue.push_back(words.clone());
            state.asked.insert(words, vec![waiting]);
            if state.turns < state.queue.len() {
                state.turns += 1;
                let inner = inner.clone();
                self.workers.run(move || inner.rank_next(directory));
            }
        }
        inner.changed.notify_one();
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.inner.state().closed = true;
        self.inner.changed.notify_one();
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing that can panic runs under the desk's lock")
    }

    /// Ranks what was queued first, if anybody still waits for anything.
    fn rank_next(&self, directory: u64) {
        let next = {
            let mut state = self.state();
            state.turns -= 1;
            state.queue.pop_front()
        };
        let Some(words) = next else {
            return;
        };
        // Before ranking: an answer that a publish overtakes counts as older and is soon made anew.
        let generation = self.searching.generation();
        let ranked = || self.searching.answer(&words);
        // A fault in ranking costs this answer, not the thread and the place at the desk.
        let answer = panic::catch_unwind(AssertUnwindSafe(ranked)).map(|found| {
            let now = Instant::now();
            self.answers
                .remember(directory, &words, found, generation, now)
        });
        let waiting = self.state().asked.remove(&words).unwrap_or_default();
        for Waiting { reply, .. } in waiting {
            reply(match &answer {
                Ok(answer) => Ok(answer.clone()),
                Err(_) => Err(Refusal::Fault),
            });
        }
    }

    /// Refuses those whose time is up, until the desk is closed, and then all.
    fn send_away_who_waited_too_long(&self) {
        let mut state = self.state();
        loop {
            let (now, closed) = (Instant::now(), state.closed);
            let gone = state.take_waiting(|waiting| closed || waiting.until <= now);
            if !gone.is_empty() {
                drop(state);
                for waiting in gone {
                    (waiting.reply)(Err(Refusal::Busy));
                }
                state = self.state();
                continue;
            }
            if closed {
                return;
            }
            state = match state.next_deadline() {
                Some(until) => {
                    let left = until.saturating_duration_since(now);
                    let woken = self.changed.wait_timeout(state, left);
                    woken
                        .expect("nothing that can panic runs under the desk's lock")
                        .0
                }
                None => {
                    let woken = self.changed.wait(state);
                    woken.expect("nothing that can panic runs under the desk's lock")
                }
            };
        }
    }
}

impl State {
    /// Takes those who are to go. A search that no worker has begun with and nobody waits for any more goes, too.
    fn take_waiting(&mut self, goes: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let mut gone = Vec::new();
        for waiting in self.asked.values_mut() {
            gone.extend(waiting.extract_if(.., |waiting| goes(waiting)));
        }
        let asked = &mut self.asked;
        self.queue.retain(|words| {
            let is_awaited = asked.get(words).is_some_and(|waiting| !waiting.is_empty());
            if !is_awaited {
                asked.remove(words);
            }
            is_awaited
        });
        gone
    }

    fn next_deadline(&self) -> Option<Instant> {
        let waiting = self.asked.values().flatten();
        waiting.map(|waiting| waiting.until).min()
    }
}
