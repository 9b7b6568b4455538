use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, json};
use skills::catalog::{Entry, Snapshot};
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use tokio::sync::oneshot;

use crate::access_log::reader::{Filter, Reader};
use crate::catalog::{Done, SourceUpdate, Updates};
use crate::control::call::{call, tests};
use crate::control::connection::{Questions, Request};
use crate::control::{Context, methods};
use crate::gate::policy::{Policy, Rules};
use crate::gate::rule::{List, Rule};
use crate::protocol::{Approve, Call, Deny, ErrorObject};

const DELETE: &str = r#"{"name":"delete","inputSchema":{"type":"object"}}"#;
const OTHER: &str = r#"{"name":"delete","description":"Other.","inputSchema":{"type":"object"}}"#;

/// A daemon that asks about every call. Of a server whose tools it knows and that is not configured: a call that is let pass ends
/// with that it is not found.
struct Place {
    context: Arc<Context>,
    updates: Updates,
    directory: tempfile::TempDir,
}

const PASSED: ProblemKind = ProblemKind::NotFound;

fn rules(list: List) -> Vec<Rule> {
    vec![Rule::parse(list, "*", false, ("/c/shelf.toml".into(), 1)).unwrap()]
}

fn found(snapshot: &Snapshot) -> Result<(EntryId, Entry), Problem> {
    methods::find(snapshot, "s/delete")
}

impl Place {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (context, updates) = tests::context_and_updates(directory.path());
        context.gate.set_policy(Policy {
            general: Rules {
                ask: rules(List::Ask),
                ..Rules::default()
            },
            ..Policy::default()
        });
        define(&updates, DELETE).await;
        Self {
            context: Arc::new(context),
            updates,
            directory,
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.context.snapshots.current()
    }

    async fn call(&self, questions: Questions) -> Problem {
        self.call_within(questions, None).await
    }

    async fn call_within(&self, questions: Questions, timeout_ms: Option<u64>) -> Problem {
        let asked = Call {
            entry: "s/delete".into(),
            arguments: Map::new(),
            timeout_ms,
        };
        let request = asking(questions);
        let outcome = call(&self.context, found(&self.snapshot()), asked, request).await;
        outcome.unwrap_err()
    }

    /// `event kind` of every line of the log.
    fn logged(self) -> Vec<String> {
        self.context.log.close();
        let log: &Path = &self.directory.path().join("log");
        let lines = Reader::open(log).unwrap().lines(Filter::default());
        let lines = lines.map(|line| {
            let kind = line.record.kind.unwrap_or_default();
            format!("{} {kind}", line.record.event.as_str())
        });
        lines.collect()
    }
}

async fn define(updates: &Updates, tool: &str) {
    let server = methods::tests::server("s", Some(&[tool]));
    let problems = Vec::new();
    updates
        .send(SourceUpdate::Server { server, problems })
        .unwrap();
    let (done, published) = oneshot::channel();
    let done = Done::new(move |generation| {
        let _ = done.send(generation);
    });
    updates.send(SourceUpdate::Flush { done }).unwrap();
    published.await.unwrap();
}

fn asking(questions: Questions) -> Request {
    Request {
        questions,
        ..tests::request()
    }
}

fn saying(answer: &'static str) -> Questions {
    Questions::answered_by(move |_| Some(Ok(RawValue::from_string(answer.into()).unwrap())))
}

fn unable() -> Questions {
    let error = ErrorObject::protocol(ErrorObject::METHOD_NOT_FOUND, "no terminal");
    Questions::answered_by(|_| Some(Err(error)))
}

/// The id that a refusal tells.
fn told(problem: &Problem) -> String {
    assert_eq!(problem.kind, ProblemKind::Refused);
    let (_, after) = problem.message.split_once("waits for approval ").unwrap();
    let (id, _) = after.split_once(',').unwrap();
    assert!(
        problem
            .hint
            .as_ref()
            .unwrap()
            .contains(&format!("shelf approve {id}"))
    );
    id.to_owned()
}

#[tokio::test]
async fn a_yes_is_for_once_and_what_is_no_yes_is_a_no() {
    let place = Place::new().await;
    assert_eq!(place.call(saying(r#""once""#)).await.kind, PASSED);
    for no in [r#""no""#, "{}", "true", r#""yes""#, "null"] {
        let problem = place.call(saying(no)).await;
        assert_eq!(problem.kind, ProblemKind::Refused, "{no}");
        assert!(problem.message.contains("was denied"), "{problem}");
    }
    assert!(place.context.approvals().unwrap().waiting.is_empty());
    let logged = place.logged();
    assert_eq!(
        logged[..4],
        ["approve once", "call not-found", "deny ", "call refused"]
    );
}

#[tokio::test]
async fn always_is_for_good() {
    let place = Place::new().await;
    assert_eq!(place.call(saying(r#""always""#)).await.kind, PASSED);
    assert_eq!(place.call(Questions::to_nobody()).await.kind, PASSED);
    define(&place.updates, OTHER).await;
    told(&place.call(unable()).await);
}

#[tokio::test]
async fn who_has_nobody_to_ask_waits_for_others() {
    let place = Place::new().await;
    let id = told(&place.call(unable()).await);
    assert_eq!(told(&place.call(unable()).await), id);
    let request = asking(Questions::to_nobody());
    let approve = |id: &str| Approve {
        id: id.into(),
        always: false,
    };
    place.context.approve(approve(&id), &request).await.unwrap();
    assert_eq!(place.call(Questions::to_nobody()).await.kind, PASSED);
    let next = told(&place.call(unable()).await);
    assert_ne!(next, id);
    assert!(place.context.approve(approve(&id), &request).await.is_err());
    place
        .context
        .deny(Deny { id: next }, &request)
        .await
        .unwrap();
    let denied = place.call(unable()).await;
    assert!(denied.message.contains("was denied"), "{denied}");
    let expected = [
        "call refused",
        "call refused",
        "approve once",
        "call not-found",
        "call refused",
        "deny ",
        "call refused",
    ];
    assert_eq!(place.logged(), expected);
}

#[tokio::test]
async fn silence_and_absence_are_no_approval() {
    let place = Place::new().await;
    let silent = Questions::answered_by(|_| None);
    let problem = place.call_within(silent, Some(20)).await;
    assert_eq!(problem.kind, ProblemKind::Refused);
    assert!(problem.message.contains("nobody answered"), "{problem}");
    let gone = place.call(Questions::to_nobody()).await;
    assert_eq!(gone.kind, ProblemKind::Interrupted);
    assert!(place.context.approvals().unwrap().waiting.is_empty());
}

#[tokio::test]
async fn those_whose_approval_does_not_count_are_not_asked_and_cannot_approve() {
    let place = Place::new().await;
    place.context.gate.set_policy(Policy {
        general: Rules {
            ask: rules(List::Ask),
            ..Rules::default()
        },
        approvers: Some(vec![0]),
        ..Policy::default()
    });
    let id = told(&place.call(saying(r#""once""#)).await);
    let request = asking(Questions::to_nobody());
    let approve = Approve {
        id: id.clone(),
        always: false,
    };
    let problem = place.context.approve(approve, &request).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Refused);
    let problem = place.context.deny(Deny { id: id.clone() }, &request).await;
    assert_eq!(problem.unwrap_err().kind, ProblemKind::Refused);
    assert_eq!(told(&place.call(unable()).await), id);
}

#[tokio::test]
async fn what_changed_while_somebody_thought_is_judged_anew() {
    let place = Place::new().await;
    let (context, once) = (place.context.clone(), r#""once""#);
    let changed = place.call(Questions::answered_by(move |_| {
        context.gate.set_policy(Policy {
            general: Rules {
                deny: rules(List::Deny),
                ..Rules::default()
            },
            ..Policy::default()
        });
        Some(Ok(RawValue::from_string(once.into()).unwrap()))
    }));
    let problem = changed.await;
    assert_eq!(problem.kind, ProblemKind::Refused);
    assert!(problem.message.contains("refused by deny"), "{problem}");
    assert!(place.context.approvals().unwrap().waiting.is_empty());

    let place = Place::new().await;
    let before = place.snapshot();
    define(&place.updates, OTHER).await;
    let asked = Call {
        entry: "s/delete".into(),
        arguments: Map::new(),
        timeout_ms: None,
    };
    let outcome = call(&place.context, found(&before), asked, asking(saying(once))).await;
    let problem = outcome.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Refused);
    assert!(problem.message.contains("definition changed"), "{problem}");
}

#[tokio::test]
async fn what_is_asked_shows_the_call() {
    let place = Place::new().await;
    let asked = Call {
        entry: "s/delete".into(),
        arguments: json!({"x": "\u{202e}"}).as_object().unwrap().clone(),
        timeout_ms: None,
    };
    let (send, shown) = oneshot::channel();
    let questions = Questions::answered_by(move |params| {
        send.send(params.get().to_owned()).unwrap();
        Some(Ok(RawValue::from_string(r#""no""#.into()).unwrap()))
    });
    let snapshot = place.snapshot();
    let called = call(&place.context, found(&snapshot), asked, asking(questions));
    assert!(called.await.is_err());
    let shown: serde_json::Value = serde_json::from_str(&shown.await.unwrap()).unwrap();
    let argument = json!([{"name": "x", "value": r#""\u{202e}""#}]);
    assert_eq!(
        (&shown["arguments"], &shown["server"]),
        (&argument, &json!("s"))
    );
}
