//! What a server of the later era wants to know before it gives its result, and what the retry tells it (multi round-trip requests,
//! MCP 2026-07-28, basic/patterns/mrtr).
//!
//! It does not matter what was asked of the server: its questions come in reply to any request that may have them.

use rmcp::model::InputResponses;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::questions::{Addressee, Answers};

/// How often a server may ask before it gives its result. A server that never has enough must not hold a call for ever.
pub(super) const MAX_ROUNDS: usize = 10;

/// What a server wants: at least one of the two.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wanted {
    /// Its requests by keys of its own, in its order.
    #[serde(default)]
    input_requests: Map<String, Value>,
    /// What is to be sent back as it is.
    request_state: Option<String>,
}

/// What a retry says beside the request itself; nothing for the first try.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Inputs {
    responses: Option<InputResponses>,
    state: Option<String>,
}

impl Wanted {
    /// Reads a result of the type `input_required`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(raw: &RawValue) -> Result<Self, String> {
        let wanted: Self = serde_json::from_str(raw.get())
            .map_err(|error| format!("asks for further input that can't be read: {error}"))?;
        if wanted.input_requests.is_empty() && wanted.request_state.is_none() {
            return Err("asks for further input, and does not say for which".to_owned());
        }
        Ok(wanted)
    }

    /// Gets the answers, one after the other.
    ///
    /// # Errors
    /// What the server wants and can't have: the protocol knows no way to tell it so, and without it a retry is of no use.
    pub(super) async fn answered(
        self,
        answers: &Answers,
        to: &Addressee,
    ) -> Result<Inputs, String> {
        let mut responses = InputResponses::new();
        for (key, request) in self.input_requests {
            let method = request.get("method").and_then(Value::as_str);
            let method = method.unwrap_or("a request without a method");
            let answer = answers.answer(method, request.get("params"), to).await;
            responses.insert(key, answer.map_err(|unanswered| unanswered.message)?);
        }
        Ok(Inputs {
            responses: (!responses.is_empty()).then_some(responses),
            state: self.request_state,
        })
    }
}

impl Inputs {
    /// The answers; `None` where the server asked nothing.
    pub(super) fn responses(&self) -> Option<InputResponses> {
        self.responses.clone()
    }

    /// What the server wants back; `None` where it gave nothing.
    pub(super) fn state(&self) -> Option<String> {
        self.state.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;
    use serde_json::value::to_raw_value;
    use tokio::sync::mpsc;

    use super::{Inputs, Wanted};
    use crate::servers::asking::{Asker, Elicited, Inquiry};
    use crate::servers::questions::{Addressee, Answers};
    use crate::servers::server_log::ServerLog;

    fn answers(roots: &[&str]) -> Answers {
        let directory = tempfile::tempdir().unwrap();
        let log = ServerLog::create(&directory.path().join("log"));
        Answers::new(roots.iter().map(PathBuf::from).collect(), log)
    }

    async fn answered(wanted: serde_json::Value, roots: &[&str]) -> Result<Inputs, String> {
        let wanted = Wanted::read(&to_raw_value(&wanted).unwrap())?;
        wanted.answered(&answers(roots), &Addressee::Nobody).await
    }

    #[tokio::test]
    async fn each_request_is_answered_under_its_key_and_the_state_echoed() {
        let wanted = json!({
            "resultType": "input_required",
            "inputRequests": {
                "b": { "method": "roots/list" },
                "a": { "method": "elicitation/create", "params": { "message": "?", "requestedSchema": {} } },
            },
            "requestState": "\u{7f} \"as it is\" é\n",
        });
        let inputs = answered(wanted, &["/srv/a b"]).await.unwrap();
        let responses = serde_json::to_value(inputs.responses.unwrap()).unwrap();
        let expected = json!({
            "a": { "action": "cancel" },
            "b": { "roots": [{ "uri": "file:///srv/a%20b", "name": "a b" }] },
        });
        assert_eq!(responses, expected);
        assert_eq!(inputs.state.unwrap(), "\u{7f} \"as it is\" é\n");
    }

    #[tokio::test]
    async fn a_retry_has_only_what_was_asked_for() {
        let only_state = answered(json!({ "requestState": "" }), &[]).await.unwrap();
        let expected = Inputs {
            responses: None,
            state: Some(String::new()),
        };
        assert_eq!(only_state, expected);
    }

    #[tokio::test]
    async fn what_can_not_be_had_ends_the_call() {
        for (wanted, why) in [
            (json!({}), "does not say for which"),
            (json!({ "inputRequests": {} }), "does not say for which"),
            (json!({ "inputRequests": [] }), "can't be read"),
            (json!({ "requestState": 7 }), "can't be read"),
            (json!({ "inputRequests": { "k": 7 } }), "no such method"),
            (
                json!({ "inputRequests": { "k": { "method": "roots/list" } } }),
                "roots",
            ),
            (
                json!({ "inputRequests": { "k": { "method": "sampling/createMessage" } } }),
                "sampling",
            ),
            (
                json!({ "inputRequests": { "k": { "method": "elicitation/create", "params": { "mode": "url", "message": "go" } } } }),
                "of the mode \"url\": go",
            ),
        ] {
            let problem = answered(wanted.clone(), &[]).await.unwrap_err();
            assert!(problem.contains(why), "{wanted}: {problem}");
        }
    }

    #[tokio::test]
    async fn forms_go_to_whoever_calls_in_the_order_in_which_they_are_asked() {
        let form = |message: &str| json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": { "type": "object" } } });
        let wanted = json!({ "inputRequests": { "z": form("first"), "a": form("second") } });
        let (to, mut asked) = mpsc::unbounded_channel();
        let to = Addressee::Caller(Asker::new(to, true));
        let answers = answers(&[]);
        let wanted = Wanted::read(&to_raw_value(&wanted).unwrap()).unwrap();
        let answering = async {
            let mut messages = Vec::new();
            for elicited in [Elicited::Decline, Elicited::Cancel { why: None }] {
                let Some(Inquiry::Form {
                    message, answer, ..
                }) = asked.recv().await
                else {
                    panic!("nothing is asked");
                };
                messages.push(message);
                answer.send(elicited).unwrap();
            }
            messages
        };
        let (inputs, messages) = tokio::join!(wanted.answered(&answers, &to), answering);
        assert_eq!(messages, ["first", "second"]);
        let responses = serde_json::to_value(inputs.unwrap().responses).unwrap();
        let expected = json!({ "z": { "action": "decline" }, "a": { "action": "cancel" } });
        assert_eq!(responses, expected);
    }
}
