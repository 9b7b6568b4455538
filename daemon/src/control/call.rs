//! A call, from the request to the server and back, with its one line in the log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use skills::catalog::Entry;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use skills::server::Server;
use skills::tool::Tool;
use tokio::sync::mpsc;

use super::connection::Request;
use super::elicitation::{Inquiries, with_unanswered};
use super::{Context, methods};
use crate::access_log::Event;
use crate::config::START_TIMEOUT;
use crate::gate;
use crate::gate::rule::Target;
use crate::protocol::{Call, CallReply, Progress};
use crate::servers::{Asked, CallOptions, CallResult};

#[cfg(test)]
pub(super) mod tests;

/// Calls what was found, if it is a tool. Logged whether it works or not, and also where nothing was found.
pub(super) async fn call(
    context: &Context,
    found: Result<(EntryId, Entry), Problem>,
    mut asked: Call,
    request: Request,
) -> Result<CallReply, Problem> {
    let started = Instant::now();
    let (id, outcome) = match found {
        Ok((id, entry)) => {
            let outcome = attempt(context, &id, entry, &mut asked, &request).await;
            (id, outcome)
        }
        Err(problem) => (methods::id_as_asked(&asked.entry), Err(problem)),
    };
    let outcome = outcome.map_err(|problem| if_ended(context, problem));

    let (logged, result_bytes) = match &outcome {
        Ok(Answered { result, .. }) if result.is_error => {
            (Err(ProblemKind::ToolError), result.raw.get().len())
        }
        Ok(Answered { result, .. }) => (Ok(()), result.raw.get().len()),
        Err(problem) => (Err(problem.kind), 0),
    };
    let event = Event::Call {
        entry: id.clone(),
        arguments: asked.arguments,
        outcome: logged,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        result_bytes: result_bytes as u64,
    };
    context.log.record(request.caller, event).await;

    let Answered {
        server,
        tool,
        result,
        filled,
        unchecked,
        unanswered,
    } = outcome?;
    // An error need not have the form of a result.
    let doubts = if result.is_error {
        None
    } else {
        context.validators.doubts(&tool, &result.raw).await
    };
    let warnings = doubts.map(|doubt| doubt.at_server(server.name.as_str(), Some(&tool.name)));
    Ok(CallReply {
        id,
        is_error: result.is_error,
        result: result.raw,
        filled,
        unchecked,
        warnings: warnings.into_iter().collect(),
        unanswered,
        state_lost: result.state_lost,
    })
}

/// The entry, once its server has said its tools. There is one limit for that wait and the call, since the client waits no longer than
/// that.
pub(super) async fn find(
    context: &Context,
    asked: &mut Call,
    request: &Request,
) -> Result<(EntryId, Entry), Problem> {
    let started = Instant::now();
    let limit = asked.timeout_ms;
    let limit = limit.map_or(START_TIMEOUT, Duration::from_millis);
    let before = context.snapshots.current();
    let known = context.when_known(&asked.entry, limit, request).await?;
    if !Arc::ptr_eq(&known, &before) {
        let waited = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        asked.timeout_ms = asked.timeout_ms.map(|limit| limit.saturating_sub(waited));
    }
    methods::find(&known, &asked.entry)
}

/// What a call gave, and how its arguments were made ready.
struct Answered {
    server: Arc<Server>,
    tool: Arc<Tool>,
    result: CallResult,
    /// What was added to the arguments.
    filled: Map<String, Value>,
    /// Why the arguments were not checked before.
    unchecked: Option<Problem>,
    /// What the server asked in vain.
    unanswered: Vec<Problem>,
}

/// What became of a call that the end of the daemon cut off: its caller interrupted nothing, and no server failed.
pub(super) fn if_ended(context: &Context, problem: Problem) -> Problem {
    let is_cut_off = matches!(problem.kind, ProblemKind::Interrupted | ProblemKind::Server);
    if !(is_cut_off && context.shutdown.is_cancelled()) {
        return problem;
    }
    Problem {
        kind: ProblemKind::Server,
        message: "the shelf was unmounted during the call, which was cancelled".to_owned(),
        hint: None,
        ..problem
    }
}

/// Makes the call. Required arguments that are missing and have a default are added first, so that the log has what was sent.
async fn attempt(
    context: &Context,
    id: &EntryId,
    entry: Entry,
    asked: &mut Call,
    request: &Request,
) -> Result<Answered, Problem> {
    let (server, tool) = callable(id, entry)?;
    let (filled, unchecked) = match context.validators.get(&tool) {
        Ok(validator) => {
            let filled = validator.fill(&mut asked.arguments);
            validator.check(&tool, id, &asked.arguments)?;
            (filled, None)
        }
        // Then the server judges, which may well know what to make of its own schema.
        Err(unusable) => {
            let unusable = unusable.at_server(server.name.as_str(), Some(&tool.name));
            (Map::new(), Some(unusable))
        }
    };
    let call = gate::Call {
        id,
        server: &server.name,
        target: Target::Tool(&tool),
        caller: &request.caller,
        arguments: &asked.arguments,
    };
    let started = Instant::now();
    let limit = asked.timeout_ms.map(Duration::from_millis);
    context.permit(&call, request, limit).await?;
    let sent = Asked::Tool {
        name: tool.name.to_string(),
        arguments: asked.arguments.clone(),
    };
    let answer = send(context, &call, sent, request, left(limit, started)).await;
    match (answer, unchecked) {
        (Ok((result, unanswered)), unchecked) => Ok(Answered {
            server,
            tool,
            result,
            filled,
            unchecked,
            unanswered,
        }),
        (Err(problem), None) => Err(problem),
        (Err(problem), Some(unchecked)) => Err(with_doubt(problem, &unchecked)),
    }
}

/// What is left of a limit for the server, when the wait for an approval began then. It is one limit for both waits, since the client
/// waits hardly longer than that. In whole seconds: people take some to answer.
pub(super) fn left(limit: Option<Duration>, since: Instant) -> Option<Duration> {
    let waited = Duration::from_secs(since.elapsed().as_secs());
    limit.map(|limit| limit.saturating_sub(waited))
}

/// Asks a server for what was permitted, with progress and the server's own questions to whoever wants the answer. Gives what it asked
/// in vain, too.
pub(super) async fn send(
    context: &Context,
    call: &gate::Call<'_>,
    asked: Asked,
    request: &Request,
    timeout: Option<Duration>,
) -> Result<(CallResult, Vec<Problem>), Problem> {
    let (progress, received) = mpsc::unbounded_channel();
    let (questions, mut inquiries) = Inquiries::of(call, request);
    let options = CallOptions {
        timeout,
        cancelled: request.cancelled.clone(),
        progress: Some(progress),
        questions: Some(questions),
        session: request.caller.session.clone(),
    };
    let result = {
        let running = context.servers.ask(call.server, asked, options);
        tokio::pin!(running);
        let passing_on = async {
            tokio::join!(pass_on(received, &request.progress), inquiries.pass_on());
        };
        tokio::select! {
            result = &mut running => result,
            // Ends when the servers let go of their ends of the channels, which need not be the end of the call.
            () = passing_on => running.await,
        }
    };
    let unanswered = inquiries.into_unanswered();
    match result {
        Ok(result) => Ok((result, unanswered)),
        Err(problem) => Err(with_unanswered(problem, unanswered)),
    }
}

/// Adds to what went wrong with a call that the arguments may be to blame.
fn with_doubt(mut problem: Problem, unchecked: &Problem) -> Problem {
    let doubt = format!("the arguments were not checked: {}", unchecked.message);
    let hint = match problem.hint.take() {
        Some(hint) => format!("{hint}; {doubt}"),
        None => doubt,
    };
    problem.hint(hint)
}

/// Passes progress on. A caller that does not keep up loses some of it: it is for the eye.
async fn pass_on(mut from: mpsc::UnboundedReceiver<Progress>, to: &mpsc::Sender<Progress>) {
    while let Some(progress) = from.recv().await {
        let _ = to.try_send(progress);
    }
}

/// The tool behind an entry that can be called.
fn callable(id: &EntryId, entry: Entry) -> Result<(Arc<Server>, Arc<Tool>), Problem> {
    match entry {
        Entry::Tool { server, tool } if tool.requires_task => Err(Problem::new(
            ProblemKind::Usage,
            "the tool runs only as a task (`taskSupport` is \"required\"), and shelf can't follow tasks",
        )
        .at_server(server.name.as_str(), Some(&tool.name))
        .hint("nothing was sent; use a client that knows tasks, or another tool of the server")),
        Entry::Tool { server, tool } => Ok((server, tool)),
        Entry::Skill(_) => Err(Problem::new(
            ProblemKind::Usage,
            format!("`{id}` is a skill, there is nothing to call"),
        )
        .hint(format!("read it: shelf show {id}"))),
    }
}
