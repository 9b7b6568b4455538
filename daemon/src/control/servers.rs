//! How the servers do, and what is done with one on demand, for the socket.

use std::collections::HashMap;

use skills::catalog::Snapshot;
use skills::problem::{Problem, ProblemKind};
use skills::server::ServerState;
use skills::summary::one_line;
use tokio_util::sync::CancellationToken;

use super::Context;
use super::methods;
use crate::guard::{self, Tree};
use crate::protocol::{Control, LastError, Order, ServerReport, ServerReports};
use crate::servers::Report;

/// How each configured server does.
pub(super) async fn report(
    context: &Context,
    snapshot: &Snapshot,
) -> Result<ServerReports, Problem> {
    let reports = context.servers.reports();
    let guards: Vec<u32> = reports
        .iter()
        .filter_map(|report| report.standing.guard)
        .collect();
    // Looking at processes reads much of `/proc`.
    let looked = tokio::task::spawn_blocking(move || {
        let trees = guards.into_iter().map(|guard| (guard, guard::tree(guard)));
        trees.collect::<HashMap<u32, Tree>>()
    });
    let trees = looked.await.map_err(|error| {
        let message = format!("the servers' processes can't be looked at: {error}");
        Problem::new(ProblemKind::Internal, message)
    })?;
    let tree = |report: &Report| {
        let guard = report.standing.guard?;
        trees.get(&guard).copied()
    };
    let mut servers = Vec::new();
    for (name, (_, state)) in &snapshot.sources.servers {
        let mut of_it = reports
            .iter()
            .filter(|report| report.server == *name)
            .peekable();
        if of_it.peek().is_none() {
            servers.push(unavailable(name.to_string(), state));
        }
        for report in of_it {
            servers.push(of_one(report, tree(report)));
        }
    }
    Ok(ServerReports { servers })
}

fn of_one(report: &Report, tree: Option<Tree>) -> ServerReport {
    let standing = &report.standing;
    let (state, reason) = methods::phase(&standing.phase);
    let error = standing.last_error.as_ref();
    ServerReport {
        name: report.server.to_string(),
        session: report.session.as_deref().map(str::to_owned),
        state,
        reason,
        pid: tree.and_then(|tree| tree.server),
        memory: tree.map(|tree| tree.memory),
        calls: standing.calls,
        calls_under_way: report.calls_under_way,
        starts: standing.starts,
        last_error: error.and_then(|error| {
            Some(LastError {
                time: jiff::Timestamp::try_from(error.time).ok()?,
                message: one_line(&error.message),
            })
        }),
        log: Some(report.log.clone()),
    }
}

fn unavailable(name: String, state: &ServerState) -> ServerReport {
    let (state, reason) = methods::phase(&state.phase);
    ServerReport {
        name,
        session: None,
        state,
        reason,
        pid: None,
        memory: None,
        calls: 0,
        calls_under_way: 0,
        starts: 0,
        last_error: None,
        log: None,
    }
}

/// Does what is asked of a server, and returns when it is done or nobody waits for it any more: it is done all the same.
pub(super) async fn control(
    context: &Context,
    snapshot: &Snapshot,
    asked: Control,
    cancelled: &CancellationToken,
) -> Result<(), Problem> {
    let server = methods::server_named(snapshot, &asked.server)?.clone();
    let servers = context.servers.clone();
    let done = tokio::spawn(async move {
        match asked.order {
            Order::Stop => servers.stop_one(&server).await,
            Order::Restart => servers.restart(&server).await,
        }
    });
    let done = cancelled.run_until_cancelled(done).await;
    let Some(done) = done else {
        let message = "interrupted; the server goes on to do what it was told";
        return Err(Problem::new(ProblemKind::Interrupted, message));
    };
    done.unwrap_or_else(|error| {
        let message = format!("the order was not carried out: {error}");
        Err(Problem::new(ProblemKind::Internal, message))
    })
}
