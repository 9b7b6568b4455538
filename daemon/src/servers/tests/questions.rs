//! Questions of servers on their way to whoever calls, and the time that they take.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use skills::problem::{Problem, ProblemKind};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::shelf::{Shelf, call, options, python, text};
use crate::config::{StdioConfig, Transport};
use crate::servers::{CallOptions, CallResult, Elicited, Inquiry};

/// What a server may take for a call, and what whoever is asked takes for an answer.
const LIMIT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(3);

/// Has a server ask, and answers late.
async fn answered_late(era: &[&str], timeout: Option<Duration>) -> Result<CallResult, Problem> {
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
    let (to, mut asked) = mpsc::unbounded_channel();
    let options = CallOptions {
        questions: Some(to),
        timeout,
        ..options()
    };
    let schema = json!({ "type": "object" });
    let form = json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema": schema } });
    let calling = call(&shelf.servers, "ask", json!({ "ask": [form] }), options);
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
