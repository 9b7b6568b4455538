//! Questions of servers on their way to whoever calls, and the time that they take.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use skills::problem::{Problem, ProblemKind};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::shelf::{Shelf, call, options, python, text};
use crate::config::{StdioConfig, Transport};
use crate::servers::{CallOptions, CallResult, Elicited, Inquiry};

/// What a server may take for a call, and what whoever is asked takes for an answer.
const LIMIT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(3);

/// Has a server ask, and answers late.
async fn answered_late(era: &[&str], timeout: Option<Duration>) -> Result<CallResult, Problem> {
    let shelf = asking(era).await;
    let (to, mut asked) = mpsc::unbounded_channel();
    let options = CallOptions {
        questions: Some(to),
        timeout,
        ..options()
    };
    let calling = call(&shelf.servers, "ask", one_form(), options);
    let answering = async {
        while let Some(inquiry) = asked.recv().await {
            let Inquiry::Form { answer, .. } = inquiry else {
                panic!("it is refused");
            };
            sleep(ANSWER).await;
            // A call that is over waits no more.
            let _ = answer.send(Elicited::Decline);
        }
    };
    tokio::join!(calling, answering).0
}

/// What has the server ask for one form.
fn one_form() -> Value {
    let schema = json!({ "type": "object" });
    let form = json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema": schema } });
    json!({ "ask": [form] })
}

/// A shelf with a server that asks.
async fn asking(era: &[&str]) -> Shelf {
    let mut shelf = Shelf::empty();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/servers/asking.py");
    let mut args = vec![program.display().to_string()];
    args.extend(era.iter().map(|&era| era.to_owned()));
    let server = shelf.add("fake", &[]);
    server.timeout = LIMIT;
    server.transport = Transport::Stdio(StdioConfig {
        command: "python3".to_owned(),
        args,
        ..StdioConfig::default()
    });
    shelf.configure().await;
    shelf.servers.refresh().await;
    shelf
}

#[tokio::test]
async fn an_entry_that_goes_leaves_a_call_that_waits_for_an_answer_to_its_end() {
    if !python() {
        return;
    }
    for era in [&[][..], &["--modern"]] {
        let shelf = asking(era).await;
        let (to, mut asked) = mpsc::unbounded_channel();
        let options = CallOptions {
            questions: Some(to),
            ..options()
        };
        let calling = call(&shelf.servers, "ask", one_form(), options);
        let answering = async {
            let Some(Inquiry::Form { answer, .. }) = asked.recv().await else {
                panic!("nothing is asked");
            };
            let mut without = shelf.config.clone();
            without.servers.clear();
            shelf.servers.configure(&without);
            // The server's task has seen that it is to end.
            sleep(Duration::from_millis(100)).await;
            answer.send(Elicited::Decline).unwrap();
        };
        let (result, ()) = tokio::join!(calling, answering);
        let said = text(&result.unwrap());
        assert!(said.contains("decline"), "{era:?}: {said}");
    }
}

#[tokio::test]
async fn the_time_of_an_answer_is_not_the_server_s() {
    if !python() {
        return;
    }
    for era in [&[][..], &["--modern"]] {
        let result = answered_late(era, None).await.unwrap();
        let said: Value = serde_json::from_str(&text(&result)).unwrap();
        let replies = said.get("replies").unwrap_or(&said);
        assert_eq!(replies[0]["result"]["action"], "decline", "{era:?}");
    }
}

#[tokio::test]
async fn a_limit_on_the_whole_is_one_on_the_answer_too() {
    if !python() {
        return;
    }
    for era in [&[][..], &["--modern"]] {
        let problem = answered_late(era, Some(LIMIT)).await.unwrap_err();
        assert_eq!(problem.kind, ProblemKind::TimedOut, "{era:?}");
    }
}

#[tokio::test]
async fn nobody_is_asked_any_more_for_a_server_that_ended() {
    if !python() {
        return;
    }
    let shelf = asking(&[]).await;
    let (to, mut asked) = mpsc::unbounded_channel();
    let options = CallOptions {
        questions: Some(to),
        ..options()
    };
    let mut arguments = one_form();
    arguments["die"] = json!(true);
    let calling = call(&shelf.servers, "ask", arguments, options);
    let asking = async {
        match asked.recv().await {
            Some(Inquiry::Form { mut answer, .. }) => {
                timeout(ANSWER, answer.closed()).await.is_ok()
            }
            // Its end was seen before anybody was asked.
            None => true,
            Some(other) => panic!("{other:?}"),
        }
    };
    let (result, is_over) = tokio::join!(calling, asking);
    assert!(is_over);
    assert_eq!(result.unwrap_err().kind, ProblemKind::Server);
}
