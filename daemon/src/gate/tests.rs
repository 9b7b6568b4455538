use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use skills::entry_id::{EntryId, ServerName};
use skills::problem::ProblemKind;
use skills::tool::Tool;

use super::policy::{Policy, Rules};
use super::remembered::Remembered;
use super::rule::{List, Rule, Target};
use super::{Call, Decision, Gate};
use crate::caller::Caller;
use crate::protocol;

fn policy(list: List, text: &str) -> Policy {
    let rules = vec![Rule::parse(list, text, false, ("/c/shelf.toml".into(), 3)).unwrap()];
    let general = match list {
        List::Deny => Rules {
            deny: rules,
            ..Rules::default()
        },
        List::Ask => Rules {
            ask: rules,
            ..Rules::default()
        },
        List::Allow => Rules {
            allow: Some(rules),
            ..Rules::default()
        },
        List::Hide => Rules {
            hide: rules,
            ..Rules::default()
        },
    };
    Policy {
        general,
        ..Policy::default()
    }
}

fn gate(state: &Path) -> Gate {
    Gate::new(1000, Remembered::below(state, "test"))
}

fn ask(gate: &Gate, uid: u32, definition: &str, arguments: &str) -> Decision {
    let server = ServerName::new("git\u{202e}hub");
    let raw = RawValue::from_string(definition.to_owned()).unwrap();
    let tool = Tool::parse(&server, 0, Arc::from(raw)).unwrap();
    let caller = Caller {
        pid: 7,
        uid,
        command: "agent".into(),
        session: "mine".into(),
    };
    let Value::Object(arguments) = serde_json::from_str(arguments).unwrap() else {
        panic!("no object");
    };
    gate.authorize(&Call {
        id: &EntryId("github/delete".into()),
        server: &server,
        target: Target::Tool(&tool),
        caller: &caller,
        arguments: &arguments,
    })
}

const DELETE: &str = r#"{"name":"delete","inputSchema":{}}"#;

#[test]
fn a_policy_is_in_force_from_the_next_call_on() {
    let state = tempfile::tempdir().unwrap();
    let gate = gate(state.path());
    assert!(matches!(ask(&gate, 1000, DELETE, "{}"), Decision::Allow));
    gate.set_policy(policy(List::Deny, "github/*"));
    let Decision::Deny(problem) = ask(&gate, 1000, DELETE, "{}") else {
        panic!("not denied");
    };
    assert_eq!(problem.kind, ProblemKind::Refused);
    let message = problem.to_string();
    let expected = "refused by deny \"github/*\" (/c/shelf.toml:3)";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn an_approval_holds_for_the_same_arguments_in_any_order_and_no_others() {
    let state = tempfile::tempdir().unwrap();
    let gate = gate(state.path());
    gate.set_policy(policy(List::Ask, "destructive"));
    let asked = |definition: &str, arguments: &str| match ask(&gate, 1000, definition, arguments) {
        Decision::Ask(asked) => *asked,
        other => panic!("{other:?}"),
    };
    let approve = || {
        let (key, shown) = asked(DELETE, r#"{"a": 1, "b": 1.0}"#);
        assert_eq!(shown.server, r"git\u{202e}hub");
        let now = Instant::now();
        let id = gate.approvals().wait(key, shown, now).unwrap();
        gate.approvals().approve(&id, false, 1000, now).unwrap();
    };
    approve();
    asked(DELETE, r#"{"a": 1, "b": 1}"#);
    asked(DELETE, r#"{"a": 1, "b": 1.0, "c": null}"#);
    asked(
        r#"{"name":"delete","inputSchema":{"x":1}}"#,
        r#"{"a": 1, "b": 1.0}"#,
    );
    assert!(matches!(
        ask(&gate, 0, DELETE, r#"{"a": 1, "b": 1.0}"#),
        Decision::Ask(_)
    ));
    let same = r#"{"b": 1.0, "a": 1}"#;
    assert!(matches!(ask(&gate, 1000, DELETE, same), Decision::Allow));
    asked(DELETE, same);
    // A denial is stronger than what was approved.
    approve();
    gate.set_policy(policy(List::Deny, "*"));
    assert!(matches!(ask(&gate, 1000, DELETE, same), Decision::Deny(_)));
}

#[test]
fn approvals_count_from_the_users_that_are_named_else_from_the_daemons_own() {
    let state = tempfile::tempdir().unwrap();
    let gate = gate(state.path());
    assert!(gate.is_approver(1000) && !gate.is_approver(0) && !gate.is_approver(1001));
    gate.set_policy(Policy {
        approvers: Some(vec![0, 1001]),
        ..policy(List::Ask, "*")
    });
    assert!(!gate.is_approver(1000) && gate.is_approver(0) && gate.is_approver(1001));
    gate.set_policy(Policy {
        approvers: Some(Vec::new()),
        ..Policy::default()
    });
    assert!(!gate.is_approver(1000));
}

#[test]
fn a_policy_binds_only_those_who_can_neither_change_it_nor_approve() {
    let state = tempfile::tempdir().unwrap();
    let gate = gate(state.path());
    assert_eq!(gate.standing(1001), protocol::Policy::None);
    gate.set_policy(policy(List::Hide, "*/x"));
    assert_eq!(gate.standing(1000), protocol::Policy::Advisory);
    assert_eq!(gate.standing(0), protocol::Policy::Advisory);
    assert_eq!(gate.standing(1001), protocol::Policy::Enforced);
    gate.set_policy(Policy {
        approvers: Some(vec![1001]),
        ..policy(List::Ask, "*")
    });
    assert_eq!(gate.standing(1001), protocol::Policy::Advisory);
    assert_eq!(gate.standing(1000), protocol::Policy::Advisory);
}

#[test]
fn what_is_shown_is_what_is_called() {
    let state = tempfile::tempdir().unwrap();
    let gate = gate(state.path());
    gate.set_policy(policy(List::Ask, "*"));
    let Decision::Ask(asked) = ask(
        &gate,
        1000,
        DELETE,
        &json!({"x": [1, {"y": null}]}).to_string(),
    ) else {
        panic!("not asked");
    };
    let shown: Map<String, Value> = [("x".to_owned(), json!(r#"[1,{"y":null}]"#))]
        .into_iter()
        .collect();
    let given = asked.1.arguments.iter();
    let given: Map<_, _> = given
        .map(|one| (one.name.clone(), json!(one.value)))
        .collect();
    assert_eq!(given, shown);
    assert_eq!(asked.1.rule, "ask \"*\" (/c/shelf.toml:3)");
}
