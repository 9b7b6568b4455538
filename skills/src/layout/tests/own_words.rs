use std::sync::Arc;

use crate::catalog::fixtures::{Clock, built, example, file, listing, text};
use crate::catalog::{EntryOptions, IndexOptions, Snapshot, Sources};
use crate::entry_id::EntryId;

/// The example with what the user says of some of its entries.
fn with_own_words(words: Vec<(&str, EntryOptions)>) -> Sources {
    let entries = words
        .into_iter()
        .map(|(id, options)| (EntryId(id.into()), options));
    Sources {
        entries: Arc::new(entries.collect()),
        ..example()
    }
}

#[test]
fn the_users_summary_pin_and_heading_are_shown() {
    let long = |id| {
        let options = EntryOptions {
            summary: Some("Does what takes many words to say. ".repeat(3)),
            ..EntryOptions::default()
        };
        (id, options)
    };
    let snapshot = built(with_own_words(vec![
        // So that the lines of all do not fit the smaller budget below.
        long("github/list"),
        long("skills/acme:docx"),
        (
            "github/create",
            EntryOptions {
                summary: Some("Opens an\nissue".to_owned()),
                pin: true,
                ..EntryOptions::default()
            },
        ),
        (
            "skills/pdf",
            EntryOptions {
                group: Some("Papers".to_owned()),
                ..EntryOptions::default()
            },
        ),
    ]));
    assert_eq!(
        text(&snapshot, "INDEX.md").lines().nth(1),
        Some("github/create — Opens an issue")
    );
    assert!(text(&snapshot, "mcp/github/INDEX.md").contains("\ngithub/create — Opens an issue\n"));
    // A heading changes the overview alone: lists of everything stay whole and in order.
    let all = text(&snapshot, "ALL.md");
    assert_eq!(all.lines().count(), 6, "{all}");
    assert!(all.contains("\nskills/pdf — Does pdf.\n"), "{all}");
    assert!(text(&snapshot, "skills/INDEX.md").contains("\nskills/pdf — "));
    let options = IndexOptions { max_tokens: 120 };
    let sources = snapshot.sources.clone();
    let folded = Snapshot::build(Some(&snapshot), sources, options, &mut Clock::default());
    let index = text(&folded, "INDEX.md");
    assert!(
        index.contains("\nPapers (skills/) 1 skill: pdf\n"),
        "{index}"
    );
    assert!(!index.contains("\nskills/ "), "{index}");
    assert!(
        index.contains("\ngithub/create — Opens an issue\n"),
        "{index}"
    );
    // Said anew, nothing else is made anew.
    let reworded = Snapshot::build(
        Some(&snapshot),
        example(),
        IndexOptions::default(),
        &mut Clock::default(),
    );
    assert_eq!(listing(&reworded.tree), listing(&built(example()).tree));
    assert!(Arc::ptr_eq(
        &file(&snapshot, "mcp/time/INDEX.md"),
        &file(&reworded, "mcp/time/INDEX.md")
    ));
}

#[test]
fn words_about_an_entry_that_does_not_exist_are_a_problem_once_that_is_certain() {
    let words = [
        "github/create",
        "github/crate",
        "later/any",
        "no/any",
        "skills/pfd",
        "bare",
    ];
    let options = |id| (id, EntryOptions::default());
    let snapshot = built(with_own_words(words.into_iter().map(options).collect()));
    let said: Vec<&str> = snapshot
        .problems()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(
        said,
        ["bare", "github/crate", "no/any", "skills/pfd"]
            .map(|id| format!("`[entries]` names `{id}`, and there is no such entry"))
    );
}
