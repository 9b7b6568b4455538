//! The methods `search` and `evaluate`: what a caller asks for becomes a question to the index.
//!
//! It knows neither how entries are ranked nor when the index is built.

use std::collections::HashSet;
use std::time::Duration;

use skills::catalog::Shown;
use skills::problem::{Problem, ProblemKind};
use skills::search::{Answer, Evaluation, Query, SearchIndex, evaluate};
use tokio::time::Instant;

use super::Context;
use super::connection::Request;
use super::scope::Scope;
use crate::access_log::Event;
use crate::protocol::{Evaluate, Search};
use crate::searching::Built;

#[cfg(test)]
mod tests;

/// The most matches that one answer has.
const MOST: usize = 1_000;

impl Context {
    /// Answers a search once the servers that it is about are known, and logs it whether it works or not.
    pub(super) async fn search(&self, asked: Search, request: &Request) -> Result<Answer, Problem> {
        let words = asked.words.clone();
        let answer = self.searched(asked, request).await;
        let matches = answer.as_ref().map(matched);
        let matches = matches.map_err(|problem| problem.kind);
        let event = Event::Search { words, matches };
        self.log.record(request.caller.clone(), event).await;
        answer
    }

    async fn searched(&self, asked: Search, request: &Request) -> Result<Answer, Problem> {
        let limit = Duration::from_millis(asked.wait_ms);
        self.when_searchable(&asked, limit, request).await?;
        let ranking = move |built: &Built| search(&built.index, &*built.snapshot, &asked);
        self.rank(ranking).await?
    }

    /// Measures the rankers over the current catalog.
    pub(super) async fn evaluate(&self, asked: Evaluate) -> Result<Evaluation, Problem> {
        self.rank(move |built| evaluate(&built.index, &asked.cases))
            .await
    }

    /// Ranks where it may take its time.
    async fn rank<T: Send + 'static>(
        &self,
        ranking: impl FnOnce(&Built) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let searcher = self.searcher.clone();
        let ranked = tokio::task::spawn_blocking(move || ranking(&searcher.current()));
        ranked.await.map_err(|error| {
            let message = format!("the search broke down: {error}");
            Problem::new(ProblemKind::Internal, message)
        })
    }

    /// Waits until every server that the search is about has said its tools or failed to, at most for `limit`: what is known
    /// then is searched, and the answer names the rest.
    async fn when_searchable(
        &self,
        asked: &Search,
        limit: Duration,
        request: &Request,
    ) -> Result<(), Problem> {
        let mut generations = self.snapshots.generations();
        let deadline = Instant::now() + limit;
        loop {
            generations.mark_unchanged();
            let snapshot = self.snapshots.current();
            let mut unknown =
                Scope::of(&*snapshot, asked.server.as_deref(), asked.kind)?.unknown(&*snapshot);
            if limit.is_zero() || !unknown.any(|(_, state)| state.may_answer()) {
                return Ok(());
            }
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return Ok(()) },
                () = tokio::time::sleep_until(deadline) => return Ok(()),
                () = request.cancelled.cancelled() => return Err(Problem::new(
                    ProblemKind::Interrupted,
                    "interrupted while servers were asked for their tools",
                )),
            }
        }
    }
}

/// Answers a search from an index and what it was built from.
pub(crate) fn search(
    index: &SearchIndex,
    shown: &dyn Shown,
    asked: &Search,
) -> Result<Answer, Problem> {
    let scope = Scope::of(shown, asked.server.as_deref(), asked.kind)?;
    let server = scope.server.and_then(|server| shown.server_name(server));
    let exclude: HashSet<_> = asked.exclude.iter().cloned().collect();
    let mut answer = index.search(&Query {
        words: &asked.words,
        limit: asked.limit.clamp(1, MOST),
        kind: scope.kind,
        server: server.as_deref(),
        lexical: asked.lexical,
        exclude: &exclude,
    });
    // As `list` names them.
    let unknown = scope.unknown(shown);
    answer.unknown = unknown.map(|(server, _)| server.name.to_string()).collect();
    Ok(answer)
}

/// How many entries matched, beyond the limit too.
fn matched(answer: &Answer) -> usize {
    if answer.matches.is_empty() {
        return 0;
    }
    let all = answer.servers.iter().map(|server| server.matches).sum();
    answer.matches.len().max(all)
}
