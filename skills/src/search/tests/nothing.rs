//! "Nothing matched" is said where nothing does.

use proptest::prelude::{ProptestConfig, any, proptest};

use super::{catalog, ids, index, query};
use crate::search::Query;

#[test]
fn what_is_off_topic_matches_nothing() {
    let index = index(catalog());
    for words in [
        "bake a chocolate cake",
        "what is the weather in paris",
        "who won the football world cup",
        "how tall is mount everest",
        "recipe for tomato soup",
        "train a puppy",
        "learn to play the guitar",
    ] {
        for lexical in [false, true] {
            let answer = index.search(&Query {
                lexical,
                ..query(words)
            });
            assert_eq!(ids(&answer), [""; 0], "{words}");
            assert!(answer.servers.len() <= 3, "{words}");
            assert!(answer.servers.iter().all(|server| server.matches == 0));
            assert_eq!(answer.unknown, ["later"]);
        }
    }
}

#[test]
fn nonsense_and_nothing_match_nothing() {
    let index = index(catalog());
    for words in [
        "qwxzv",
        "xyzzy plugh",
        "",
        "   ",
        "the of what",
        "—!?",
        "🎉",
        "\u{0}",
        "創建",
    ] {
        assert!(index.search(&query(words)).matches.is_empty(), "{words:?}");
    }
}

#[test]
fn the_nearest_servers_are_named_then() {
    let index = index(catalog());
    let answer = index.search(&query("bake a chocolate cake"));
    assert!((1..=3).contains(&answer.servers.len()), "{answer:?}");
    let misspelt = index.search(&query("trakcer"));
    assert!(misspelt.matches.is_empty());
    assert_eq!(misspelt.servers[0].name, "tracker");
    let filtered = index.search(&Query {
        server: Some("files"),
        ..query("bake a chocolate cake")
    });
    assert!(filtered.servers.iter().all(|server| server.name == "files"));
}

#[test]
fn a_request_of_any_length_is_answered_by_its_beginning() {
    let index = index(catalog());
    let mut long = "create issue ".repeat(8_000);
    assert_eq!(ids(&index.search(&query(&long)))[0], "tracker/create_issue");
    long.insert_str(0, "qwxzv ");
    assert!(!index.search(&query(&long)).matches.is_empty());
    let one = "é".repeat(50_000);
    assert!(index.search(&query(&one)).matches.is_empty());
    let many: String = (0..20_000).map(|number| format!("word{number} ")).collect();
    assert!(index.search(&query(&many)).matches.is_empty());
}

#[test]
fn other_languages_are_found_by_their_words() {
    let mut sources = catalog();
    let tools = vec![
        crate::catalog::fixtures::tool("a", "創建問題"),
        crate::catalog::fixtures::tool("b", "Erstellt eine Aufgabe"),
    ];
    let foreign = crate::catalog::fixtures::server("foreign", Some(tools));
    sources
        .servers
        .insert(foreign.name.clone(), (foreign, Default::default()));
    let index = index(sources);
    assert_eq!(ids(&index.search(&query("問題"))), ["foreign/a"]);
    assert_eq!(ids(&index.search(&query("Aufgabe")))[0], "foreign/b");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_request_has_an_answer_of_finite_scores(words in any::<String>(), limit in 0_usize..20) {
        static INDEX: std::sync::LazyLock<crate::search::SearchIndex> = std::sync::LazyLock::new(|| index(catalog()));
        let answer = INDEX.search(&Query { limit, ..query(&words) });
        assert!(answer.matches.len() <= limit);
        assert!(answer.matches.iter().all(|found| found.score.is_finite()));
        assert!(answer.matches.is_sorted_by(|a, b| a.score >= b.score));
    }
}
