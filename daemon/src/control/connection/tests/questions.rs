use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;

use super::{Served, Wire, call, connect, eventually, serve};
use crate::client::{Asking, Question};
use crate::protocol::{ErrorObject, method};

/// What the daemon makes of what becomes of its question.
fn said(served: &Served, on_question: &mut dyn FnMut(&Question<'_>) -> Asking) -> String {
    let mut client = connect(&served.socket);
    let reply = client.call_asking(&call("question"), None, &mut |_| {}, on_question);
    reply.unwrap().result.get().to_owned()
}

#[test]
fn a_question_is_answered_by_whoever_calls() {
    let served = serve();
    let said = said(&served, &mut |question| {
        assert_eq!(question.method, "riddle");
        assert_eq!(question.params.unwrap().get(), r#"{"n":1}"#);
        Asking::Answered(RawValue::from_string("[42]".to_owned()).unwrap())
    });
    assert_eq!(said, r#"{"said":"[42]"}"#);
}

#[test]
fn who_can_answer_nothing_says_so() {
    let served = serve();
    let unable = format!(r#"{{"said":"{}"}}"#, ErrorObject::METHOD_NOT_FOUND);
    assert_eq!(said(&served, &mut |_| Asking::Unable), unable);
    let reply = connect(&served.socket).call(&call("question"), None, &mut |_| {});
    assert_eq!(reply.unwrap().result.get(), unable);
}

#[test]
fn nothing_is_answered_for_a_caller_who_left() {
    let served = serve();
    let mut wire = Wire::greeted(&served.socket);
    wire.send(
        &json!({"jsonrpc": "2.0", "id": 2, "method": method::CALL, "params": call("question")}),
    );
    assert_eq!(wire.receive().method.unwrap(), "riddle");
    drop(wire);
    eventually(|| served.service.cancelled.load(Ordering::SeqCst) == 1);
}

#[test]
fn an_answer_to_what_was_not_asked_is_passed_over() {
    let served = serve();
    let mut wire = Wire::greeted(&served.socket);
    wire.send(
        &json!({"jsonrpc": "2.0", "id": 2, "method": method::CALL, "params": call("question")}),
    );
    let id = wire.receive().id.unwrap();
    wire.send(&json!({"jsonrpc": "2.0", "id": id + 1, "result": "no"}));
    wire.send(&json!({"jsonrpc": "2.0", "id": id, "result": "yes"}));
    wire.send(&json!({"jsonrpc": "2.0", "id": id, "result": "no"}));
    let reply = wire.receive();
    assert!(reply.result.unwrap().get().contains(r#"\"yes\""#));
}

#[test]
fn a_question_is_withdrawn_and_nothing_but_that_interrupts_one() {
    let served = serve();
    let mut wire = Wire::greeted(&served.socket);
    wire.send(
        &json!({"jsonrpc": "2.0", "id": 2, "method": method::CALL, "params": call("impatient")}),
    );
    assert_eq!(wire.receive().params.unwrap().get(), r#"{"n":1}"#);
    assert_eq!(wire.receive().method.unwrap(), method::WITHDRAWN);
    let second = wire.receive();
    assert_eq!(second.params.unwrap().get(), r#"{"n":2}"#);
    std::thread::sleep(Duration::from_millis(500));
    wire.send(&json!({"jsonrpc": "2.0", "id": second.id.unwrap(), "result": "yes"}));
    assert_eq!(wire.receive().method.unwrap(), method::PROGRESS);
    let reply = wire.receive().result.unwrap();
    assert!(
        reply.get().contains(r#"{"given up":true,"held":true}"#),
        "{reply}"
    );
}
