use std::path::PathBuf;

use proptest::prelude::*;

use super::texts::README;
use super::{
    BytesByThree, Group, Kind, Line, TokenCounter, all, of_groups, overview, server, status,
};
use crate::entry_id::{EntryId, ServerName};
use crate::server::{Definitions, Phase, Server, ServerState};

fn lines(prefix: &str, count: usize) -> Vec<Line> {
    (0..count)
        .map(|n| Line {
            id: EntryId(format!("{prefix}get_thing_{n:06}").into()),
            summary: format!("Gets the thing of number {n}"),
        })
        .collect()
}

fn server_group(name: &str, count: usize) -> Group {
    let lines = lines(&format!("{name}/"), count);
    Group::server(name, "Things of all kinds", Some(lines), &BytesByThree)
}

fn unknown_group(name: &str) -> Group {
    Group::server(name, "", None, &BytesByThree)
}

fn skills_group(source: Option<&str>, count: usize) -> Group {
    let prefix = source.map_or("skills/".to_owned(), |source| format!("skills/{source}:"));
    Group::skills(source, lines(&prefix, count), &BytesByThree)
}

fn overview_of(groups: &[Group], max_tokens: usize) -> String {
    let groups: Vec<&Group> = groups.iter().collect();
    overview(&groups, max_tokens, &BytesByThree)
}

#[test]
fn every_line_stands_while_all_fit() {
    let groups = [
        server_group("a", 2),
        unknown_group("b"),
        skills_group(None, 1),
    ];
    assert_eq!(
        overview_of(&groups, 4_000),
        "3 entries; README.md tells how to read and call them.\n\
         a/get_thing_000000 — Gets the thing of number 0\n\
         a/get_thing_000001 — Gets the thing of number 1\n\
         b/ — not known yet, see mcp/b/STATUS\n\
         skills/get_thing_000000 — Gets the thing of number 0\n"
    );
}

#[test]
fn an_overview_says_so_and_has_a_line_for_every_group() {
    let groups = [
        server_group("a", 900),
        unknown_group("b"),
        skills_group(None, 2),
        skills_group(Some("acme"), 1),
    ];
    let text = overview_of(&groups, 400);
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with(
        "Overview of 903 entries. A word that is absent here proves nothing: grep ALL.md."
    )));
    let rest: Vec<&str> = lines.collect();
    assert_eq!(
        rest,
        [
            "mcp/a/ 900 tools — Things of all kinds: get thing",
            "b/ — not known yet, see mcp/b/STATUS",
            "skills/ 2 skills: get thing",
            "skills/acme:* 1 skill: get thing",
            // What is left is enough for the skills, not for the tools.
            "skills/acme:get_thing_000000 — Gets the thing of number 0",
            "skills/get_thing_000000 — Gets the thing of number 0",
            "skills/get_thing_000001 — Gets the thing of number 1",
        ]
    );
}

#[test]
fn names_stand_where_lines_do_not_fit() {
    let groups = [server_group("a", 30), server_group("b", 1)];
    let text = overview_of(&groups, 300);
    assert!(
        text.contains("\na/ get_thing_000000, get_thing_000001, "),
        "{text}"
    );
    assert!(
        text.contains("\nb/ get_thing_000000\n"),
        "one level for all groups: {text}"
    );
    assert!(!text.contains("Gets the thing"), "{text}");
}

#[test]
fn groups_that_have_no_line_are_counted() {
    let groups: Vec<Group> = (0..500)
        .map(|n| server_group(&format!("s{n:03}"), 2))
        .collect();
    let text = overview_of(&groups, 300);
    let last = text.lines().last().expect("there is a last line");
    let shown = text.lines().filter(|line| line.starts_with("mcp/")).count();
    assert!(shown > 0);
    let left = 500 - shown;
    let counted = format!("… and {left} more groups with {} entries: ", left * 2);
    assert!(last.starts_with(&counted), "{last}");
}

/// Every group and entry is shown, counted by its group's line, or counted by the last one.
fn nothing_is_dropped(text: &str, groups: usize) -> bool {
    let own = |line: &&str| {
        line.contains(" tools") || line.contains(" skills") || line.contains("not known")
    };
    let rest: usize = text
        .lines()
        .filter_map(|line| {
            line.strip_prefix("… and ")?
                .split(' ')
                .next()?
                .parse::<usize>()
                .ok()
        })
        .sum();
    text.lines()
        .skip(1)
        .filter(own)
        .filter(|line| !line.starts_with('…'))
        .count()
        + rest
        == groups
}

proptest! {
    #[test]
    fn the_overview_keeps_its_budget_and_drops_nothing_uncounted(
        sizes in proptest::collection::vec(0_usize..60, 1..40),
        skills in 2_usize..40,
        max_tokens in 80_usize..5_000,
    ) {
        let mut groups: Vec<Group> = sizes
            .iter()
            .enumerate()
            // Never one tool alone, so that the unit is always the plural.
            .map(|(n, size)| match size {
                0 => unknown_group(&format!("s{n:03}")),
                size => server_group(&format!("s{n:03}"), size + 1),
            })
            .collect();
        groups.push(skills_group(None, skills));
        let text = overview_of(&groups, max_tokens);
        prop_assert!(BytesByThree.count(&text) <= max_tokens, "{text}");
        if text.starts_with("Overview") {
            prop_assert!(nothing_is_dropped(&text, groups.len()), "{text}");
        }
    }
}

#[test]
fn the_budget_holds_from_one_to_a_hundred_thousand_entries() {
    for count in [1, 10, 100, 1_000, 10_000, 100_000] {
        for servers in [1, 50.min(count)] {
            let groups: Vec<Group> = (0..servers)
                .map(|n| server_group(&format!("s{n:05}"), count / servers))
                .collect();
            let text = overview_of(&groups, 4_000);
            assert!(BytesByThree.count(&text) <= 4_000, "{count} in {servers}");
            let entries: usize = groups.iter().map(|group| group.lines().len()).sum();
            let unit = if entries == 1 { "entry" } else { "entries" };
            assert!(
                text.lines()
                    .next()
                    .is_some_and(|l| l.contains(&format!("{entries} {unit}")))
            );
        }
    }
}

#[test]
fn all_is_in_order_of_id_across_sources() {
    let groups = [
        server_group("t", 1),
        skills_group(None, 1),
        skills_group(Some("h"), 1),
    ];
    let groups: Vec<&Group> = groups.iter().collect();
    let text = all(&groups);
    let ids: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(
        ids,
        [
            "skills/get_thing_000000",
            "skills/h:get_thing_000000",
            "t/get_thing_000000"
        ]
    );
}

#[test]
fn the_index_of_a_group_begins_with_count_and_cost() {
    let group = server_group("a", 2);
    let text = of_groups(&[&group], Kind::Tools, 123, &BytesByThree);
    assert!(
        text.starts_with("2 tools; their definitions have ≈ 123 tokens\na/get_thing_000000 — ")
    );
    let unknown = unknown_group("a");
    assert_eq!(
        of_groups(&[&unknown], Kind::Tools, 0, &BytesByThree),
        "a/ — not known yet, see mcp/a/STATUS\n"
    );
}

#[test]
fn an_entry_without_a_summary_is_its_id_alone() {
    let line = Line {
        id: EntryId::tool("a", "b"),
        summary: String::new(),
    };
    assert_eq!(line.to_string(), "a/b\n");
}

#[test]
fn the_readme_is_short() {
    // 170 tokens of o200k; bytes are what a test without a tokenizer can hold it to.
    assert!(README.len() < 800, "{}", README.len());
}

#[test]
fn instructions_keep_their_lines_and_lose_what_is_hidden() {
    let known = Definitions {
        title: Some("A\nB".to_owned()),
        instructions: Some("One\r\n  two\u{202e}\u{1b}[31m red\n".to_owned()),
        ..Definitions::default()
    };
    let text = server(&Server {
        name: ServerName::new("x\u{1b}"),
        directory: Some(PathBuf::from("/srv/x")),
        definitions: Some(known.into()),
    });
    assert_eq!(
        text,
        "# x\n\nTitle: A B\nWorking directory: /srv/x\n\nOne\n  two red\n"
    );
}

#[test]
fn status_is_one_line_whose_first_word_is_the_phase() {
    let state = |phase, stale: bool| ServerState {
        phase,
        stale: stale.then_some(std::time::SystemTime::UNIX_EPOCH),
    };
    assert_eq!(status(&state(Phase::Cold, false)), "cold\n");
    assert_eq!(status(&state(Phase::Ready, true)), "ready, stale\n");
    let failed = Phase::Failed("exit status 1\nTraceback\u{1b}[0m".to_owned());
    assert_eq!(
        status(&state(failed, true)),
        "failed, stale: exit status 1 Traceback\n"
    );
}
