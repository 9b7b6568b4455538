use std::sync::Arc;

use serde_json::json;
use serde_json::value::to_raw_value;
use skills::catalog::Hides;
use skills::entry_id::{EntryId, ServerName};
use skills::offers;
use skills::problem::{Problem, ProblemKind};
use skills::tool::Tool;

use super::{Policy, Rules, Ruling};
use crate::gate::rule::{List, Rule, Subject, Target};

fn rules(list: List, of_server: bool, texts: &[&str]) -> Vec<Rule> {
    let rule = |(line, text): (usize, &&str)| {
        let line = u32::try_from(line + 1).unwrap();
        Rule::parse(list, text, of_server, ("/c/shelf.toml".into(), line)).unwrap()
    };
    texts.iter().enumerate().map(rule).collect()
}

fn section(of_server: bool, deny: &[&str], ask: &[&str], allow: Option<&[&str]>) -> Rules {
    Rules {
        deny: rules(List::Deny, of_server, deny),
        ask: rules(List::Ask, of_server, ask),
        allow: allow.map(|allow| rules(List::Allow, of_server, allow)),
        ..Rules::default()
    }
}

fn general(deny: &[&str], ask: &[&str], allow: Option<&[&str]>) -> Policy {
    Policy {
        general: section(false, deny, ask, allow),
        ..Policy::default()
    }
}

/// A tool of this id, with annotations.
fn judged(policy: &Policy, id: &str, annotations: serde_json::Value) -> String {
    let (server, name) = id.split_once('/').unwrap();
    named(policy, id, server, name, annotations)
}

fn named(
    policy: &Policy,
    id: &str,
    server: &str,
    name: &str,
    annotations: serde_json::Value,
) -> String {
    let server = ServerName::new(server);
    let raw = json!({ "name": name, "inputSchema": {}, "annotations": annotations });
    let tool = Tool::parse(&server, 0, Arc::from(to_raw_value(&raw).unwrap())).unwrap();
    let id = EntryId(id.into());
    let subject = Subject {
        id: &id,
        target: Some((&server, Target::Tool(&tool))),
    };
    match policy.judge(&subject) {
        Ruling::Allowed => "allowed".to_owned(),
        Ruling::Refused(problem) => {
            assert_eq!(problem.kind, ProblemKind::Refused);
            problem.message
        }
        Ruling::Ask(rule) => rule.to_string(),
    }
}

fn plain(policy: &Policy, id: &str) -> String {
    judged(policy, id, json!({}))
}

#[test]
fn without_rules_everything_is_allowed() {
    let policy = Policy::default();
    assert!(policy.is_empty());
    assert_eq!(plain(&policy, "a/b"), "allowed");
}

#[test]
fn the_first_that_matches_decides_in_the_order_of_the_lists() {
    let policy = general(&["x/no", "a/d*"], &["a/d*", "a/q"], Some(&["a/*"]));
    assert!(!policy.is_empty());
    let denied = "refused by deny \"a/d*\" (/c/shelf.toml:2)";
    assert_eq!(plain(&policy, "a/drop"), denied);
    let asked = "ask \"a/q\" (/c/shelf.toml:2)";
    assert_eq!(plain(&policy, "a/q"), asked);
    assert_eq!(plain(&policy, "a/b"), "allowed");
    let refused = "refused: there is a list allow, and nothing in it matches";
    assert_eq!(plain(&policy, "b/b"), refused);
}

#[test]
fn an_empty_allow_refuses_all() {
    let policy = general(&[], &[], Some(&[]));
    assert!(!policy.is_empty());
    assert!(plain(&policy, "a/b").starts_with("refused: there is a list allow"));
}

#[test]
fn the_section_of_a_server_is_about_its_tools_alone() {
    let mut policy = general(&[], &["*/merge"], None);
    let own = section(true, &["drop_*", "*/purge"], &[], Some(&["merge", "b"]));
    policy.servers.insert(ServerName::new("a"), own);
    let refused = |id: &str, rule: &str| {
        let message = plain(&policy, id);
        assert!(
            message.starts_with(&format!("refused by deny \"{rule}\"")),
            "{message}"
        );
    };
    refused("a/drop_table", "drop_*");
    refused("a/purge", "*/purge");
    assert_eq!(plain(&policy, "a/b"), "allowed");
    assert!(plain(&policy, "a/c").starts_with("refused: there is a list allow"));
    // The general question comes before the server's own leave.
    assert!(plain(&policy, "a/merge").starts_with("ask"));
    for other in ["b/drop_table", "b/purge", "b/c"] {
        assert_eq!(plain(&policy, other), "allowed");
    }
}

#[test]
fn hints_go_by_what_a_tool_says_and_by_the_defaults_of_the_protocol() {
    let cases = [
        (json!({}), "writes destructive not-idempotent open-world"),
        (
            json!({"readOnlyHint": true}),
            "read-only not-destructive not-idempotent open-world",
        ),
        (
            json!({"readOnlyHint": true, "destructiveHint": true}),
            "read-only destructive",
        ),
        (
            json!({"destructiveHint": false, "idempotentHint": true}),
            "writes not-destructive idempotent",
        ),
        (json!({"openWorldHint": false}), "closed-world"),
    ];
    let opposites = [
        ["read-only", "writes"],
        ["destructive", "not-destructive"],
        ["idempotent", "not-idempotent"],
        ["open-world", "closed-world"],
    ];
    for (annotations, words) in cases {
        for word in words.split(' ') {
            let refused = |hint: &str| {
                let policy = general(&[hint], &[], None);
                judged(&policy, "a/b", annotations.clone()) != "allowed"
            };
            assert!(refused(word), "{word} {annotations}");
            let pair = opposites.iter().find(|pair| pair.contains(&word)).unwrap();
            let opposite = if pair[0] == word { pair[1] } else { pair[0] };
            assert!(!refused(opposite), "{opposite} {annotations}");
        }
    }
}

#[test]
fn a_tool_goes_by_its_id_and_by_its_own_name() {
    let policy = general(&["my server/delete"], &[], None);
    let id = "my server/delete~abcdef";
    let message = named(&policy, id, "my server", "delete", json!({}));
    assert!(message.starts_with("refused by"), "{message}");
    let mut policy = Policy::default();
    let own = section(true, &["a?b"], &[], None);
    policy.servers.insert(ServerName::new("s"), own);
    assert_eq!(named(&policy, "s/a%2Fc", "s", "a/c", json!({})), "allowed");
    let message = named(&policy, "s/a%2Fb", "s", "a/b", json!({}));
    assert!(message.starts_with("refused by"), "{message}");
}

#[test]
fn what_cannot_be_read_refuses_all_that_it_could_be_about() {
    let fault = || Some(Problem::new(ProblemKind::Configuration, "bad glob"));
    let mut policy = general(&[], &[], Some(&["*"]));
    policy.servers.insert(
        ServerName::new("a"),
        Rules {
            fault: fault(),
            ..Rules::default()
        },
    );
    let refused = "refused, since the policy can't be read: bad glob";
    assert_eq!(plain(&policy, "a/b"), refused);
    assert_eq!(plain(&policy, "b/b"), "allowed");
    policy.general.fault = fault();
    assert_eq!(plain(&policy, "b/b"), refused);
    assert!(!policy.is_empty());
}

#[test]
fn rules_that_can_match_nothing_are_faults() {
    let parse = |text: &str, of_server| {
        Rule::parse(List::Deny, text, of_server, ("/c".into(), 1)).map(drop)
    };
    let (fault, hint) = parse("destuctive", false).unwrap_err();
    assert!(fault.contains("neither a hint nor a glob"), "{fault}");
    assert!(hint.contains("not-destructive"), "{hint}");
    assert!(parse("delete_repo", true).is_ok());
    assert!(parse("{read-only,x}", false).is_ok());
    let (fault, _) = parse("a/[b", false).unwrap_err();
    assert!(fault.starts_with("is no glob: "), "{fault}");
}

#[test]
fn what_is_hidden_is_told_apart_by_what_the_rules_say() {
    let hidden = |general: &[&str], own: &[&str]| {
        let section = |of_server, texts| Rules {
            hide: rules(List::Hide, of_server, texts),
            ..Rules::default()
        };
        let policy = Policy {
            general: section(false, general),
            servers: [(ServerName::new("a"), section(true, own))].into(),
            approvers: None,
        };
        assert!(!policy.is_empty());
        policy.hidden()
    };
    let one = hidden(&["skills/draft-*"], &["x"]);
    assert!(one.is_same(&hidden(&["skills/draft-*"], &["x"])));
    assert!(!one.is_same(&hidden(&["skills/draft-*"], &["y"])));
    assert!(!one.is_same(&hidden(&["skills/*"], &["x"])));
    assert!(one.hides_skill(&EntryId("skills/draft-1".into())));
    assert!(!one.hides_skill(&EntryId("skills/final".into())));
    let server = ServerName::new("a");
    let raw = to_raw_value(&json!({"name": "x", "inputSchema": {}})).unwrap();
    let tool = Tool::parse(&server, 0, Arc::from(raw)).unwrap();
    assert!(one.hides_tool(&server, &EntryId("a/x".into()), &tool));
    assert!(!one.hides_tool(&ServerName::new("b"), &EntryId("b/x".into()), &tool));
}

#[test]
fn what_a_server_offers_is_judged_by_one_id_and_as_read_only() {
    let judge = |policy: &Policy, kind: offers::Kind| {
        let (id, server) = (kind.id("git"), ServerName::new("git/hub"));
        let subject = Subject {
            id: &id,
            target: Some((&server, Target::Offers(kind))),
        };
        match policy.judge(&subject) {
            Ruling::Allowed => "allowed".to_owned(),
            Ruling::Refused(problem) => problem.message,
            Ruling::Ask(rule) => rule.to_string(),
        }
    };
    let [resources, prompts] = offers::Kind::ALL;
    for (text, hits_resources, hits_prompts) in [
        ("git/*", true, true),
        ("git/RESOURCES", true, false),
        // As its server is configured.
        ("git/hub/PROMPTS", false, true),
        ("read-only", true, true),
        ("not-destructive", true, true),
        ("writes", false, false),
        ("destructive", false, false),
    ] {
        let policy = general(&[text], &[], None);
        assert_eq!(
            judge(&policy, resources) != "allowed",
            hits_resources,
            "{text}"
        );
        assert_eq!(judge(&policy, prompts) != "allowed", hits_prompts, "{text}");
    }
    let policy = general(&[], &[], Some(&["git/create"]));
    assert!(judge(&policy, resources).contains("nothing in it matches"));
}
