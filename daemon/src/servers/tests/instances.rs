//! Servers that each session has for itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use skills::entry_id::ServerName;
use skills::problem::ProblemKind;
use skills::server::Phase;

use super::shelf::{Shelf, call, eventually, nothing, options, python, text};
use crate::config::Share;
use crate::servers::CallOptions;
use crate::servers::instances::{Instances, MAX_INSTANCES};
use crate::servers::member::Member;

async fn apart(options: &[&str], idle: Option<Duration>) -> Shelf {
    let mut shelf = Shelf::empty();
    let server = shelf.add("fake", options);
    server.share = Share::Session;
    server.idle = idle;
    shelf.configure().await;
    shelf
}

fn of(session: &str) -> CallOptions {
    CallOptions {
        session: session.to_owned(),
        ..options()
    }
}

/// The process that a session's calls go to, and what it was told besides.
async fn pid(shelf: &Shelf, session: &str) -> (String, Option<String>) {
    let called = call(&shelf.servers, "pid", nothing(), of(session)).await;
    let called = called.unwrap();
    (text(&called), called.state_lost)
}

fn instances(shelf: &Shelf) -> Arc<Instances> {
    match shelf.servers.members().get(&ServerName::new("fake")) {
        Some(Member::Supervised(server)) => Arc::clone(&server.instances),
        _ => panic!("it can be started"),
    }
}

#[tokio::test]
async fn each_session_has_its_own_and_the_list_another() {
    if !python() {
        return;
    }
    let mut shelf = apart(&[], None).await;
    shelf.refresh().await;
    assert_eq!(shelf.starts("fake"), 1);
    shelf.journal.clear();
    let (mine, _) = pid(&shelf, "mine").await;
    let (other, _) = pid(&shelf, "other").await;
    assert_ne!(mine, other);
    assert_eq!(pid(&shelf, "mine").await, (mine.clone(), None));
    assert_eq!(shelf.starts("fake"), 3);
    // What goes on for one session is no news of the server.
    shelf.refresh().await;
    assert_eq!(shelf.journal, [""; 0]);
    assert_eq!(shelf.phase(), Phase::Cold);

    let reports = shelf.servers.reports();
    let sessions: Vec<_> = reports.iter().map(|one| one.session.as_deref()).collect();
    assert_eq!(sessions, [None, Some("mine"), Some("other")]);
    let calls: Vec<_> = reports.iter().map(|one| one.standing.calls).collect();
    assert_eq!(calls, [0, 2, 1]);

    // One that breaks is the trouble of its session alone.
    let crash = json!({"text": "boom"});
    let broken = call(&shelf.servers, "crash", crash, of("mine")).await;
    assert!(broken.unwrap_err().message.contains("boom"));
    assert_eq!(pid(&shelf, "other").await, (other.clone(), None));
    let (anew, lost) = pid(&shelf, "mine").await;
    assert_ne!(anew, mine);
    assert!(lost.unwrap().contains("earlier state is gone"));
    assert_eq!(shelf.phase(), Phase::Cold);

    shelf.servers.stop().await;
    for pid in [anew, other] {
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[tokio::test]
async fn what_is_idle_ends_and_so_does_what_the_configuration_drops() {
    if !python() {
        return;
    }
    let mut shelf = apart(&[], Some(Duration::from_millis(300))).await;
    let (first, _) = pid(&shelf, "mine").await;
    let gone = |pid: &str| !Path::new(&format!("/proc/{pid}")).exists();
    eventually(async || gone(&first)).await;
    let (second, lost) = pid(&shelf, "mine").await;
    assert!(lost.unwrap().contains("it was idle"));
    shelf.server("fake").idle = None;
    shelf.configure().await;
    pid(&shelf, "mine").await;
    shelf.config.servers.clear();
    shelf.configure().await;
    eventually(async || gone(&second)).await;
}

#[tokio::test]
async fn restart_and_stop_are_for_every_instance() {
    if !python() {
        return;
    }
    let shelf = apart(&[], None).await;
    let name = ServerName::new("fake");
    let (first, _) = pid(&shelf, "mine").await;
    shelf.servers.restart(&name).await.unwrap();
    assert!(!Path::new(&format!("/proc/{first}")).exists());
    let (second, lost) = pid(&shelf, "mine").await;
    assert!(lost.unwrap().contains("restarted on demand"));
    shelf.servers.stop_one(&name).await.unwrap();
    assert!(!Path::new(&format!("/proc/{second}")).exists());
    assert!(
        shelf
            .servers
            .reports()
            .iter()
            .all(|one| !one.standing.runs())
    );
}

#[tokio::test]
async fn there_are_no_more_than_so_many() {
    let shelf = apart(&[], None).await;
    let instances = instances(&shelf);
    let held: Vec<_> = (0..MAX_INSTANCES)
        .map(|number| instances.of(&number.to_string()).unwrap())
        .collect();
    let logs: std::collections::BTreeSet<_> = held.iter().map(|one| one.log_path.clone()).collect();
    assert_eq!(logs.len(), MAX_INSTANCES, "none shares its log");
    let Err(refused) = instances.of("one more") else {
        panic!("everybody is at it");
    };
    assert_eq!(refused.kind, ProblemKind::Server);
    assert!(refused.message.contains("16 sessions"), "{refused}");
    // Those who are there have theirs all the same.
    assert!(instances.of("3").is_ok());
    for (number, handle) in held.iter().enumerate().rev() {
        handle
            .history
            .called(&number.to_string(), handle.history.started());
    }
    drop(held);
    // The one that was called longest ago makes room: the last.
    let last = (MAX_INSTANCES - 1).to_string();
    let new = instances.of("one more").unwrap();
    assert!(
        logs.contains(&new.log_path),
        "the number of logs is bounded"
    );
    assert_eq!(new.history.lost("one more", 9), None);
    assert_eq!(instances.all().len(), MAX_INSTANCES);
    assert!(
        instances
            .all()
            .iter()
            .all(|(session, _)| **session != *last)
    );
    let back = instances.of(&last).unwrap();
    let lost = back.history.lost(&last, back.history.started());
    assert!(lost.unwrap().contains("make room"));
}
