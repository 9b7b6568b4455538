use std::path::{Path, PathBuf};

use super::fixtures::{O200k, lines, server_group, skills_group};
use super::texts::README;
use super::{Group, Kind, Line, TokenCounter, Tokens, all, of_entries, server, status};
use crate::brief::brief;
use crate::entry_id::{EntryId, ServerName};
use crate::search_page;
use crate::server::{Definitions, Phase, Server, ServerState};

#[test]
fn counts_of_lines_add_up_to_that_of_the_whole() {
    let o200k = O200k(tiktoken::encoding::o200k_base());
    let lines = [
        "a/b — Lists the files.\n",
        "Overview of 3 entries. A word (…)\n",
        "… and 3 more groups/\n",
        "größe/東京 — «x»: {}()/\n",
        "-x/y\n",
    ];
    for first in lines {
        for second in lines {
            let both = [first, second].map(|line| Tokens::of(line, &o200k));
            let whole = Tokens::of(&format!("{first}{second}"), &o200k);
            assert!(
                whole.count <= both.into_iter().sum::<Tokens>().count,
                "{first}{second}"
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
fn what_every_agent_is_to_read_is_short() {
    let o200k = O200k(tiktoken::encoding::o200k_base());
    let brief = brief(Path::new("/home/somebody/.local/share/toolshelf/tools"));
    for (name, text, most) in [
        ("README.md", README, 200),
        ("search/README.md", search_page::README, 100),
        ("brief", &brief, 200),
    ] {
        let count = o200k.count(text).unwrap();
        assert!(count <= most, "{name}: {count}");
    }
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
        roots: vec![PathBuf::from("/srv/x"), PathBuf::from("/srv/y\n")],
        definitions: Some(known.into()),
    });
    assert_eq!(
        text,
        "# x\n\nTitle: A B\nWorking directory: /srv/x\nRoot: /srv/x\nRoot: /srv/y\n\nOne\n  two red\n"
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
