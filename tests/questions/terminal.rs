//! Forms on a terminal: asked field by field, declined, withdrawn, too late.

use serde_json::json;

use super::{Asking, form, person};
use crate::support::needs::lacks_program;
use crate::support::wait_until;

/// Nothing is typed.
const NEVER: (&str, &str) = ("never printed", "");

#[test]
fn somebody_at_a_terminal_is_asked_field_by_field() {
    if lacks_program("python3") {
        return;
    }
    for way in [&[][..], &["--modern"]] {
        let asking = Asking::new(way);
        // What is required is asked again, then what does not fit; progress comes meanwhile.
        let typed = [
            ("name: ", "\n"),
            ("it is required\r\nname: ", "Ada\n"),
            ("age: ", "\n"),
            ("color: ", "green\n"),
            ("color: ", "blue\n"),
        ];
        let arguments = json!({ "ask": [person()], "tell": true });
        let finished = asking.on_terminal(&[], &typed, &arguments);
        assert_eq!(finished.code, 0, "{}", finished.stdout);
        for part in [
            "server asking asks: Who are you?",
            "name  string, required — Your name",
            "age  integer, default 30",
            "color must be \"red\"|\"blue\", not \"green\"",
            r#"{"action": "accept", "content": {"name": "Ada", "age": 30, "color": "blue"}}"#,
        ] {
            assert!(
                finished.stdout.contains(part),
                "{part}: {}",
                finished.stdout
            );
        }
        // What was said beforehand is not asked.
        let typed = [("age: ", "7\n"), ("color: ", "\n")];
        let finished = asking.on_terminal(&["--answer", "name=Eve"], &typed, &arguments);
        let content = r#""content": {"name": "Eve", "age": 7}"#;
        assert!(finished.stdout.contains(content), "{}", finished.stdout);
    }
}

#[test]
fn a_person_may_decline_or_cancel_the_call() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let who = json!({ "ask": [form("Who?\u{1b}[2J", &json!({ "name": { "type": "string" } }), &["name"])] });
    let declined = asking.on_terminal(&[], &[("name: ", "\u{4}")], &who);
    assert_eq!(declined.code, 0, "{}", declined.stdout);
    assert!(
        declined.stdout.contains(r#"{"action": "decline"}"#),
        "{}",
        declined.stdout
    );
    assert!(
        declined.stdout.contains("Who?\\u{1b}[2J"),
        "{}",
        declined.stdout
    );
    let interrupted = asking.on_terminal(&[], &[("name: ", "\u{3}")], &who);
    assert_eq!(interrupted.code, 130, "{}", interrupted.stdout);
    let sure = json!({ "ask": [form("Sure?", &json!({}), &[])] });
    let no = asking.on_terminal(&[], &[("[N]o: ", "\n")], &sure);
    assert!(
        no.stdout.contains(r#"{"action": "decline"}"#),
        "{}",
        no.stdout
    );
    let yes = asking.on_terminal(&[], &[("[N]o: ", "y\n")], &sure);
    assert!(
        yes.stdout
            .contains(r#"{"action": "accept", "content": {}}"#),
        "{}",
        yes.stdout
    );
}

#[test]
fn a_question_that_is_withdrawn_keeps_nobody() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let arguments = json!({ "ask": [person()], "withdraw": true });
    let finished = asking.on_terminal(&[], &[NEVER], &arguments);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    assert!(finished.stdout.contains("withdrawn"), "{}", finished.stdout);
}

#[test]
fn a_time_limit_holds_while_somebody_is_asked() {
    if lacks_program("python3") {
        return;
    }
    for way in [&[][..], &["--modern"]] {
        let asking = Asking::new(way);
        let arguments = json!({ "ask": [person()] });
        // The start of the shelf and of the server is no part of the time that is limited next.
        let slow = ["--config", "mcp.json", "asking/slow", "--seconds", "0"];
        asking.shelf.call(&slow);
        let late = asking.on_terminal(&["--timeout", "5s"], &[NEVER], &arguments);
        assert_eq!(late.code, 124, "{}", late.stdout);
        assert!(late.stdout.contains("Who are you?"), "{}", late.stdout);
    }
}

#[test]
fn whoever_is_asked_and_goes_cancels_the_call() {
    if lacks_program("python3") {
        return;
    }
    let asking = Asking::new(&[]);
    let arguments = json!({ "ask": [person()] });
    let hung_up = asking.on_terminal(&[], &[("name: ", "hang-up")], &arguments);
    assert_ne!(hung_up.code, 0, "{}", hung_up.stdout);
    wait_until("the server is told", || {
        asking.recorded("reply").iter().any(|reply| {
            reply["result"]["action"] == "cancel" || reply["result"]["action"] == "decline"
        })
    });
}
