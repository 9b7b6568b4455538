use std::path::Path;
use std::sync::Arc;

use skills::catalog::{Snapshot, Sources};
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use skills::search::{Answer, SearchIndex, SearchOptions, ServerMatch};
use skills::server::{Phase, Server, ServerState};
use tokio::sync::oneshot;

use super::{MOST, matched, search};
use crate::access_log::reader::{Filter, Reader};
use crate::catalog::{Done, SourceUpdate, Updates};
use crate::control::Context;
use crate::control::call::tests::{context_and_updates, request};
use crate::control::methods::tests::{built, server, snapshot};
use crate::protocol::{EntryKind, Search};

const SAYS: &str = r#"{"name":"echo","description":"Says the words again.","inputSchema":{}}"#;

fn asked(words: &str) -> Search {
    Search {
        words: words.to_owned(),
        limit: 8,
        kind: None,
        server: None,
        lexical: false,
        exclude: Vec::new(),
        wait_ms: 0,
    }
}

fn of_server(name: &str, words: &str) -> Search {
    Search {
        server: Some(name.to_owned()),
        ..asked(words)
    }
}

fn of_kind(kind: EntryKind, words: &str) -> Search {
    Search {
        kind: Some(kind),
        ..asked(words)
    }
}

fn find(snapshot: &Snapshot, asked: &Search) -> Result<Answer, Problem> {
    let index = SearchIndex::build(None, snapshot, &SearchOptions::default());
    search(&index, snapshot, asked)
}

fn ids(answer: &Answer) -> Vec<&str> {
    let matches = answer.matches.iter();
    matches.map(|found| found.id.as_str()).collect()
}

#[test]
fn a_server_is_named_as_configured_or_as_shown_and_another_is_refused_as_by_list() {
    for name in ["a b/c", "a b%2Fc"] {
        let answer = find(&snapshot(), &of_server(name, "echo")).unwrap();
        assert_eq!(ids(&answer), ["a b%2Fc/echo"], "{name}");
        assert!(answer.unknown.is_empty());
    }
    let problem = find(&snapshot(), &of_server("brokn", "echo")).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
    assert!(problem.hint.unwrap().contains("broken"));
}

#[test]
fn servers_that_are_not_known_are_named_where_they_might_have_had_a_match() {
    let unknown = |asked| find(&snapshot(), &asked).unwrap().unknown;
    assert_eq!(unknown(asked("echo")), ["broken"]);
    assert_eq!(unknown(of_kind(EntryKind::Tool, "echo")), ["broken"]);
    assert_eq!(unknown(of_server("broken", "echo")), ["broken"]);
    assert!(unknown(of_kind(EntryKind::Skill, "echo")).is_empty());
}

#[test]
fn what_is_of_another_kind_or_left_out_is_not_found() {
    let found = |asked| find(&snapshot(), &asked).unwrap();
    assert_eq!(ids(&found(asked("pdf"))), ["skills/pdf"]);
    assert_eq!(
        ids(&found(of_kind(EntryKind::Skill, "pdf"))),
        ["skills/pdf"]
    );
    assert!(ids(&found(of_kind(EntryKind::Tool, "pdf"))).is_empty());
    let without = Search {
        exclude: vec![EntryId("skills/pdf".into())],
        ..asked("pdf")
    };
    let answer = found(without);
    assert!(ids(&answer).is_empty());
    assert_eq!(answer.excluded, [EntryId("skills/pdf".into())]);
}

#[test]
fn skills_can_be_asked_for_by_the_name_under_which_they_are_counted() {
    let of_skills = of_server("skills", "pdf");
    let answer = find(&snapshot(), &of_skills).unwrap();
    assert_eq!(ids(&answer), ["skills/pdf"]);
    assert!(answer.unknown.is_empty(), "{answer:?}");
    let both = Search {
        kind: Some(EntryKind::Skill),
        ..of_skills.clone()
    };
    assert_eq!(find(&snapshot(), &both).unwrap(), answer);
    let tools = Search {
        kind: Some(EntryKind::Tool),
        ..of_skills
    };
    let problem = find(&snapshot(), &tools).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Usage);

    let configured = server("skills", Some(&[SAYS]));
    let of_that_name = built(Sources {
        servers: [(
            configured.name.clone(),
            (configured, ServerState::default()),
        )]
        .into(),
        ..Sources::default()
    });
    let answer = find(&of_that_name, &of_server("skills", "echo")).unwrap();
    assert_eq!(answer.matches.len(), 1, "{answer:?}");
}

#[test]
fn skills_of_a_server_are_a_contradiction() {
    for name in ["a b/c", "broken"] {
        let asked = Search {
            kind: Some(EntryKind::Skill),
            ..of_server(name, "pdf")
        };
        let problem = find(&snapshot(), &asked).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Usage, "{problem}");
        assert!(problem.message.contains(name), "{problem}");
    }
}

#[test]
fn a_limit_is_brought_within_bounds() {
    let tool =
        |n| format!(r#"{{"name":"echo_{n}","description":"Says it again.","inputSchema":{{}}}}"#);
    let tools: Vec<_> = (0..MOST + 5).map(tool).collect();
    let tools: Vec<_> = tools.iter().map(String::as_str).collect();
    let many = server("many", Some(&tools));
    let snapshot = built(Sources {
        servers: [(many.name.clone(), (many, ServerState::default()))].into(),
        ..Sources::default()
    });
    for (limit, given) in [(0, 1), (2, 2), (usize::MAX, MOST)] {
        let asked = Search {
            limit,
            ..asked("echo")
        };
        let answer = find(&snapshot, &asked).unwrap();
        assert_eq!(answer.matches.len(), given, "{limit}");
    }
}

#[test]
fn all_matches_are_counted_and_the_nearest_servers_are_none() {
    let mut answer = find(&snapshot(), &asked("echo")).unwrap();
    answer.servers = vec![ServerMatch {
        name: "a".into(),
        matches: 70,
        score: 1.0,
        about: String::new(),
    }];
    assert_eq!(matched(&answer), 70);
    answer.matches.clear();
    assert_eq!(matched(&answer), 0);
}

/// A context whose catalog has these servers.
async fn holding(base: &Path, servers: Vec<Arc<Server>>) -> (Context, Updates) {
    let (context, updates) = context_and_updates(base);
    for server in servers {
        say(&updates, server);
    }
    let (done, published) = oneshot::channel();
    let done = Done::new(move |generation| done.send(generation).unwrap());
    updates.send(SourceUpdate::Flush { done }).unwrap();
    published.await.unwrap();
    (context, updates)
}

fn say(updates: &Updates, server: Arc<Server>) {
    let problems = Vec::new();
    updates
        .send(SourceUpdate::Server { server, problems })
        .unwrap();
}

#[tokio::test]
async fn a_search_is_logged_once_with_its_matches() {
    let base = tempfile::tempdir().unwrap();
    let (context, _updates) = holding(base.path(), vec![server("s", Some(&[SAYS]))]).await;
    let answer = context.search(asked("echo"), &request()).await.unwrap();
    assert_eq!(ids(&answer), ["s/echo"]);
    let nothing = context.search(asked("qwxzv"), &request()).await.unwrap();
    assert!(nothing.matches.is_empty());
    let wrong = of_server("none", "echo");
    context.search(wrong, &request()).await.unwrap_err();
    context.log.close();
    let reader = Reader::open(&base.path().join("log")).unwrap();
    let lines = reader.lines(Filter::default()).map(|line| line.record);
    let logged: Vec<_> = lines
        .map(|record| (record.query, record.matches, record.kind))
        .collect();
    let line = |words: &str, matches| (Some(words.to_owned()), Some(matches), None);
    let failed = (Some("echo".to_owned()), None, Some("not-found".to_owned()));
    assert_eq!(logged, [line("echo", 1), line("qwxzv", 0), failed]);
}

#[tokio::test]
async fn servers_are_waited_for_until_they_are_known() {
    let base = tempfile::tempdir().unwrap();
    let (context, updates) = holding(base.path(), vec![server("s", None)]).await;
    let at_once = context.search(asked("echo"), &request()).await.unwrap();
    assert!(at_once.matches.is_empty());
    assert_eq!(at_once.unknown, ["s"]);

    let patient = Search {
        wait_ms: 60_000,
        ..asked("echo")
    };
    let request = request();
    let (found, ()) = tokio::join!(context.search(patient, &request), async {
        say(&updates, server("s", Some(&[SAYS])));
    });
    let found = found.unwrap();
    assert_eq!(ids(&found), ["s/echo"]);
    assert!(found.unknown.is_empty());
}

#[tokio::test]
async fn the_wait_ends_in_time_and_there_is_none_that_is_in_vain() {
    let base = tempfile::tempdir().unwrap();
    let known = server("known", Some(&[SAYS]));
    let (context, updates) = holding(base.path(), vec![server("s", None), known]).await;
    // The time is over: what is known is searched.
    let hasty = Search {
        wait_ms: 20,
        ..asked("echo")
    };
    let answer = context.search(hasty, &request()).await.unwrap();
    assert_eq!(ids(&answer), ["known/echo"]);
    assert_eq!(answer.unknown, ["s"]);

    let for_ever = |asked| Search {
        wait_ms: u64::MAX,
        ..asked
    };
    // Nothing of what is searched is awaited.
    for asked in [
        of_kind(EntryKind::Skill, "echo"),
        of_server("known", "echo"),
    ] {
        context.search(for_ever(asked), &request()).await.unwrap();
    }
    let wrong = for_ever(of_server("none", "echo"));
    let problem = context.search(wrong, &request()).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
    // Nobody waits any more.
    let gone = request();
    gone.cancelled.cancel();
    let problem = context.search(for_ever(asked("echo")), &gone).await;
    assert_eq!(problem.unwrap_err().kind, ProblemKind::Interrupted);
    // It has failed, so it will not answer.
    let state = ServerState {
        phase: Phase::Failed("exited with 1".into()),
        stale: None,
    };
    let name = server("s", None).name.clone();
    updates.send(SourceUpdate::State { name, state }).unwrap();
    let answer = context.search(for_ever(asked("echo")), &request()).await;
    assert_eq!(answer.unwrap().unknown, ["s"]);
}
