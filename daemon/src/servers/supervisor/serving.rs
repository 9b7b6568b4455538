//! What a server's task does with each message.

use std::sync::Arc;

use skills::problem::Problem;
use skills::server::Phase;
use tokio::time::Instant;

use super::inbox::{Inbox, Message};
use super::{Lease, Running, Supervisor};
use crate::config::Share;

/// How a server ended that somebody restarted, as those are told who had called it.
const RESTARTED: &str = "it was restarted on demand";

impl Supervisor {
    pub(super) async fn serve(
        &mut self,
        message: Message,
        running: &mut Option<Running>,
        inbox: &mut Inbox,
    ) {
        let closed = running
            .as_ref()
            .map(|running| Arc::clone(&running.connection))
            .filter(|connection| connection.is_closed());
        if let Some(connection) = closed {
            let ending = connection.ended().await;
            self.bury(running, &ending).await;
        }
        match message {
            // Whoever asked has gone: nothing is started for nobody.
            Message::Acquire(ready) if ready.is_closed() => {}
            Message::Acquire(ready) => {
                // A lease that nobody takes is given back by being dropped.
                let _ = ready.send(self.lend(running, inbox).await);
            }
            Message::Refresh(done) => match running {
                Some(running) => {
                    running.refreshers.push(done);
                    running.relist_now();
                }
                None => {
                    let started = self.start_for(running, inbox).await;
                    if inbox.is_empty() {
                        self.stop(running, "it was only listed").await;
                    }
                    let _ = done.send(started);
                }
            },
            Message::Stop { afresh, done } => {
                let why = if afresh { RESTARTED } else { "it was stopped" };
                self.stop(running, why).await;
                if afresh {
                    self.backoff.reset();
                }
                let _ = done.send(());
            }
            Message::Restart(done) => {
                self.stop(running, RESTARTED).await;
                self.backoff.reset();
                let started = self.start_for(running, inbox).await;
                if self.settings.borrow().share == Share::Session {
                    // Nobody calls this instance: it is there for its list.
                    self.stop(running, "it was only listed").await;
                }
                let _ = done.send(started);
            }
        }
    }

    /// Lends the connection, started if need be.
    async fn lend(
        &mut self,
        running: &mut Option<Running>,
        inbox: &mut Inbox,
    ) -> Result<Lease, Problem> {
        if running.is_none() {
            self.start_for(running, inbox).await?;
        }
        let running = running.as_ref().expect("it was started just now");
        Ok(Lease::new(&running.connection, running.start, &self.in_use))
    }

    /// Starts it, unless it failed too lately. Who waits for the same is told the same.
    async fn start_for(
        &mut self,
        running: &mut Option<Running>,
        inbox: &mut Inbox,
    ) -> Result<(), Problem> {
        let restart = self.settings.borrow().restart;
        let started = match self.backoff.refusal(&self.name, restart, Instant::now()) {
            Some(problem) => Err(problem),
            None => self.start().await,
        };
        match started {
            Ok(started) => {
                *running = Some(started);
                Ok(())
            }
            Err(problem) => {
                inbox.refuse(&problem);
                Err(problem)
            }
        }
    }

    /// Ends it in good order; what it held for its callers is gone for this reason.
    pub(super) async fn stop(&mut self, running: &mut Option<Running>, why: &str) {
        if let Some(running) = running.take() {
            running.end().await;
            self.history.ended(why);
            self.say(Phase::Cold, self.state.stale);
        }
    }
}
