use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use skills::catalog::{IndexOptions, Snapshot, Sources};
use skills::problem::{Problem, ProblemKind};
use skills::search::SearchOptions;
use skills::server::ServerState;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Context, call};
use crate::access_log::reader::{Filter, Reader};
use crate::access_log::{AccessLog, LogOptions};
use crate::cache::DefinitionCache;
use crate::cache::TokenCounts;
use crate::caller::Caller;
use crate::catalog::{self, Updates};
use crate::control::connection::{Questions, Request};
use crate::control::methods;
use crate::gate::Gate;
use crate::gate::remembered::Remembered;
use crate::journal::{Journal, SeenFile};
use crate::pins::Pins;
use crate::protocol::{Call, CallReply};
use crate::searching::Searcher;
use crate::servers::Servers;
use crate::surroundings::{Directories, Environment, Surroundings};

/// A daemon's context with no server in its configuration: whatever gets as far as the servers ends there.
fn context(base: &Path) -> Context {
    context_and_updates(base).0
}

/// The same, with the way into its catalog.
pub(in crate::control) fn context_and_updates(base: &Path) -> (Context, Updates) {
    let seen = SeenFile::open(base, "test").unwrap();
    let journal = Journal::open(base, "test").unwrap();
    let (updates, snapshots) = catalog::start(
        IndexOptions::default(),
        seen,
        journal,
        Pins::open(base, "test"),
        TokenCounts::default(),
    )
    .unwrap();
    let surroundings = Surroundings {
        directories: Directories {
            cache: base.join("cache"),
            state: base.join("state"),
            runtime: base.join("runtime"),
        },
        environment: Environment::new(),
        executable: "/bin/false".into(),
    };
    let cache = DefinitionCache::open(&surroundings.directories.cache, "test").unwrap();
    let context = Context {
        searcher: Searcher::start(snapshots.clone(), SearchOptions::default()),
        snapshots,
        servers: Servers::new(surroundings, base.join("servers"), cache, updates.clone()),
        gate: Arc::new(Gate::new(1000, Remembered::below(base, "test"))),
        log: AccessLog::open(&base.join("log"), "test", LogOptions::default()).unwrap(),
        journal: crate::journal::Place::below(base, "test"),
        pins: Pins::open(base, "test"),
        updates: updates.clone(),
        callers: Arc::default(),
        about: methods::tests::about(),
        runtime: base.join("runtime"),
        shutdown: CancellationToken::new(),
        validators: crate::control::Validators::default(),
    };
    (context, updates)
}

pub(in crate::control) fn request() -> Request {
    Request {
        caller: Caller {
            pid: 7,
            uid: 1000,
            command: "agent".into(),
            session: "mine".into(),
        },
        method: "call".into(),
        params: serde_json::value::to_raw_value(&json!({})).unwrap(),
        cancelled: CancellationToken::new(),
        progress: mpsc::channel(1).0,
        questions: Questions::to_nobody(),
    }
}

async fn ask(
    context: &Context,
    snapshot: &Snapshot,
    entry: &str,
    arguments: Value,
) -> Result<CallReply, Problem> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let asked = Call {
        entry: entry.to_owned(),
        arguments,
        timeout_ms: None,
    };
    let found = methods::find(snapshot, entry);
    call(context, found, asked, request()).await
}

/// Makes one call and gives the kind it was refused with, and the kinds that were logged.
async fn refused(entry: &str, arguments: Value) -> (ProblemKind, Vec<String>) {
    let base = tempfile::tempdir().unwrap();
    let context = context(base.path());
    let outcome = ask(&context, &methods::tests::snapshot(), entry, arguments).await;
    context.log.close();
    let lines = Reader::open(&base.path().join("log"))
        .unwrap()
        .lines(Filter::default());
    let logged = lines.map(|line| line.record.kind.unwrap_or_default());
    (outcome.unwrap_err().kind, logged.collect())
}

#[tokio::test]
async fn what_is_no_entry_is_refused_and_logged() {
    let (kind, logged) = refused("nobody/nothing", json!({})).await;
    assert_eq!(kind, ProblemKind::NotFound);
    assert_eq!(logged, ["not-found"]);
}

#[tokio::test]
async fn a_skill_is_refused_and_logged() {
    let (kind, logged) = refused("skills/pdf", json!({})).await;
    assert_eq!(kind, ProblemKind::Usage);
    assert_eq!(logged, ["usage"]);
}

#[tokio::test]
async fn a_tool_that_runs_only_as_a_task_is_refused_and_logged() {
    let (kind, logged) = refused("a b%2Fc/long", json!({})).await;
    assert_eq!(kind, ProblemKind::Usage);
    assert_eq!(logged, ["usage"]);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_and_logged() {
    let (kind, logged) = refused("a b%2Fc/echo", json!({"text": 7})).await;
    assert_eq!(kind, ProblemKind::Arguments);
    assert_eq!(logged, ["arguments"]);
}

#[tokio::test]
async fn what_the_servers_say_is_passed_on_and_logged_once() {
    let (kind, logged) = refused("a b%2Fc/echo", json!({"text": "hello"})).await;
    assert_eq!(kind, ProblemKind::NotFound);
    assert_eq!(logged, ["not-found"]);
}

#[tokio::test]
async fn arguments_that_cannot_be_checked_go_to_the_server_and_are_named_when_it_fails() {
    const ODD: &str =
        r#"{"name":"odd","inputSchema":{"properties":{"it":{"$ref":"https://example.com/x"}}}}"#;
    let server = methods::tests::server("s", Some(&[ODD]));
    let snapshot = methods::tests::built(Sources {
        servers: [(server.name.clone(), (server, ServerState::default()))].into(),
        ..Sources::default()
    });
    let base = tempfile::tempdir().unwrap();
    let context = context(base.path());
    let problem = ask(&context, &snapshot, "s/odd", json!({"it": 1})).await;
    let problem = problem.unwrap_err();
    // As of a tool whose arguments fit: there is no such server here.
    assert_eq!(problem.kind, ProblemKind::NotFound);
    let hint = problem.hint.unwrap();
    assert!(
        hint.contains("not checked") && hint.contains("https://example.com/x"),
        "{hint}"
    );
}
