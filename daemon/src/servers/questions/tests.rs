use std::path::{Path, PathBuf};

use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Addressee, Answers, fingerprint, uri};
use crate::servers::asking::{Asker, Elicited, Inquiry};
use crate::servers::server_log::ServerLog;

/// What an addressee is told besides, and what the log has.
async fn asked(
    method: &str,
    params: Value,
    callers: usize,
) -> (Result<Value, ErrorCode>, Vec<String>, String) {
    let directory = tempfile::tempdir().unwrap();
    let log = ServerLog::create(&directory.path().join("log"));
    let answers = Answers::new(Vec::new(), log.clone());
    let (askers, mut heard): (Vec<_>, Vec<_>) = (0..callers)
        .map(|_| {
            let (to, heard) = mpsc::unbounded_channel();
            (Asker::new(to, true), heard)
        })
        .unzip();
    let to = match askers.len() {
        0 => Addressee::Nobody,
        1 => Addressee::Caller(askers[0].clone()),
        _ => Addressee::OneOf(askers.clone()),
    };
    let answering = answers.answer(method, Some(&params), &to);
    let mut told = Vec::new();
    let hearing = async {
        if let [heard] = &mut heard[..] {
            match heard.recv().await {
                Some(Inquiry::Form { answer, .. }) => {
                    let content = serde_json::Map::new();
                    answer.send(Elicited::Accept { content }).unwrap();
                }
                Some(Inquiry::Refused(what)) => told.push(what),
                None => panic!("the asker is gone"),
            }
        }
    };
    let (answer, ()) = tokio::join!(answering, hearing);
    for heard in &mut heard {
        while let Ok(Inquiry::Refused(what)) = heard.try_recv() {
            told.push(what);
        }
    }
    (
        answer.map_err(|unanswered| unanswered.code),
        told,
        log.tail(),
    )
}

fn form() -> Value {
    json!({ "message": "who?", "requestedSchema": { "type": "object" } })
}

#[tokio::test]
async fn a_form_goes_to_the_only_caller() {
    let (answer, told, log) = asked("elicitation/create", form(), 1).await;
    assert_eq!(
        answer.unwrap(),
        json!({ "action": "accept", "content": {} })
    );
    assert_eq!((told.len(), &*log), (0, ""));
}

#[tokio::test]
async fn a_form_for_none_or_for_one_of_several_is_cancelled_and_told() {
    for callers in [0, 2] {
        let (answer, told, log) = asked("elicitation/create", form(), callers).await;
        assert_eq!(answer.unwrap(), json!({ "action": "cancel" }));
        assert_eq!(told.len(), callers);
        // It may be the other session's.
        assert!(!told.iter().any(|what| what.contains("who?")), "{told:?}");
        assert!(log.contains("who?"), "{log}");
    }
}

#[tokio::test]
async fn a_form_that_is_too_large_is_cancelled_and_told() {
    let properties: serde_json::Map<String, Value> = (0..201)
        .map(|number| (format!("f{number}"), json!({ "type": "string" })))
        .collect();
    let schema = json!({ "type": "object", "properties": properties });
    let params = json!({ "message": "who?\nwarning: x", "requestedSchema": schema });
    let (answer, told, log) = asked("elicitation/create", params, 1).await;
    assert_eq!(answer.unwrap(), json!({ "action": "cancel" }));
    assert!(
        told[0].contains("too large") && told[0].contains("201 fields"),
        "{told:?}"
    );
    // What the server says stays on our line.
    assert!(told[0].ends_with("who? warning: x"), "{told:?}");
    assert!(log.contains("201 fields"), "{log}");
}

#[tokio::test]
async fn what_is_not_declared_is_refused_as_the_protocol_says() {
    let url = json!({ "mode": "url", "message": "go", "url": "https://example.com" });
    let odd = json!({ "message": "who?", "requestedSchema": 7 });
    for (method, params, code, word) in [
        (
            "sampling/createMessage",
            json!({}),
            ErrorCode::METHOD_NOT_FOUND,
            "sampling",
        ),
        (
            "roots/list",
            json!({}),
            ErrorCode::METHOD_NOT_FOUND,
            "roots",
        ),
        (
            "elicitation/create",
            url,
            ErrorCode::INVALID_PARAMS,
            "\"url\"",
        ),
        (
            "elicitation/create",
            odd,
            ErrorCode::INVALID_PARAMS,
            "requestedSchema",
        ),
    ] {
        let (answer, told, log) = asked(method, params, 1).await;
        assert_eq!(answer.unwrap_err(), code, "{method}");
        assert!(told[0].contains(word), "{told:?}");
        assert!(log.contains(word), "{log}");
    }
    let (answer, ..) = asked("tasks/list", json!({}), 0).await;
    assert_eq!(answer.unwrap_err(), ErrorCode::METHOD_NOT_FOUND);
}

#[test]
fn a_root_is_a_uri_whatever_its_bytes() {
    assert_eq!(
        uri(Path::new("/srv/a b/ü%#?")),
        "file:///srv/a%20b/%C3%BC%25%23%3F"
    );
    assert_eq!(uri(Path::new("/")), "file:///");
}

#[test]
fn freshness_follows_what_is_declared_and_the_roots() {
    let of = |roots: &[&str]| fingerprint(&roots.iter().map(PathBuf::from).collect::<Vec<_>>());
    assert_ne!(of(&[]), of(&["/a"]));
    assert_ne!(of(&["/a"]), of(&["/b"]));
    assert!(!of(&["/a"]).contains("sampling"));
}
