//! Calls: their results as they were sent, their failures, and their ends.

use std::time::Duration;

use serde_json::json;
use skills::problem::ProblemKind;
use skills::server::Phase;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::shelf::{Shelf, call, eventually, nothing, options, python, text};
use crate::servers::CallOptions;

#[tokio::test]
async fn results_are_the_bytes_that_were_sent() {
    if !python() {
        return;
    }
    for options in [&["--legacy"][..], &["--modern", "--string-ids"]] {
        let shelf = Shelf::with(options).await;
        let result = shelf.call("odd", nothing()).await.unwrap();
        assert_eq!(
            result.raw.get(),
            r#"{"content":[{"type":"hologram","depth":1e3}],"structuredContent":{"n":123456789012345678901234567890,"b":1,"a":0.10}}"#
        );
        assert!(!result.is_error);
        let result = shelf.call("fail", nothing()).await.unwrap();
        assert!(result.is_error);
        assert_eq!(text(&result), "it did not work");
    }
}

#[tokio::test]
async fn protocol_errors_keep_code_message_and_data() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&[]).await;
    let problem = shelf.call("refuse", nothing()).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::ToolError);
    assert_eq!(
        problem.to_string(),
        r#"fake/refuse: the server says: I will not (code -32602); data: {"why":"mood"}"#
    );
}

#[tokio::test]
async fn input_that_is_not_named_is_said_not_shown_as_a_result() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&["--modern"]).await;
    let problem = shelf.call("ask", nothing()).await.unwrap_err();
    assert!(problem.message.contains("asks for further input"));
}

#[tokio::test]
async fn reply_that_never_comes() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&["--never-reply", "tools/call"]).await;
    shelf.servers.refresh().await;
    let began = Instant::now();
    let short = CallOptions {
        timeout: Some(Duration::from_secs(1)),
        ..options()
    };
    let problem = call(&shelf.servers, "echo", nothing(), short)
        .await
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::TimedOut);
    assert!(
        problem.message.starts_with("timed out after 1s"),
        "{problem}"
    );
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn calls_are_cancelled_at_the_server() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&[]).await;
    let cancelled = async |count: &str| {
        eventually(async || shelf.text("cancelled", nothing()).await == count).await;
    };

    // Its start is no part of the time that is limited next.
    shelf.text("pid", nothing()).await;
    let late = CallOptions {
        timeout: Some(Duration::from_secs(2)),
        ..options()
    };
    let problem = call(&shelf.servers, "sleep", json!({"seconds": 60}), late)
        .await
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::TimedOut);
    cancelled("1").await;

    let token = CancellationToken::new();
    let (progress, mut told) = mpsc::unbounded_channel();
    let interrupted = CallOptions {
        timeout: None,
        cancelled: token.clone(),
        progress: Some(progress),
        questions: None,
        session: String::new(),
    };
    let running = call(&shelf.servers, "sleep", json!({"seconds": 60}), interrupted);
    let (problem, ()) = tokio::join!(running, async {
        for step in 0..3 {
            let progress = told.recv().await.unwrap();
            assert_eq!(progress.progress, f64::from(step));
            assert_eq!(progress.total, Some(3.0));
            assert_eq!(progress.message, Some(format!("step {step}")));
        }
        token.cancel();
    });
    assert_eq!(problem.unwrap_err().kind, ProblemKind::Interrupted);
    cancelled("2").await;

    // A caller that just goes away cancels too.
    let (progress, mut told) = mpsc::unbounded_channel();
    let abandoned = CallOptions {
        progress: Some(progress),
        ..options()
    };
    tokio::select! {
        _ = call(&shelf.servers, "sleep", json!({"seconds": 60}), abandoned) => panic!("it ended"),
        progress = told.recv() => assert!(progress.is_some()),
    }
    cancelled("3").await;
    assert_eq!(shelf.starts("fake"), 1);
}

#[tokio::test]
async fn calls_share_one_start_and_one_connection() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&[]).await;
    let began = Instant::now();
    let calls = (0..10).map(|_| shelf.call("sleep", json!({"seconds": 1})));
    let results = futures_join(calls).await;
    assert!(results.iter().all(Result::is_ok));
    assert!(began.elapsed() < Duration::from_secs(8), "side by side");
    assert_eq!(shelf.starts("fake"), 1);
}

#[tokio::test]
async fn calls_share_one_failed_start() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&["--exit-at-once", "no"]).await;
    let results = futures_join((0..10).map(|_| shelf.call("echo", nothing()))).await;
    assert!(results.iter().all(Result::is_err));
    assert_eq!(shelf.starts("fake"), 2, "one start in each era");
}

#[tokio::test]
async fn server_that_breaks_off_fails_the_calls_in_flight_alone() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&[]).await;
    let first = shelf.text("pid", nothing()).await;
    let (sleeping, crashed) = tokio::join!(
        shelf.call("sleep", json!({"seconds": 60})),
        shelf.call("crash", json!({"text": "ouch"}))
    );
    for problem in [sleeping.unwrap_err(), crashed.unwrap_err()] {
        assert_eq!(problem.kind, ProblemKind::Server);
        assert!(problem.message.contains("broke off"), "{problem}");
        assert!(problem.message.contains("ouch"), "{problem}");
        assert!(problem.message.contains("exit status: 5"), "{problem}");
    }
    assert_eq!(shelf.starts("fake"), 1, "no call was sent twice");
    shelf
        .until(|shelf| matches!(shelf.phase(), Phase::Failed(_)))
        .await;
    assert_ne!(shelf.text("pid", nothing()).await, first);
    assert_eq!(shelf.starts("fake"), 2);
}

#[tokio::test]
async fn call_that_finds_the_server_dead_starts_it_again() {
    if !python() {
        return;
    }
    for tool in ["die", "deaf"] {
        let shelf = Shelf::with(&[]).await;
        let pid = shelf.text("pid", nothing()).await;
        shelf.call(tool, nothing()).await.unwrap();
        if tool == "die" {
            // Until it is dead, what is written to it counts as sent.
            let stat = std::path::Path::new("/proc").join(pid).join("stat");
            let is_dead = || std::fs::read_to_string(&stat).map_or(true, |s| s.contains(") Z "));
            eventually(async || is_dead()).await;
        }
        let text = shelf.text("echo", json!({"text": "again"})).await;
        assert_eq!(text, "again", "after {tool}");
        assert_eq!(shelf.starts("fake"), 2);
    }
}

#[tokio::test]
async fn servers_that_are_not_there() {
    let shelf = Shelf::empty();
    let problem = shelf.call("echo", nothing()).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
}

async fn futures_join<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    let mut results = Vec::new();
    std::future::poll_fn(|context| {
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(result) => {
                results.push(result);
                false
            }
            std::task::Poll::Pending => true,
        });
        if futures.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    results
}
