//! Servers over HTTP: both eras, and what becomes of calls when streams, sessions and connections are lost.

use std::time::Duration;

use serde_json::json;
use skills::problem::ProblemKind;
use skills::server::Phase;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::fake_http::FakeHttp;
use super::shelf::{SOON, call, eventually, nothing, options, python};
use crate::servers::CallOptions;

const ERAS: [&str; 2] = ["--legacy", "--modern"];

#[tokio::test]
async fn both_eras_answer_as_json_and_as_streams() {
    if !python() {
        return;
    }
    for (era, protocol) in [("--legacy", "2025-11-25"), ("--modern", "2026-07-28")] {
        for options in [&[era][..], &[era, "--stream"], &[era, "--stateless"]] {
            let fake = FakeHttp::start(options).await;
            let mut shelf = fake.shelf().await;
            shelf.refresh().await;
            assert_eq!(shelf.phase(), Phase::Cold, "{options:?}");
            assert_eq!(shelf.definitions().protocol.as_deref(), Some(protocol));
            assert!(shelf.names().contains(&"echo".to_owned()));
            assert_eq!(shelf.text("echo", json!({"text": "007"})).await, "007");
            shelf.servers.stop().await;
        }
    }
}

#[tokio::test]
async fn the_earlier_era_keeps_a_session_and_ends_it() {
    if !python() {
        return;
    }
    let fake = FakeHttp::start(&["--legacy"]).await;
    let shelf = fake.shelf().await;
    shelf.text("echo", json!({"text": "a"})).await;
    let sent = &fake.last("tools/call")["headers"];
    assert_eq!(sent["mcp-session-id"], "session-1");
    assert_eq!(sent["mcp-protocol-version"], "2025-11-25");
    assert_eq!(sent["mcp-method"], json!(null));
    assert!(
        sent["user-agent"]
            .as_str()
            .unwrap()
            .starts_with("toolshelf/")
    );
    shelf.servers.stop().await;
    assert_eq!(fake.count("DELETE"), 1);
}

#[tokio::test]
async fn the_later_era_repeats_what_it_asks_in_headers_and_has_no_session() {
    if !python() {
        return;
    }
    let fake = FakeHttp::start(&["--modern", "--headers"]).await;
    let mut shelf = fake.shelf().await;
    let sent = shelf.text("good", json!({"region": "Grüße"})).await;
    assert_eq!(sent, "=?base64?R3LDvMOfZQ==?=");
    let sent = &fake.last("tools/call")["headers"];
    assert_eq!(sent["mcp-protocol-version"], "2026-07-28");
    assert_eq!(sent["mcp-method"], "tools/call");
    assert_eq!(sent["mcp-name"], "good");
    assert_eq!(sent["mcp-session-id"], json!(null));
    // A tool that breaks the rules is left out, and that is said.
    shelf
        .until(|shelf| shelf.problems.contains_key("fake"))
        .await;
    assert!(!shelf.names().contains(&"bad".to_owned()));
    let problem = shelf.problems["fake"][0].to_string();
    assert!(problem.contains("x-mcp-header of `region`"), "{problem}");
    shelf.servers.stop().await;
    assert_eq!(fake.count("DELETE") + fake.count("GET"), 0);
}

#[tokio::test]
async fn a_stream_that_broke_off_is_taken_up_again_and_the_call_is_not() {
    if !python() {
        return;
    }
    let fake = FakeHttp::start(&["--legacy"]).await;
    let shelf = fake.shelf().await;
    assert_eq!(shelf.text("drop", nothing()).await, "resumed");
    assert_eq!(shelf.text("calls", nothing()).await, "2");

    let problem = shelf.call("gone", nothing()).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Server);
    assert!(
        problem
            .message
            .contains("closed the stream before it answered"),
        "{problem}"
    );
    let problem = shelf.call("cut", nothing()).await.unwrap_err();
    assert!(
        problem.message.contains("broke off before it answered"),
        "{problem}"
    );
    // Neither was sent again, and nothing else was lost by them.
    assert_eq!(shelf.text("calls", nothing()).await, "5");
    assert_eq!(fake.count("initialize"), 1);
}

#[tokio::test]
async fn a_forgotten_session_is_replaced_by_the_next_call() {
    if !python() {
        return;
    }
    for status in ["404", "400"] {
        let fake = FakeHttp::start(&["--legacy", "--forgetful", status]).await;
        let shelf = fake.shelf().await;
        shelf.text("forget", nothing()).await;
        assert_eq!(shelf.text("echo", json!({"text": "again"})).await, "again");
        assert_eq!(
            shelf.text("calls", nothing()).await,
            "3",
            "each was run once"
        );
        assert_eq!(fake.count("initialize"), 2);
        assert_eq!(
            fake.last("tools/call")["headers"]["mcp-session-id"],
            "session-2"
        );
    }
}

#[tokio::test]
async fn calls_of_one_session_run_side_by_side() {
    if !python() {
        return;
    }
    for era in ERAS {
        let fake = FakeHttp::start(&[era]).await;
        let shelf = fake.shelf().await;
        let slow = shelf.call("sleep", json!({"seconds": 60}));
        let quick = async {
            eventually(async || fake.count("tools/call") >= 1).await;
            shelf.text("echo", json!({"text": "quick"})).await
        };
        tokio::select! {
            _ = slow => panic!("it sleeps"),
            text = quick => assert_eq!(text, "quick"),
        }
    }
}

#[tokio::test]
async fn a_crowd_of_calls_is_answered_on_a_bounded_number_of_connections() {
    if !python() {
        return;
    }
    let fake = FakeHttp::start(&["--modern"]).await;
    let shelf = fake.shelf().await;
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let servers = shelf.servers.clone();
        calls.spawn(async move {
            let pause = json!({"seconds": 0.2});
            call(&servers, "sleep", pause, options()).await
        });
    }
    for result in calls.join_all().await {
        result.unwrap();
    }
    assert_eq!(shelf.text("calls", nothing()).await, "201");
    let peak: usize = shelf.text("peak", nothing()).await.parse().unwrap();
    // One of the 64 is the subscription's.
    assert!((2..=64).contains(&peak), "{peak}");
}

#[tokio::test]
async fn a_call_whose_time_is_up_is_cancelled_as_its_era_does_it() {
    if !python() {
        return;
    }
    for (era, messages) in [("--legacy", 1), ("--modern", 0)] {
        let fake = FakeHttp::start(&[era]).await;
        let shelf = fake.shelf().await;
        shelf.text("echo", json!({"text": "started"})).await;
        let limited = CallOptions {
            timeout: Some(Duration::from_millis(300)),
            ..options()
        };
        let problem = call(&shelf.servers, "sleep", json!({"seconds": 5}), limited).await;
        assert_eq!(problem.unwrap_err().kind, ProblemKind::TimedOut);
        eventually(async || fake.count("notifications/cancelled") == messages).await;
        assert_eq!(shelf.text("echo", json!({"text": "on"})).await, "on");
        assert_eq!(fake.count("notifications/cancelled"), messages);
    }
}

#[tokio::test]
async fn a_reply_over_the_limit_fails_alone() {
    if !python() {
        return;
    }
    for options in [&["--legacy"][..], &["--modern", "--stream"]] {
        let fake = FakeHttp::start(options).await;
        let shelf = fake.shelf().await;
        let large = shelf.call("big", json!({"bytes": 15 << 20})).await.unwrap();
        assert!(large.raw.get().len() > 15 << 20);
        let problem = shelf
            .call("big", json!({"bytes": 17 << 20}))
            .await
            .unwrap_err();
        assert!(problem.message.contains("too long"), "{problem}");
        assert_eq!(shelf.text("echo", json!({"text": "on"})).await, "on");
    }
}

#[tokio::test]
async fn changes_are_heard_and_where_there_is_nothing_to_hear_looked_for() {
    if !python() {
        return;
    }
    for options in [&["--legacy"][..], &["--modern"], &["--legacy", "--deaf"]] {
        let fake = FakeHttp::start(options).await;
        let mut shelf = fake.shelf().await;
        shelf.text("echo", json!({"text": "started"})).await;
        if !options.contains(&"--deaf") {
            eventually(async || fake.count("GET") + fake.count("subscriptions/listen") == 1).await;
        }
        shelf.text("change", nothing()).await;
        let added = "added_0".to_owned();
        let shown = shelf.until(|shelf| shelf.names().contains(&added));
        timeout(SOON, shown).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_is_gone_has_failed_and_is_tried_again_under_a_pause() {
    if !python() {
        return;
    }
    for era in ERAS {
        let fake = FakeHttp::start(&[era]).await;
        let mut shelf = fake.shelf().await;
        shelf.text("echo", json!({"text": "started"})).await;
        shelf.until(|shelf| shelf.phase() == Phase::Ready).await;
        drop(fake);
        // A connection that was kept may break off first.
        eventually(async || {
            let problem = shelf.call("echo", json!({"text": "x"})).await.unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Server);
            problem.message.contains("could not be reached")
        })
        .await;
        let failed = |phase: Phase| matches!(phase, Phase::Failed(why) if why.contains("could not be reached"));
        let shown = shelf.until(|shelf| failed(shelf.phase()));
        timeout(SOON, shown).await.unwrap();
        // The next is a start, after which it is left alone.
        eventually(async || {
            let problem = shelf.call("echo", json!({"text": "x"})).await.unwrap_err();
            problem.message.contains("next try in")
        })
        .await;
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_breaks_off_no_call_that_is_under_way() {
    if !python() {
        return;
    }
    for era in ERAS {
        let fake = FakeHttp::start(&[era]).await;
        let shelf = fake.shelf().await;
        shelf.text("echo", json!({"text": "started"})).await;
        let directory = tempfile::tempdir().unwrap();
        let until = directory.path().join("until");
        let slow = shelf.call("deafen", json!({"until": until}));
        let refused = async {
            eventually(async || {
                let problem = shelf.call("echo", json!({"text": "x"})).await.err();
                problem.is_some_and(|problem| problem.message.contains("could not be reached"))
            })
            .await;
            std::fs::write(&until, "").unwrap();
        };
        let (slow, ()) = tokio::join!(slow, refused);
        slow.unwrap();
    }
}
