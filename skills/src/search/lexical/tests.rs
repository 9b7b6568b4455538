use std::collections::BTreeMap;

use proptest::prelude::proptest;

use super::{Lexical, Request};
use crate::catalog::fixtures::tool;
use crate::catalog::{Entry, EntryOptions};
use crate::search::document::{Document, Said};
use crate::search::ranker::Ranker;
use crate::search::request::Keywords;
use crate::server::Server;
use std::path::PathBuf;
use std::sync::Arc;

/// A document whose words are just these.
fn document(words: &str) -> Document {
    // The names have no word of their own: stop words go.
    let server = Server {
        name: crate::entry_id::ServerName::new("the"),
        directory: Some(PathBuf::new()),
        roots: Vec::new(),
        definitions: None,
    };
    let entry = Entry::Tool {
        server: Arc::new(server),
        tool: tool("a", words),
    };
    Document::new(&entry, &Said::default(), &EntryOptions::default(), None)
}

fn request(text: &str) -> Request {
    Request::read(text, &Keywords::default(), None)
}

fn index(documents: &[Document]) -> Lexical {
    Lexical::new(&documents.iter().collect::<Vec<_>>())
}

fn scores(documents: &[Document], text: &str) -> Vec<f32> {
    let lexical = index(documents);
    let ranks = lexical.rank(&request(text));
    ranks.into_iter().map(|rank| rank.score).collect()
}

/// Okapi BM25 as the textbook has it, over words that are there.
fn by_hand(documents: &[&str], words: &[&str]) -> Vec<f64> {
    let texts: Vec<Vec<&str>> = documents
        .iter()
        .map(|text| text.split(' ').collect())
        .collect();
    let count = texts.len() as f64;
    let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / count;
    let score = |text: &Vec<&str>| {
        let of_word = |word: &&str| {
            let with_it = texts.iter().filter(|text| text.contains(word)).count() as f64;
            let idf = (1.0 + (count - with_it + 0.5) / (with_it + 0.5)).ln();
            let frequency = text.iter().filter(|other| *other == word).count() as f64;
            let length = 1.0 - 0.75 + 0.75 * text.len() as f64 / average;
            idf * frequency * 2.2 / (frequency + 1.2 * length)
        };
        words.iter().map(of_word).sum()
    };
    texts.iter().map(score).collect()
}

#[track_caller]
fn check(texts: &[&str], words: &[&str]) {
    let documents: Vec<Document> = texts.iter().map(|text| document(text)).collect();
    let found = scores(&documents, &words.join(" "));
    let expected = by_hand(texts, words);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            (f64::from(*found) - expected).abs() < 1e-4,
            "{found} {expected}"
        );
    }
}

#[test]
fn scores_are_those_of_the_formula() {
    let texts = [
        "create issue issue repository",
        "list issue",
        "merge branch repository name title body",
    ];
    check(&texts, &["issue"]);
    check(&texts, &["create", "issue", "repository"]);
    check(&texts, &["absent"]);
}

#[test]
fn scores_are_those_of_the_formula_after_entries_came_and_went() {
    let mut texts = vec!["create issue", "list issue repository name"];
    check(&texts, &["issue", "name"]);
    texts.push("a much longer text with more word issue issue issue name");
    texts[2] = "much longer text more word issue issue issue name";
    check(&texts, &["issue", "name"]);
    texts.remove(0);
    check(&texts, &["issue", "name"]);
}

#[test]
fn one_score_by_hand() {
    // N 2, df 1: idf ln(1 + 1.5 / 1.5) = ln 2; tf 2, length 4 of an average of 3: 2 · 2.2 / (2 + 1.2 · (0.25 + 1)) = 4.4 / 3.5.
    let documents = [
        document("issue issue create list"),
        document("merge branch"),
    ];
    let found = scores(&documents, "issue");
    assert!(
        (found[0] - 2.0_f32.ln() * 4.4 / 3.5).abs() < 1e-5,
        "{found:?}"
    );
    assert_eq!(found[1], 0.0);
}

#[test]
fn a_word_that_is_said_twice_counts_once() {
    let documents = [document("create issue"), document("merge branch")];
    assert_eq!(
        scores(&documents, "issue"),
        scores(&documents, "issues issue Issue")
    );
}

#[test]
fn coverage_weighs_rare_words_more() {
    let texts = [
        "create issue",
        "create branch",
        "create sprint",
        "merge branch",
    ];
    let documents: Vec<Document> = texts.iter().map(|text| document(text)).collect();
    let lexical = index(&documents);
    let found = lexical.find(&request("create sprint"));
    assert!((found[2].coverage - 1.0).abs() < 1e-6);
    assert!(found[0].coverage < 0.4, "{found:?}");
    assert_eq!(found[3].coverage, 0.0);
}

#[test]
fn what_stands_for_a_word_covers_it() {
    let keywords = BTreeMap::from([("ticket".to_owned(), vec!["issues".to_owned()])]);
    let keywords = Keywords::new(&keywords);
    let documents = [document("create issue"), document("merge branch")];
    let lexical = index(&documents);
    let found = lexical.find(&Request::read("tickets", &keywords, None));
    assert!(
        found[0].score > 0.0 && found[0].coverage > 0.999,
        "{found:?}"
    );
    assert_eq!(found[1].score, 0.0);
    assert_eq!(lexical.find(&request("ticket"))[0].score, 0.0);
}

#[test]
fn a_word_that_nobody_says_is_found_in_its_other_forms() {
    let documents = [
        document("systematic debugging"),
        document("crawl site"),
        document("scrape page"),
        document("merge branch"),
    ];
    let lexical = index(&documents);
    for (text, place) in [
        ("debug", 0),
        ("debuggers", 0),
        ("crawling", 1),
        ("crawlers", 1),
        ("scraping", 2),
        ("scraper", 2),
    ] {
        let found = lexical.find(&request(text));
        assert!(found[place].score > 0.0, "{text} {found:?}");
        assert!(found[place].coverage > 0.999, "{text} {found:?}");
        let others = found.iter().filter(|found| found.score > 0.0);
        assert_eq!(others.count(), 1, "{text}");
    }
}

#[test]
fn another_form_weighs_as_much_as_if_it_had_been_typed() {
    let documents = [
        document("create issue"),
        document("create branch"),
        document("merge branch"),
    ];
    let lexical = index(&documents);
    let typed = lexical.find(&request("create cake"));
    assert_eq!(lexical.find(&request("creating cake")), typed);
    assert!(typed[0].coverage < 0.3, "{typed:?}");
}

#[test]
fn a_word_that_is_said_is_looked_for_as_it_is() {
    let documents = [document("debug program"), document("systematic debugging")];
    let found = scores(&documents, "debug");
    assert!(found[0] > 0.0);
    assert_eq!(found[1], 0.0);
}

#[test]
fn a_name_is_found_in_either_spelling() {
    let documents = [document("search GitHub"), document("merge branch")];
    for text in ["github", "GitHub", "git hub"] {
        assert!(scores(&documents, text)[0] > 0.0, "{text}");
    }
    let documents = [document("search github"), document("merge branch")];
    let lexical = index(&documents);
    let found = lexical.find(&request("GitHub"));
    assert!((found[0].coverage - 1.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn no_entries_and_no_words_are_no_fault() {
    assert!(scores(&[], "issue").is_empty());
    assert_eq!(scores(&[document("")], "issue"), [0.0]);
    assert_eq!(scores(&[document("issue")], "the"), [0.0]);
}

proptest! {
    #[test]
    fn scores_are_finite_and_never_negative(texts in proptest::collection::vec(".{0,40}", 0..6), words in ".{0,40}") {
        let documents: Vec<Document> = texts.iter().map(|text| document(text)).collect();
        let lexical = index(&documents);
        for found in lexical.find(&request(&words)) {
            assert!(found.score.is_finite() && found.score >= 0.0);
            assert!((0.0..=1.0001).contains(&found.coverage));
        }
    }
}
