//! What becomes of a server that failed, and of what its callers had there.

use std::time::Duration;

use serde_json::json;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::server::Phase;

use super::shelf::{Shelf, call, eventually, nothing, options, python, text};
use crate::config::Restart;
use crate::servers::{CallOptions, CallResult};

async fn call_in(shelf: &Shelf, session: &str, tool: &str) -> Result<CallResult, Problem> {
    let options = CallOptions {
        session: session.to_owned(),
        ..options()
    };
    call(&shelf.servers, tool, json!({"text": "x"}), options).await
}

fn fake() -> ServerName {
    ServerName::new("fake")
}

#[tokio::test]
async fn failing_starts_are_not_repeated_at_once() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--exit-at-once", "no licence"]).await;
    let first = shelf.call("echo", nothing()).await.unwrap_err();
    assert!(first.message.contains("no licence"), "{first}");
    // Twice: it may be a server of the other era.
    let once = shelf.starts("fake");
    let again = shelf.call("echo", nothing()).await.unwrap_err();
    // Told how often and until when, and still why.
    assert_eq!(again.kind, ProblemKind::Server);
    assert!(
        again.message.contains("failed once, next try in 1 s"),
        "{again}"
    );
    assert!(again.message.contains("no licence"), "{again}");
    let hint = again.hint.unwrap();
    assert!(hint.contains("shelf servers restart fake"), "{hint}");
    assert_eq!(shelf.starts("fake"), once);
    // A refresh is no reason either.
    shelf.refresh().await;
    assert_eq!(shelf.starts("fake"), once);

    eventually(async || {
        let _ = shelf.call("echo", nothing()).await;
        shelf.starts("fake") > once
    })
    .await;
    shelf
        .until(|shelf| {
            shelf
                .failure()
                .contains("failed 2 times, next try not before ")
        })
        .await;
    let twice = shelf.starts("fake");
    let failed = shelf.servers.restart(&fake()).await.unwrap_err();
    assert!(failed.message.contains("no licence"), "{failed}");
    assert!(shelf.starts("fake") > twice, "a restart does not wait");
    let after = shelf.call("echo", nothing()).await.unwrap_err();
    assert!(after.message.contains("failed once"), "{after}");
}

#[tokio::test]
async fn a_start_that_works_makes_failures_forgotten() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--exit-at-once", "no licence"]).await;
    shelf.call("echo", nothing()).await.unwrap_err();
    shelf.add("fake", &[]);
    shelf.configure().await;
    assert_eq!(shelf.text("echo", json!({"text": "x"})).await, "x");
    // A crash holds up nothing.
    for _ in 0..2 {
        let broken = shelf.call("crash", json!({"text": "out of memory"})).await;
        assert!(broken.unwrap_err().message.contains("out of memory"));
    }
    assert_eq!(shelf.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn a_server_that_is_not_to_be_started_again_is_not() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    shelf.add("fake", &[]).restart = Restart::Never;
    shelf.configure().await;
    shelf
        .call("crash", json!({"text": "boom"}))
        .await
        .unwrap_err();
    shelf
        .until(|shelf| matches!(shelf.phase(), Phase::Failed(_)))
        .await;
    assert!(shelf.failure().contains("not started again"));
    let refused = shelf.call("echo", nothing()).await.unwrap_err();
    assert!(
        refused.message.contains("is not started again"),
        "{refused}"
    );
    assert!(refused.message.contains("boom"), "{refused}");
    assert_eq!(shelf.starts("fake"), 1);
    shelf.servers.restart(&fake()).await.unwrap();
    assert_eq!(shelf.text("echo", json!({"text": "x"})).await, "x");
    // What ends in good order has not failed.
    shelf.servers.stop_one(&fake()).await.unwrap();
    assert_eq!(shelf.text("echo", json!({"text": "x"})).await, "x");
    assert_eq!(shelf.starts("fake"), 3);
}

#[tokio::test]
async fn who_had_something_at_an_earlier_start_is_told_once_that_it_is_gone() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&[]).await;
    assert_eq!(
        call_in(&shelf, "mine", "echo").await.unwrap().state_lost,
        None
    );
    assert_eq!(
        call_in(&shelf, "mine", "echo").await.unwrap().state_lost,
        None
    );
    call_in(&shelf, "other", "crash").await.unwrap_err();
    let lost = call_in(&shelf, "mine", "echo").await.unwrap().state_lost;
    let lost = lost.unwrap();
    assert!(
        lost.contains("it ended by itself (exit status: 5)"),
        "{lost}"
    );
    assert!(lost.contains("earlier state is gone"), "{lost}");
    assert_eq!(
        call_in(&shelf, "mine", "echo").await.unwrap().state_lost,
        None
    );
    assert_eq!(
        call_in(&shelf, "new", "echo").await.unwrap().state_lost,
        None
    );
    // One that fails says it, too.
    let failed = call_in(&shelf, "other", "refuse").await.unwrap_err();
    let hint = failed.hint.unwrap();
    assert!(hint.contains("earlier state is gone"), "{hint}");

    shelf.servers.restart(&fake()).await.unwrap();
    let lost = call_in(&shelf, "mine", "echo").await.unwrap().state_lost;
    assert!(lost.unwrap().contains("restarted on demand"));
    // Nor does a changed entry take it away unsaid.
    shelf.add("fake", &["--tools", "1"]);
    shelf.configure().await;
    let lost = call_in(&shelf, "mine", "echo").await.unwrap().state_lost;
    assert!(
        lost.unwrap()
            .contains("its entry in the configuration changed")
    );
}

#[tokio::test]
async fn stop_ends_a_start_and_calls_under_way() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--slow-start", "60"]).await;
    let servers = shelf.servers.clone();
    let waiting = tokio::spawn(async move { call(&servers, "echo", nothing(), options()).await });
    eventually(async || shelf.starts("fake") == 1).await;
    shelf.servers.stop_one(&fake()).await.unwrap();
    let stopped = waiting.await.unwrap().unwrap_err();
    assert_eq!(stopped.kind, ProblemKind::Server);
    assert!(
        stopped.message.contains("was stopped while it started"),
        "{stopped}"
    );
    shelf.until_phase(Phase::Cold).await;

    shelf.add("fake", &[]);
    shelf.configure().await;
    let pid = shelf.text("pid", nothing()).await;
    let servers = shelf.servers.clone();
    let sleep = json!({"seconds": 60});
    let waiting = tokio::spawn(async move { call(&servers, "sleep", sleep, options()).await });
    eventually(async || shelf.servers.reports()[0].calls_under_way == 1).await;
    shelf.servers.stop_one(&fake()).await.unwrap();
    let stopped = waiting.await.unwrap().unwrap_err();
    assert!(stopped.message.contains("was stopped"), "{stopped}");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    shelf.until_phase(Phase::Cold).await;
    assert_ne!(shelf.text("pid", nothing()).await, pid);
}

#[tokio::test]
async fn a_server_is_reported_with_what_it_went_through() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&[]).await;
    let cold = &shelf.servers.reports()[0];
    assert_eq!((cold.standing.calls, cold.standing.starts), (0, 0));
    assert!(!cold.standing.runs());
    shelf.text("echo", json!({"text": "x"})).await;
    shelf
        .call("crash", json!({"text": "boom"}))
        .await
        .unwrap_err();
    shelf.text("echo", json!({"text": "x"})).await;
    let report = &shelf.servers.reports()[0];
    assert_eq!((report.standing.calls, report.standing.starts), (3, 2));
    assert!(report.standing.runs());
    let error = report.standing.last_error.as_ref().unwrap();
    assert!(error.message.contains("boom"), "{}", error.message);
}

#[tokio::test]
async fn nobody_is_what_no_entry_names() {
    let shelf = Shelf::empty();
    for problem in [
        shelf.servers.stop_one(&fake()).await.unwrap_err(),
        shelf.servers.restart(&fake()).await.unwrap_err(),
    ] {
        assert_eq!(problem.kind, ProblemKind::NotFound);
    }
}

#[tokio::test]
async fn idle_servers_take_what_was_there_with_them() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    shelf.add("fake", &[]).idle = Some(Duration::from_millis(300));
    shelf.configure().await;
    let first = text(&call_in(&shelf, "mine", "pid").await.unwrap());
    shelf.until_phase(Phase::Ready).await;
    shelf.until_phase(Phase::Cold).await;
    let again = call_in(&shelf, "mine", "pid").await.unwrap();
    assert_ne!(text(&again), first);
    assert!(again.state_lost.unwrap().contains("it was idle"));
}
