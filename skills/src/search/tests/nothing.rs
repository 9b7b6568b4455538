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
fn near_servers_are_named_then_and_none_where_nothing_is_near() {
    let index = index(catalog());
    let servers = |query: &Query<'_>| {
        let answer = index.search(query);
        assert!(answer.matches.is_empty(), "{answer:?}");
        let names = answer.servers.into_iter().map(|server| server.name);
        names.collect::<Vec<_>>()
    };
    assert_eq!(servers(&query("trakcer"))[0], "tracker");
    for words in ["qwxzv foo", "bake a chocolate cake", ""] {
        assert_eq!(servers(&query(words)), [""; 0], "{words}");
    }
    let filtered = Query {
        server: Some("files"),
        ..query("trakcer")
    };
    assert_eq!(servers(&filtered), [""; 0]);
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
