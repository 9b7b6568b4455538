use std::path::PathBuf;

use proptest::prelude::*;
use tiktoken::CoreBpe;

use super::texts::README;
use super::{
    Group, Kind, Line, TokenCounter, Tokens, Uncounted, all, of_entries, overview, server, status,
};
use crate::entry_id::{EntryId, ServerName};
use crate::server::{Definitions, Phase, Server, ServerState};

fn lines(prefix: &str, count: usize) -> Vec<Line> {
    (0..count)
        .map(|n| Line {
            id: EntryId(format!("{prefix}get_thing_{n:06}").into()),
            summary: format!("Gets the thing of number {n}"),
            heading: None,
            pin: false,
        })
        .collect()
}

fn server_group(name: &str, count: usize) -> Group {
    let lines = lines(&format!("{name}/"), count);
    Group::server(name, "Things of all kinds", Some(lines), &Uncounted)
}

fn unknown_group(name: &str) -> Group {
    Group::server(name, "", None, &Uncounted)
}

fn skills_group(source: Option<&str>, count: usize) -> Group {
    let prefix = source.map_or("skills/".to_owned(), |source| format!("skills/{source}:"));
    Group::skills(source, lines(&prefix, count), &Uncounted)
}

fn overview_of(groups: &[Group], max_tokens: usize) -> String {
    let groups: Vec<&Group> = groups.iter().collect();
    overview(&groups, max_tokens, &Uncounted).text
}

fn cost(text: &str) -> usize {
    Tokens::of(text, &Uncounted).count
}

/// The group of a server whose entries with these numbers are pinned.
fn pinned_group(name: &str, count: usize, pinned: &[usize]) -> Group {
    let mut lines = lines(&format!("{name}/"), count);
    pinned.iter().for_each(|&n| lines[n].pin = true);
    Group::server(name, "Things of all kinds", Some(lines), &Uncounted)
}

/// Counts a word as a token, and a line end too.
struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> Option<usize> {
        Some(text.split_whitespace().count() + text.matches('\n').count())
    }

    fn revision(&self) -> u64 {
        1
    }
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
        let beginnings = ["mcp/", "skills/ ", "skills/acme:* "];
        beginnings
            .iter()
            .any(|beginning| line.starts_with(beginning))
            || line.contains("not known")
    };
    let rest: usize = text
        .lines()
        .filter_map(|line| {
            line.strip_prefix("… and ")
                .filter(|rest| rest.contains("more groups"))?
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
        pinned in 0_usize..30,
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
        let pins: Vec<usize> = (0..pinned).collect();
        groups.push(pinned_group("t", pinned + 2, &pins));
        let text = overview_of(&groups, max_tokens);
        prop_assert!(cost(&text) <= max_tokens, "{text}");
        if text.starts_with("Overview") {
            prop_assert!(nothing_is_dropped(&text, groups.len()), "{text}");
        }
    }
}

/// The tokenizer itself.
struct O200k(CoreBpe);

impl TokenCounter for O200k {
    fn count(&self, text: &str) -> Option<usize> {
        Some(self.0.count(text))
    }

    fn revision(&self) -> u64 {
        1
    }
}

#[test]
fn the_budget_holds_from_one_to_a_hundred_thousand_entries() {
    let o200k = O200k(tiktoken::encoding::o200k_base());
    let counters: [(&dyn TokenCounter, usize); 2] = [(&Uncounted, 4_000), (&o200k, 4_000)];
    for (counter, max_tokens) in counters {
        for count in [1, 10, 100, 1_000, 10_000, 100_000] {
            for servers in [1, 50.min(count), 2_000.min(count)] {
                let group = |n: usize| {
                    let name = format!("s{n:05}");
                    let mut lines = lines(&format!("{name}/"), count / servers);
                    lines[0].pin = n < 3;
                    Group::server(&name, "Things of all kinds", Some(lines), counter)
                };
                let groups: Vec<Group> = (0..servers).map(group).collect();
                let groups: Vec<&Group> = groups.iter().collect();
                let page = overview(&groups, max_tokens, counter);
                let whole = Tokens::of(&page.text, counter).count;
                assert!(whole <= max_tokens, "{count} in {servers}: {whole}");
                assert_eq!(page.is_counted, counter.count("").is_some());
                let entries: usize = groups.iter().map(|group| group.lines().len()).sum();
                let unit = if entries == 1 { "entry" } else { "entries" };
                let first = page.text.lines().next().unwrap_or_default();
                assert!(first.contains(&format!("{entries} {unit}")), "{first}");
                let is_overview = first.starts_with("Overview");
                assert!(
                    !is_overview || nothing_is_dropped(&page.text, servers),
                    "{count} in {servers}"
                );
                // The second read that finds whatever the first did not show.
                assert_eq!(all(&groups).lines().count(), entries);
            }
        }
    }
}

#[test]
fn counts_of_lines_add_up_to_that_of_the_whole() {
    let o200k = tiktoken::encoding::o200k_base();
    let lines = [
        "a/b — Lists the files.\n",
        "Overview of 3 entries. A word (…)\n",
        "… and 3 more groups/\n",
        "größe/東京 — «x»: {}()/\n",
        "-x/y\n",
    ];
    for first in lines {
        for second in lines {
            let whole = o200k.count(&format!("{first}{second}"));
            assert!(
                whole <= o200k.count(first) + o200k.count(second),
                "{first}{second}"
            );
        }
    }
}

#[test]
fn pinned_entries_come_first_while_all_fit() {
    let groups = [pinned_group("a", 2, &[1]), skills_group(None, 1)];
    let text = overview_of(&groups, 4_000);
    let ids: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(
        ids,
        [
            "a/get_thing_000001",
            "a/get_thing_000000",
            "skills/get_thing_000000"
        ]
    );
}

#[test]
fn pinned_entries_keep_their_lines_when_the_rest_is_folded() {
    let groups = [
        pinned_group("a", 900, &[0, 777]),
        server_group("b", 900),
        skills_group(None, 1),
    ];
    let text = overview_of(&groups, 300);
    assert!(text.starts_with("Overview of 1801 entries."), "{text}");
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert_eq!(
        last,
        [
            "a/get_thing_000777 — Gets the thing of number 777",
            "a/get_thing_000000 — Gets the thing of number 0"
        ]
    );
    assert!(text.contains("\nmcp/a/ 900 tools"), "{text}");

    // Names stand for the others only.
    let groups = [pinned_group("a", 30, &[3])];
    let text = overview_of(&groups, 300);
    assert_eq!(text.matches("get_thing_000003").count(), 1, "{text}");
    assert!(text.contains("\na/ get_thing_000000, "), "{text}");
}

#[test]
fn pinned_entries_without_room_are_counted() {
    let pins: Vec<usize> = (0..100).collect();
    let groups = [pinned_group("a", 100, &pins), server_group("b", 2)];
    let text = overview_of(&groups, 200);
    assert!(cost(&text) <= 200, "{text}");
    let shown = text
        .lines()
        .filter(|line| line.starts_with("a/get_thing_"))
        .count();
    assert!(shown > 0);
    let left = 100 - shown;
    let note =
        format!("… and {left} more pinned entries, for which the budget has no room: grep ALL.md");
    assert_eq!(text.lines().nth(1), Some(&*note));
    let groups = "… and 2 more groups with 102 entries";
    assert!(
        text.contains("\nmcp/a/ 100 tools") || text.contains(groups),
        "{text}"
    );
}

#[test]
fn a_heading_names_ids_and_where_they_are() {
    let mut lines = lines("jira/", 1);
    lines.splice(0..0, self::lines("github/", 20));
    let group = Group::headed("Issues", Kind::Tools, lines, &Uncounted);
    let text = overview_of(&[group], 300);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1],
        "Issues (mcp/github/, mcp/jira/) 21 tools: get thing"
    );
    assert!(
        lines[2].starts_with("Issues: github/get_thing_000000, github/"),
        "{text}"
    );
    assert!(lines[2].ends_with(", jira/get_thing_000000"), "{text}");
}

#[test]
fn what_is_counted_is_folded_by_its_counts_and_says_no_estimate() {
    let lines = lines("a/", 100);
    let group = Group::server("a", "", Some(lines), &Words);
    let page = overview(&[&group], 200, &Words);
    assert!(page.is_counted);
    assert!(!page.text.contains('≈'), "{}", page.text);
    assert!(Words.count(&page.text) <= Some(200));
    // A hundred names fit 200 words, though not 600 bytes.
    assert!(page.text.contains("a/ get_thing_000000, "), "{}", page.text);
    let estimated = server_group("a", 100);
    let page = overview(&[&estimated], 200, &Words);
    assert!(!page.is_counted);
    assert!(page.text.contains(" Folded to ≈ 200 tokens, by bytes / 3."));
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
    let mut cost = Tokens {
        count: 123,
        is_exact: false,
    };
    let text = of_entries(&lines("a/", 2), Kind::Tools, cost);
    assert!(
        text.starts_with("2 tools; their definitions have ≈ 123 tokens\na/get_thing_000000 — ")
    );
    cost.is_exact = true;
    let text = of_entries(&lines("skills/", 1), Kind::Skills, cost);
    assert!(text.starts_with("1 skill; their SKILL.md files have 123 tokens\nskills/get_"));
}

#[test]
fn an_entry_without_a_summary_is_its_id_alone() {
    let line = Line {
        id: EntryId::tool("a", "b"),
        summary: String::new(),
        heading: None,
        pin: false,
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
