//! The life of a server: configured, refreshed, changed, idle, stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::server::Phase;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::shelf::{Shelf, call, eventually, nothing, options, python, text};
use crate::config::{HttpConfig, Transport};
use crate::servers::{CallOptions, CallResult};

#[tokio::test]
async fn warm_cache_starts_nothing() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&[]).await;
    assert!(shelf.known["fake"].definitions.is_none());
    assert_eq!(shelf.phase(), Phase::Cold);
    shelf.refresh().await;
    assert_eq!(shelf.phase(), Phase::Cold, "it was stopped again");
    assert_eq!(shelf.starts("fake"), 1);
    let mut shelf = shelf.restarted().await;
    assert_eq!(shelf.names().len(), 16);
    assert_eq!(shelf.journal, ["fake definitions", "fake Cold"]);
    shelf.refresh().await;
    assert_eq!(shelf.starts("fake"), 1, "what is known is not listed again");
}

#[tokio::test]
async fn bursts_of_list_changed() {
    if !python() {
        return;
    }
    for (options, listeners) in [
        (&["--legacy", "--unadvertised"][..], "0"),
        (&["--modern"], "1"),
    ] {
        let mut shelf = Shelf::with(options).await;
        eventually(async || shelf.text("listeners", nothing()).await == listeners).await;
        shelf.until_phase(Phase::Ready).await;
        shelf.journal.clear();
        // Long after the call, so that no call makes us look.
        shelf.text("change", json!({"after": 1})).await;
        shelf
            .until(|shelf| shelf.names().contains(&"added_2".to_owned()))
            .await;
        assert_eq!(
            shelf.journal,
            ["fake definitions"],
            "{options:?}: one burst"
        );
        assert_eq!(shelf.starts("fake"), 1);
    }
}

#[tokio::test]
async fn server_that_refuses_to_be_listened_to() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--modern", "--no-listen"]).await;
    shelf.text("change", nothing()).await;
    shelf
        .until(|shelf| {
            shelf.known["fake"].definitions.is_some()
                && shelf.names().contains(&"added_0".to_owned())
        })
        .await;
    assert_eq!(shelf.starts("fake"), 1);
}

#[tokio::test]
async fn idle_servers_stop_and_start_again() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--modern"]).await;
    let first = shelf.text("pid", nothing()).await;
    shelf.until_phase(Phase::Ready).await;
    shelf.server("fake").idle = Some(Duration::from_millis(300));
    shelf.server("fake").line = 77;
    shelf.configure().await;
    assert_eq!(shelf.starts("fake"), 1, "a setting changed, not the server");
    // A call in flight is no idleness.
    shelf.call("sleep", json!({"seconds": 1})).await.unwrap();
    assert_eq!(shelf.phase(), Phase::Ready);
    shelf.until_phase(Phase::Cold).await;
    assert_ne!(shelf.text("pid", nothing()).await, first);
    assert_eq!(shelf.starts("fake"), 2);
}

#[tokio::test]
async fn changed_entry_shows_the_last_definitions_as_stale() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&[]).await;
    shelf.add("other", &[]);
    shelf.configure().await;
    shelf.refresh().await;
    let pid = shelf.text("pid", nothing()).await;
    let shown = shelf.definitions();

    let Transport::Stdio(stdio) = &mut shelf.server("fake").transport else {
        panic!("it is one");
    };
    stdio.env.insert("COLOUR".to_owned(), "red".to_owned());
    shelf.journal.clear();
    shelf.configure().await;
    let gone = format!("/proc/{pid}");
    eventually(async || !std::path::Path::new(&gone).exists()).await;
    assert!(Arc::ptr_eq(&shown, &shelf.definitions()));
    assert!(shelf.states["fake"].stale.is_some());
    assert!(
        !shelf.journal.iter().any(|line| line.starts_with("other")),
        "{:?}",
        shelf.journal
    );

    shelf.refresh().await;
    assert_eq!(shelf.states["fake"].stale, None);
    assert_eq!(shelf.starts("other"), 1, "what is fresh is left alone");
    assert_eq!(shelf.text("env", json!({"name": "COLOUR"})).await, "red");

    shelf.config.servers.remove(&ServerName::new("fake"));
    shelf.configure().await;
    assert!(!shelf.known.contains_key("fake"));
    let problem = shelf.call("pid", nothing()).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
}

/// A call of `sleep` that the server has begun.
async fn sleeping(shelf: &Shelf, seconds: u32) -> JoinHandle<Result<CallResult, Problem>> {
    let (progress, mut begun) = mpsc::unbounded_channel();
    let options = CallOptions {
        progress: Some(progress),
        ..options()
    };
    let servers = shelf.servers.clone();
    let arguments = json!({ "seconds": seconds });
    let call = tokio::spawn(async move { call(&servers, "sleep", arguments, options).await });
    begun.recv().await.expect("it tells how far it is");
    call
}

#[tokio::test]
async fn an_entry_that_changes_or_goes_lets_running_calls_finish() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&[]).await;
    let running = sleeping(&shelf, 1).await;
    shelf.add("fake", &["--modern"]);
    shelf.configure().await;
    let next = shelf.text("pid", nothing());
    let (finished, _) = tokio::join!(running, next);
    finished.unwrap().unwrap();
    assert_eq!(shelf.starts("fake"), 2);

    let running = sleeping(&shelf, 1).await;
    shelf.config.servers.clear();
    shelf.configure().await;
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_end_waits_for_no_call_and_says_why() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&[]).await;
    let old = sleeping(&shelf, 60).await;
    shelf.add("fake", &["--modern"]);
    shelf.configure().await;
    shelf.servers.stop().await;
    let problem = old.await.unwrap().unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Server);
    assert!(
        problem.message.contains("since the shelf ends"),
        "{problem}"
    );
}

#[tokio::test]
async fn entry_changed_while_its_server_starts() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--slow-start", "60"]).await;
    let servers = shelf.servers.clone();
    let refresh = tokio::spawn(async move { servers.refresh().await });
    eventually(async || shelf.starts("fake") == 1).await;
    shelf.add("fake", &[]);
    shelf.configure().await;
    refresh.await.unwrap();
    assert_eq!(shelf.text("echo", json!({"text": "new"})).await, "new");
    shelf.until_phase(Phase::Ready).await;
    let failed = shelf.journal.iter().any(|line| line.ends_with("Failed"));
    assert!(!failed, "the old one spoke last: {:?}", shelf.journal);
}

#[tokio::test]
async fn failed_refresh_keeps_the_last_known_definitions() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&[]).await;
    shelf.refresh().await;
    let shown = shelf.definitions();
    let Transport::Stdio(stdio) = &mut shelf.server("fake").transport else {
        panic!("it is one");
    };
    stdio
        .args
        .extend(["--refuse".to_owned(), "tools/list".to_owned()]);
    shelf.configure().await;
    shelf.refresh().await;
    assert!(
        shelf.failure().contains("not today (code -32042)"),
        "{}",
        shelf.failure()
    );
    assert!(shelf.states["fake"].stale.is_some());
    assert!(Arc::ptr_eq(&shown, &shelf.definitions()));
}

#[tokio::test]
async fn entries_that_can_not_be_started() {
    let mut shelf = Shelf::empty();
    shelf.add("disabled", &[]).disabled = true;
    shelf.add("http", &[]).transport = Transport::Http(HttpConfig {
        url: "ftp://example.org/mcp".to_owned(),
        headers: BTreeMap::new(),
    });
    let broken = Problem::new(ProblemKind::Configuration, "there is no command");
    shelf.add("invalid", &[]).transport = Transport::Invalid(broken.clone());
    shelf.add("unresolved", &["${NOWHERE_TO_BE_FOUND}"]);
    shelf.configure().await;
    shelf.refresh().await;
    let phase = |name: &str| shelf.states[name].phase.clone();
    assert_eq!(phase("disabled"), Phase::Disabled);
    let Phase::Failed(why) = phase("http") else {
        panic!("it can't be reached");
    };
    assert!(why.contains("neither http:// nor https://"), "{why}");
    assert_eq!(phase("invalid"), Phase::Failed(broken.message.clone()));
    let Phase::Failed(why) = phase("unresolved") else {
        panic!("it can't have been started");
    };
    assert!(why.contains("NOWHERE"), "{why}");
    for name in ["disabled", "http", "invalid", "unresolved"] {
        assert_eq!(shelf.starts(name), 0);
        let (name, nothing) = (ServerName::new(name), serde_json::Map::new());
        let call = shelf.servers.call(&name, "echo", nothing, options());
        assert!(call.await.is_err());
    }
}

#[tokio::test]
async fn four_at_once_are_listed_and_stopped_again() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    for number in 0..6 {
        shelf.add(&format!("s{number}"), &["--slow-start", "0.3"]);
    }
    shelf.configure().await;
    shelf.refresh().await;
    let (mut running, mut most) = (0_usize, 0);
    for line in &shelf.journal {
        if line.ends_with("Starting") {
            running += 1;
        }
        if line.ends_with("Cold") {
            running = running.saturating_sub(1);
        }
        most = most.max(running);
    }
    assert_eq!(most, 4);
    assert!(
        shelf
            .states
            .values()
            .all(|state| state.phase == Phase::Cold)
    );
    assert!(
        shelf
            .known
            .values()
            .all(|server| server.definitions.is_some())
    );
}

#[tokio::test]
async fn refresh_leaves_a_server_running_that_is_called() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--slow-start", "0.5"]).await;
    let servers = shelf.servers.clone();
    let (result, ()) = tokio::join!(
        super::shelf::call(&servers, "echo", json!({"text": "a"}), options()),
        servers.refresh()
    );
    assert_eq!(text(&result.unwrap()), "a");
    shelf.until_phase(Phase::Ready).await;
    assert_eq!(shelf.starts("fake"), 1);
}

#[tokio::test]
async fn stop_ends_servers_that_are_starting_and_those_that_ignore_it() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--ignore-eof", "--ignore-term"]).await;
    shelf.add("slow", &["--slow-start", "60"]);
    shelf.configure().await;
    let pid = shelf.text("pid", nothing()).await;
    let servers = shelf.servers.clone();
    let refresh = tokio::spawn(async move { servers.refresh().await });
    eventually(async || shelf.starts("slow") == 1).await;
    shelf.servers.stop().await;
    refresh.await.unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    let slow = std::fs::read_to_string(shelf.path("slow.starts")).unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{}", slow.trim())).exists());
}
