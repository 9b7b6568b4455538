//! Asking the daemon for what it has and how it does, and telling it to stop.
//!
//! It knows nothing of the wire.

use std::os::fd::OwnedFd;
use std::time::Duration;

use skills::problem::Problem;

use super::Client;
use crate::protocol::{
    Answer, ChangeList, Changes, Control, Describe, Description, Evaluate, Evaluation, ListFilter,
    Listing, Load, Loaded, Nothing, Overview, Search, ServerReports, Status, method,
};

/// How long an evaluation may take: each of its requests is ranked twice over the whole catalog.
const EVALUATION: Duration = Duration::from_secs(600);

impl Client {
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
        let limit = self.patience + Duration::from_millis(entry.wait_ms);
        self.exchange(method::DESCRIBE, entry, Some(limit), interrupt, &mut |_| {})
    }

    /// Asks for what answers some words.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn search(&mut self, search: &Search) -> Result<Answer, Problem> {
        self.search_when_known(search, None)
    }

    /// Asks for what answers some words; `interrupt` becomes readable when the user no longer waits for servers that have not said
    /// their tools yet.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn search_when_known(
        &mut self,
        search: &Search,
        interrupt: Option<&OwnedFd>,
    ) -> Result<Answer, Problem> {
        let limit = self
            .patience
            .saturating_add(Duration::from_millis(search.wait_ms));
        self.exchange(method::SEARCH, search, Some(limit), interrupt, &mut |_| {})
    }

    /// Asks how well search answers requests whose answers are known.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn evaluate(&mut self, evaluate: &Evaluate) -> Result<Evaluation, Problem> {
        let limit = Some(EVALUATION);
        self.exchange(method::EVALUATE, evaluate, limit, None, &mut |_| {})
    }

    /// Asks for entries with their whole definitions, which are handed out to this session.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn load(&mut self, load: &Load) -> Result<Loaded, Problem> {
        self.ask(method::LOAD, load)
    }

    /// Asks for the overview of what is on the shelf in at most so many bytes.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn overview(&mut self, max_bytes: usize) -> Result<String, Problem> {
        self.ask(method::OVERVIEW, &Overview { max_bytes })
    }

    /// Asks for what changed since a revision.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn changes(&mut self, changes: &Changes) -> Result<ChangeList, Problem> {
        self.ask(method::CHANGES, changes)
    }

    /// Asks how each server does.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn servers(&mut self) -> Result<ServerReports, Problem> {
        self.ask(method::SERVERS, &Nothing {})
    }

    /// Stops or restarts a server, and waits until that is done. `interrupt` becomes readable when the user no longer waits.
    ///
    /// # Errors
    /// What the daemon answers: why the server did not start.
    pub fn control(
        &mut self,
        control: &Control,
        interrupt: Option<&OwnedFd>,
    ) -> Result<(), Problem> {
        self.exchange(method::CONTROL, control, None, interrupt, &mut |_| {})
            .map(|Nothing {}| ())
    }

    /// Has the daemon write what happened so far into the access log's file.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn flush(&mut self) -> Result<(), Problem> {
        self.ask(method::FLUSH, &Nothing {}).map(|Nothing {}| ())
    }

    /// Asks the daemon to unmount and end; it answers before it does.
    ///
    /// # Errors
    /// What the daemon answers, or that it does not.
    pub fn stop(&mut self) -> Result<(), Problem> {
        self.ask(method::STOP, &Nothing {}).map(|Nothing {}| ())
    }
}
