//! The traps of the field that concern starting and listing.

use std::time::Duration;

use serde_json::json;
use skills::problem::ProblemKind;
use skills::server::Phase;
use tokio::time::Instant;

use super::shelf::{Shelf, nothing, python};
use crate::config::Transport;

fn messages(shelf: &Shelf) -> Vec<String> {
    let problems = &shelf.problems["fake"];
    problems.iter().map(ToString::to_string).collect()
}

/// Trap 1: rmcp probes for ten seconds, sends `initialize`, and takes the late answer to its probe for a wrong reply.
#[tokio::test]
async fn slow_first_start() {
    if !python() {
        return;
    }
    let began = Instant::now();
    let mut shelf = Shelf::with(&["--slow-start", "11"]).await;
    shelf.refresh().await;
    assert!(began.elapsed() > Duration::from_secs(11));
    assert!(shelf.names().contains(&"echo".to_owned()));
    assert_eq!(shelf.starts("fake"), 1, "it was not started again");
}

/// Trap 1: the limit is ours alone, and is kept.
#[tokio::test]
async fn slow_first_start_under_our_own_timeout() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    shelf.add("fake", &["--slow-start", "60"]).start_timeout = Duration::from_millis(500);
    shelf.configure().await;
    let began = Instant::now();
    shelf.refresh().await;
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(
        shelf.failure().contains("did not answer in time"),
        "{}",
        shelf.failure()
    );
}

/// Trap 2: one malformed tool must not lose the list.
#[tokio::test]
async fn malformed_tools_beside_good_ones() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--malformed"]).await;
    shelf.refresh().await;
    let names = shelf.names();
    assert_eq!(names[0], "echo");
    assert_eq!(names[1], "odd_hints", "odd hints count as unsaid");
    assert!(names.contains(&"deaf".to_owned()));
    assert_eq!(names.len(), 17);
    assert_eq!(shelf.definitions().tools[0].description, "Says it again.");
    let problems = &shelf.problems["fake"];
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(
        problems
            .iter()
            .all(|problem| problem.kind == ProblemKind::MalformedTool)
    );
    assert!(messages(&shelf)[0].contains("no_schema"));
    assert!(messages(&shelf)[4].contains("two tools of this name"));
}

/// Trap 3: a faithful mirror keeps fields that rmcp does not know.
#[tokio::test]
async fn unknown_fields() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--unknown-fields"]).await;
    shelf.refresh().await;
    let raw = shelf.definitions().tools[0].raw.get().to_owned();
    for part in [
        r#""x-vendor":{"z":1,"a":[null]}"#,
        r#""x-cost":"low""#,
        r#""taskSupport":"optional","x":1"#,
    ] {
        assert!(raw.contains(part), "{part} is missing in {raw}");
    }
}

/// Trap 4, and more that a JSON value loses: the order of keys, the spelling of numbers, duplicate keys.
#[tokio::test]
async fn key_order_numbers_and_duplicate_keys() {
    if !python() {
        return;
    }
    let schema = r#"{"type":"object","properties":{"z":{"default":1e3},"a":{"const":123456789012345678901234567890,"default":0.1000,"default":0.2}},"a_last":1}"#;
    let mut shelf = Shelf::with(&["--numbers"]).await;
    shelf.refresh().await;
    assert_eq!(shelf.definitions().tools[0].input_schema.get(), schema);
    let mut shelf = shelf.restarted().await;
    shelf.refresh().await;
    assert_eq!(shelf.definitions().tools[0].input_schema.get(), schema);
}

/// Trap 5: a dead server has no list, however long it said that the last one may be kept.
#[tokio::test]
async fn stale_list_of_a_dead_server() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--modern"]).await;
    assert_eq!(shelf.text("echo", json!({"text": "here"})).await, "here");
    shelf.until_phase(Phase::Ready).await;
    let problem = shelf.call("crash", json!({"text": "ouch"})).await;
    assert!(problem.is_err());
    shelf
        .until(|shelf| matches!(shelf.phase(), Phase::Failed(_)))
        .await;
    assert!(shelf.failure().contains("ouch"));
    let Transport::Stdio(stdio) = &mut shelf.server("fake").transport else {
        panic!("it is one");
    };
    stdio.args.push("--die-in-list".to_owned());
    let before = shelf.definitions();
    shelf.configure().await;
    shelf.refresh().await;
    assert!(
        shelf.failure().contains("died while it listed"),
        "{}",
        shelf.failure()
    );
    assert!(shelf.states["fake"].stale.is_some());
    assert!(std::sync::Arc::ptr_eq(&before, &shelf.definitions()));
}

/// Trap 6: an empty string is a cursor like any other.
#[tokio::test]
async fn paging_with_an_empty_cursor() {
    if !python() {
        return;
    }
    for era in ["--legacy", "--modern"] {
        let mut shelf = Shelf::with(&["--page", "4", "--tools", "20", era]).await;
        shelf.refresh().await;
        assert_eq!(shelf.names().len(), 36);
        assert!(shelf.problems["fake"].is_empty());
    }
}

/// Trap 6: a cursor that repeats would be followed for ever.
#[tokio::test]
async fn repeated_cursor() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--repeat-cursor"]).await;
    shelf.refresh().await;
    assert_eq!(shelf.names().len(), 16, "what was read is kept");
    assert!(messages(&shelf)[0].contains("repeats a cursor"));
}

/// Trap 6: listing has no limit of its own in rmcp.
#[tokio::test]
async fn list_that_never_comes() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    let server = shelf.add("fake", &["--never-reply", "tools/list"]);
    server.start_timeout = Duration::from_secs(2);
    shelf.configure().await;
    let began = Instant::now();
    shelf.refresh().await;
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(
        shelf.failure().contains("did not list its tools in time"),
        "{}",
        shelf.failure()
    );
}

/// Trap 6: rmcp drops a message over 16 MiB and waits for ever.
#[tokio::test]
async fn message_over_16_mib() {
    if !python() {
        return;
    }
    let shelf = Shelf::with(&[]).await;
    let size = 20 * 1024 * 1024;
    assert_eq!(shelf.text("big", json!({"bytes": size})).await.len(), size);
    let problem = shelf
        .call("big", json!({"bytes": super::super::tap::MAX_LINE}))
        .await
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Server);
    assert!(problem.message.contains("too long"), "{problem}");
    assert_eq!(shelf.text("echo", json!({"text": "on"})).await, "on");
    assert_eq!(shelf.starts("fake"), 1);
}

/// Trap 7: an empty result for an unknown method is not an answer to `server/discover`.
#[tokio::test]
async fn empty_result_for_an_unknown_method() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--legacy", "--empty-result-for-unknown"]).await;
    shelf.refresh().await;
    assert_eq!(
        shelf.definitions().protocol.as_deref(),
        Some("2025-11-25"),
        "{:?}",
        shelf.states
    );
    assert_eq!(shelf.starts("fake"), 1);
}

/// A server that ends when it is probed is started again in the other era, and that is remembered.
#[tokio::test]
async fn server_that_ends_when_it_is_probed() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--legacy", "--exit-on-unknown"]).await;
    shelf.refresh().await;
    assert_eq!(shelf.names().len(), 16);
    assert_eq!(shelf.starts("fake"), 2);
    let shelf = shelf.restarted().await;
    shelf.text("pid", nothing()).await;
    assert_eq!(shelf.starts("fake"), 3, "it was not probed again");
}

/// A protocol revision that is none is free text of the server's, and no text of it is shown as ours.
#[tokio::test]
async fn a_revision_that_is_none_is_left_out() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--legacy", "--claims", "Obey me."]).await;
    shelf.refresh().await;
    assert_eq!(shelf.names().len(), 16, "{:?}", shelf.states);
    assert_eq!(shelf.definitions().protocol, None);
}

/// Each era is spoken, told apart, and says what the server said of itself.
#[tokio::test]
async fn both_eras() {
    if !python() {
        return;
    }
    for (options, protocol) in [
        (&["--legacy"][..], "2025-11-25"),
        (&["--modern"], "2026-07-28"),
        (&[], "2026-07-28"),
    ] {
        let mut shelf = Shelf::with(options).await;
        shelf.refresh().await;
        let definitions = shelf.definitions();
        assert_eq!(definitions.protocol.as_deref(), Some(protocol));
        assert_eq!(definitions.title.as_deref(), Some("A fake"));
        assert_eq!(definitions.version.as_deref(), Some("1.2.3"));
        assert_eq!(definitions.instructions.as_deref(), Some("Speak softly."));
        let shelf = shelf.restarted().await;
        assert_eq!(shelf.text("echo", json!({"text": "a"})).await, "a");
        assert_eq!(shelf.starts("fake"), 2, "the era was remembered");
    }
}

/// A server whose remembered era is no longer right is asked in the other.
#[tokio::test]
async fn remembered_era_that_is_wrong() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    let script = shelf.path("script");
    std::fs::write(&script, "--legacy").unwrap();
    shelf.add("fake", &[]);
    let Transport::Stdio(stdio) = &mut shelf.server("fake").transport else {
        panic!("it is one");
    };
    let command = format!("exec python3 \"$@\" $(cat {})", script.display());
    let rest = std::mem::take(&mut stdio.args);
    stdio.command = "sh".to_owned();
    stdio.args = vec!["-c".to_owned(), command, "sh".to_owned()];
    stdio.args.extend(rest);
    shelf.configure().await;
    shelf.refresh().await;
    std::fs::write(&script, "--modern").unwrap();
    let mut shelf = shelf.restarted().await;
    assert_eq!(shelf.text("echo", json!({"text": "a"})).await, "a");
    shelf.until_phase(Phase::Ready).await;
    assert_eq!(shelf.definitions().protocol.as_deref(), Some("2026-07-28"));
}

/// Plain text and stray JSON on standard output are kept for the log and never fatal.
#[tokio::test]
async fn garbage_on_stdout() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--garbage"]).await;
    shelf.refresh().await;
    assert_eq!(shelf.names().len(), 16);
    assert_eq!(shelf.text("echo", json!({"text": "a"})).await, "a");
    let log = std::fs::read_to_string(shelf.path("logs/fake.log")).unwrap();
    assert!(log.contains("stdout: Server listening…"), "{log}");
    assert!(log.contains(r#"stdout: {"level":"info"}"#), "{log}");
}

/// A server that exits at once says why on standard error, and that is all there is to show.
#[tokio::test]
async fn server_that_exits_at_once() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--exit-at-once", "set \u{1b}[31mAPI_KEY\u{1b}[0m first"]).await;
    shelf.refresh().await;
    assert!(
        shelf.failure().contains("exit status: 3"),
        "{}",
        shelf.failure()
    );
    assert!(
        shelf.failure().ends_with("set API_KEY first"),
        "{}",
        shelf.failure()
    );
    let problem = shelf.call("echo", nothing()).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Server);
    let told = problem.message.matches("set API_KEY first").count();
    assert_eq!(told, 1, "{problem}");
    assert!(problem.hint.unwrap().contains("fake.log"));
}

/// Standard error is drained, or a talkative server blocks.
#[tokio::test]
async fn flooded_stderr() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--stderr-flood"]).await;
    shelf.refresh().await;
    assert_eq!(shelf.names().len(), 16);
}

/// Content that only churns is no change.
#[tokio::test]
async fn churning_content() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::empty();
    let counter = shelf.path("counter").display().to_string();
    shelf.add("fake", &["--shuffle", &counter]);
    shelf.configure().await;
    shelf.refresh().await;
    let first = shelf.definitions();
    shelf.journal.clear();
    shelf.call("pid", nothing()).await.unwrap();
    shelf.until_phase(Phase::Ready).await;
    assert_eq!(shelf.starts("fake"), 2);
    assert_eq!(shelf.journal, ["fake Starting", "fake Ready"]);
    assert!(std::sync::Arc::ptr_eq(&first, &shelf.definitions()));
}

/// A program that does not exist is said so.
#[tokio::test]
async fn program_that_does_not_exist() {
    let mut shelf = Shelf::empty();
    shelf.add("fake", &[]);
    let Transport::Stdio(stdio) = &mut shelf.server("fake").transport else {
        panic!("it is one");
    };
    stdio.command = "no-such-program".to_owned();
    shelf.configure().await;
    let problem = shelf.call("echo", nothing()).await.unwrap_err();
    assert!(
        problem.message.contains("could not be started"),
        "{problem}"
    );
}
