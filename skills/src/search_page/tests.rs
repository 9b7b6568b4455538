use std::collections::BTreeMap;
use std::sync::Arc;

use super::{NAMED, Page, REPEATED, out_of_service, repeated};
use crate::catalog::fixtures::{Clock, example};
use crate::catalog::{EntryKind, IndexOptions, Snapshot};
use crate::entry_id::{EntryId, ServerName};
use crate::search::{Answer, Match, ServerMatch};
use crate::server::{Phase, ServerState};

fn found(id: EntryId, summary: &str) -> Match {
    Match {
        id,
        kind: EntryKind::Tool,
        score: 1.0,
        summary: summary.to_owned(),
    }
}

fn on(name: &str, matches: usize, about: &str) -> ServerMatch {
    ServerMatch {
        name: name.to_owned(),
        matches,
        score: 1.0,
        about: about.to_owned(),
    }
}

fn page(words: &str, answer: &Answer, out_of_service: &[(&str, &str)]) -> String {
    let out_of_service: BTreeMap<String, String> = out_of_service
        .iter()
        .map(|(name, why)| ((*name).to_owned(), (*why).to_owned()))
        .collect();
    let page = Page {
        words,
        answer,
        entries: 820,
        out_of_service: &out_of_service,
    };
    page.to_string()
}

#[test]
fn matches_come_best_first_with_their_servers_and_the_way_on() {
    let answer = Answer {
        matches: vec![
            found(EntryId::tool("github", "create_issue"), "Creates an issue"),
            found(EntryId::tool("jira", "bare"), ""),
            found(EntryId::skill("triage"), "Sorts issues"),
        ],
        servers: vec![on("github", 7, ""), on("jira", 1, ""), on("skills", 1, "")],
        unknown: vec!["slow".to_owned(), "broken".to_owned()],
        excluded: vec![],
    };
    let states = [("jira", "disabled"), ("broken", "failed: no such program")];
    let text = page("create issue", &answer, &states);
    assert_eq!(
        text,
        "9 of 820 entries match \"create issue\", of which the best 3 follow\n\
         github/create_issue — Creates an issue\n\
         jira/bare\n\
         skills/triage — Sorts issues\n\
         \n\
         They are on: github (7), jira (1), skills (1)\n\
         jira can't be called now: disabled\n\
         Not known yet, so not searched: slow, broken (failed: no such program)\n\
         Definition: `shelf show ID`, or in the mount mcp/ID.md (a tool), ID/SKILL.md (a skill)\n"
    );
}

#[test]
fn the_first_line_counts_as_one_speaks() {
    let one = Answer {
        matches: vec![found(EntryId::tool("a", "b"), "C")],
        servers: vec![on("a", 1, "")],
        unknown: vec![],
        excluded: vec![],
    };
    let first = |answer: &Answer| page("x", answer, &[]).lines().next().unwrap().to_owned();
    assert_eq!(first(&one), "1 of 820 entries matches \"x\"");
    let alone = Page {
        words: "x",
        answer: &one,
        entries: 1,
        out_of_service: &BTreeMap::new(),
    };
    assert!(
        alone
            .to_string()
            .starts_with("1 of 1 entry matches \"x\"\n")
    );
}

#[test]
fn nothing_matched_is_said_and_never_counted_from_the_nearest_servers() {
    let answer = Answer {
        matches: vec![],
        servers: vec![on("time", 0, "Time zones"), on("weather", 3, "")],
        unknown: vec!["slow".to_owned()],
        excluded: vec![],
    };
    assert_eq!(
        page("frobnicate", &answer, &[]),
        "0 of 820 entries match \"frobnicate\"\n\
         \n\
         The nearest servers:\n\
         time — Time zones\n\
         weather\n\
         Not known yet, so not searched: slow\n\
         To browse: INDEX.md, mcp/SERVER/INDEX.md, `grep -i WORD ALL.md`\n"
    );
    let alone = page("x", &Answer::default(), &[]);
    assert!(
        !alone.contains("nearest") && alone.contains("ALL.md"),
        "{alone}"
    );
}

#[test]
fn words_can_neither_break_the_line_nor_command_a_terminal() {
    let text = page("a\u{1b}[31m\nb\u{202e}", &Answer::default(), &[]);
    assert!(
        text.starts_with("0 of 820 entries match \"a b\"\n"),
        "{text:?}"
    );
}

#[test]
fn many_servers_are_counted_not_listed() {
    let answer = Answer {
        unknown: (0..NAMED + 5).map(|n| format!("s{n}")).collect(),
        excluded: vec![],
        ..Answer::default()
    };
    let text = page("x", &answer, &[]);
    assert!(text.contains(", s19 and 5 more\n"), "{text}");
}

#[test]
fn a_server_that_failed_or_is_disabled_is_out_of_service() {
    let mut sources = example();
    let phases = [Phase::Failed("exit status 1".to_owned()), Phase::Ready];
    let named = ["github", "time"].map(ServerName::new);
    for (name, phase) in named.iter().zip(phases) {
        let state = ServerState { phase, stale: None };
        sources.servers.get_mut(name).expect("it is an example").1 = state;
    }
    let snapshot = Snapshot::build(
        None,
        sources,
        IndexOptions::default(),
        &mut Clock::default(),
    );
    let out = out_of_service(&Arc::new(snapshot));
    assert_eq!(
        out.get("github").map(String::as_str),
        Some("failed: exit status 1")
    );
    assert_eq!(out.get("time"), None);
}

#[test]
fn a_long_request_is_repeated_in_part() {
    let short = "é".repeat(REPEATED);
    assert_eq!(repeated(&short), short);
    assert_eq!(repeated(&format!("{short}é")), format!("{short}…"));
    assert_eq!(repeated(" two \n\u{1b}[31mlines"), "two lines");
    let text = page(&"word ".repeat(10_000), &Answer::default(), &[]);
    let head = text.lines().next().unwrap();
    assert!(head.ends_with("word…\""), "{head}");
    assert!(head.chars().count() < REPEATED + 50, "{head}");
}
