mod nothing;
mod reuse;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;

use super::{Answer, Query, SearchIndex, SearchOptions};
use crate::catalog::fixtures::{built, server, skill, sources, tool};
use crate::catalog::{EntryKind, EntryOptions, Sources};
use crate::entry_id::{EntryId, ServerName};
use crate::server::{Definitions, Phase};
use crate::tool::Tool;

pub(super) fn catalog() -> Sources {
    let tracker = vec![
        tool("create_issue", "Create a new issue in a repository."),
        tool(
            "list_issues",
            "List the issues of a repository, newest first.",
        ),
        tool("merge_pull_request", "Merge a pull request."),
    ];
    let files = vec![
        tool("read_file", "Read the contents of a file from the disk."),
        tool("move_file", "Move or rename a file or a directory."),
    ];
    let browser = vec![
        tool(
            "browser_take_screenshot",
            "Take a screenshot of the current page.",
        ),
        tool("browser_click", "Click an element of the page."),
    ];
    let calendar = vec![
        tool(
            "create_event",
            "Create an event with participants and a time.",
        ),
        tool("list_calendars", "List the calendars of the user."),
    ];
    let mut pdf = skill("pdf", 0, None);
    pdf.description = "Fills in forms and extracts tables from PDF documents.".to_owned();
    pdf.headings = vec!["Rotate pages".to_owned()];
    pdf.frontmatter.name = Some("portable-documents".to_owned());
    pdf.frontmatter.metadata = Some(json!({ "audience": ["accountants"] }));
    sources(
        vec![
            server("tracker", Some(tracker)),
            server("files", Some(files)),
            server("browser", Some(browser)),
            server("calendar", Some(calendar)),
            server("later", None),
        ],
        vec![pdf],
    )
}

fn index(sources: Sources) -> SearchIndex {
    SearchIndex::build(None, &built(sources), &SearchOptions::default())
}

fn none() -> &'static HashSet<EntryId> {
    static NONE: std::sync::LazyLock<HashSet<EntryId>> = std::sync::LazyLock::new(HashSet::new);
    &NONE
}

pub(super) fn query(words: &str) -> Query<'_> {
    Query {
        words,
        limit: 8,
        kind: None,
        server: None,
        lexical: false,
        exclude: none(),
    }
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer
        .matches
        .iter()
        .map(|found| found.id.as_str())
        .collect()
}

fn first(index: &SearchIndex, words: &str) -> String {
    let answer = index.search(&query(words));
    ids(&answer)
        .first()
        .map_or_else(String::new, ToString::to_string)
}

#[test]
fn words_and_meaning_find_what_is_asked_for() {
    let index = index(catalog());
    for (words, id) in [
        ("create issue", "tracker/create_issue"),
        ("create a ticket", "tracker/create_issue"),
        ("merge the pr", "tracker/merge_pull_request"),
        (
            "take a picture of the web page",
            "browser/browser_take_screenshot",
        ),
        ("schedule a meeting", "calendar/create_event"),
        ("rename a document on disk", "files/move_file"),
        ("portable documents", "skills/pdf"),
        ("rotate", "skills/pdf"),
        ("accountant", "skills/pdf"),
    ] {
        assert_eq!(first(&index, words), id, "{words}");
    }
}

#[test]
fn by_words_alone_a_paraphrase_finds_nothing() {
    let index = index(catalog());
    let lexical = Query {
        lexical: true,
        ..query("schedule a meeting")
    };
    assert!(index.search(&lexical).matches.is_empty());
    let options = SearchOptions {
        lexical: true,
        ..SearchOptions::default()
    };
    let without = SearchIndex::build(None, &built(catalog()), &options);
    assert!(
        without
            .search(&query("schedule a meeting"))
            .matches
            .is_empty()
    );
    assert_eq!(first(&without, "create issue"), "tracker/create_issue");
}

#[test]
fn parameters_and_instructions_are_searched() {
    let schema = json!({
        "name": "submit",
        "inputSchema": {
            "type": "object",
            "properties": {
                "assigneeLogin": { "type": "string", "description": "Who is to do it, a colleague." },
                "options": {
                    "type": "object",
                    "properties": { "milestone": { "type": "integer", "description": "A deadline." } },
                },
                "labels": { "type": "array", "items": { "$ref": "#/$defs/label" } },
            },
            "$defs": { "label": { "description": "A coloured sticker.", "enum": ["zebra"] } },
        },
    });
    let raw = RawValue::from_string(schema.to_string()).unwrap();
    let tool = Tool::parse(&ServerName::new("tracker"), 0, Arc::from(raw)).unwrap();
    let mut tracker = (*server("tracker", None)).clone();
    tracker.definitions = Some(Arc::new(Definitions {
        instructions: Some("Meant for gardeners. Ask before you write.".to_owned()),
        tools: vec![Arc::new(tool)],
        ..Definitions::default()
    }));
    let index = index(sources(vec![Arc::new(tracker)], vec![]));
    for word in [
        "assignee",
        "colleague",
        "milestone",
        "deadline",
        "gardener",
        "tracker",
    ] {
        let lexical = Query {
            lexical: true,
            ..query(word)
        };
        assert_eq!(ids(&index.search(&lexical)), ["tracker/submit"], "{word}");
    }
    let values = Query {
        lexical: true,
        ..query("zebra")
    };
    assert!(index.search(&values).matches.is_empty());
    let about = &index.search(&query("assignee")).servers[0].about;
    assert_eq!(about, "Meant for gardeners.");
}

#[test]
fn filters_apply_before_the_cut() {
    let index = index(catalog());
    let skills = Query {
        kind: Some(EntryKind::Skill),
        limit: 1,
        ..query("extract tables from documents")
    };
    assert_eq!(ids(&index.search(&skills)), ["skills/pdf"]);
    let files = Query {
        server: Some("files"),
        limit: 1,
        ..query("move a file")
    };
    assert_eq!(ids(&index.search(&files)), ["files/move_file"]);
    let issues: HashSet<EntryId> = [EntryId("tracker/create_issue".into())].into();
    let rest = index.search(&Query {
        exclude: &issues,
        ..query("issues of a repository")
    });
    assert_eq!(ids(&rest)[0], "tracker/list_issues");
    assert!(!ids(&rest).contains(&"tracker/create_issue"));
    assert!(rest.excluded.is_empty(), "{rest:?}");
    let pdf: HashSet<EntryId> = [EntryId("skills/pdf".into())].into();
    let all_excluded = index.search(&Query {
        exclude: &pdf,
        ..query("accountants")
    });
    assert!(all_excluded.matches.is_empty());
    assert_eq!(all_excluded.excluded, [EntryId("skills/pdf".into())]);
    let of_tools = index.search(&Query {
        exclude: &pdf,
        kind: Some(EntryKind::Tool),
        ..query("accountants")
    });
    assert!(of_tools.excluded.is_empty(), "{of_tools:?}");
    let nowhere = index.search(&Query {
        server: Some("nowhere"),
        ..query("create issue")
    });
    assert_eq!(nowhere, Answer::default());
}

#[test]
fn servers_are_those_of_all_matches_whatever_the_limit() {
    let index = index(catalog());
    let wide = index.search(&query("issue"));
    let narrow = index.search(&Query {
        limit: 1,
        ..query("issue")
    });
    assert_eq!(narrow.matches.len(), 1);
    assert_eq!(narrow.matches[0], wide.matches[0]);
    assert_eq!(narrow.servers, wide.servers);
    assert_eq!(
        (&*wide.servers[0].name, wide.servers[0].matches),
        ("tracker", 2)
    );
    let none = index.search(&Query {
        limit: 0,
        ..query("issue")
    });
    assert!(none.matches.is_empty());
    assert_eq!(none.servers, wide.servers);
}

#[test]
fn servers_without_definitions_are_named_unless_they_are_disabled() {
    let mut sources = catalog();
    assert_eq!(
        index(sources.clone()).search(&query("issue")).unknown,
        ["later"]
    );
    let unknown = |query: &Query<'_>| index(catalog()).search(query).unknown;
    assert_eq!(
        unknown(&Query {
            server: Some("later"),
            ..query("issue")
        }),
        ["later"]
    );
    assert!(
        unknown(&Query {
            server: Some("files"),
            ..query("issue")
        })
        .is_empty()
    );
    assert!(
        unknown(&Query {
            kind: Some(EntryKind::Skill),
            ..query("issue")
        })
        .is_empty()
    );
    let later = sources.servers.get_mut(&ServerName::new("later")).unwrap();
    later.1.phase = Phase::Disabled;
    assert!(index(sources).search(&query("issue")).unknown.is_empty());
}

#[test]
fn the_users_own_words_are_found() {
    let mut sources = catalog();
    let said = EntryOptions {
        summary: Some("Opens\n\u{1b}[31ma defect.\n".to_owned()),
        keywords: vec!["jabberwocky".to_owned()],
        ..EntryOptions::default()
    };
    sources.entries = Arc::new(BTreeMap::from([(
        EntryId("tracker/create_issue".into()),
        said,
    )]));
    let keywords = BTreeMap::from([
        ("snark".to_owned(), vec!["merge pull request".to_owned()]),
        ("Boojum Hunt".to_owned(), vec!["calendars".to_owned()]),
    ]);
    let options = SearchOptions {
        keywords,
        lexical: false,
    };
    let index = SearchIndex::build(None, &built(sources), &options);
    assert_eq!(first(&index, "jabberwocky"), "tracker/create_issue");
    assert_eq!(first(&index, "defect"), "tracker/create_issue");
    assert_eq!(first(&index, "snarks"), "tracker/merge_pull_request");
    assert_eq!(first(&index, "boojum-hunts"), "calendar/list_calendars");
    assert!(index.search(&query("boojum")).matches.is_empty());
    let answer = index.search(&query("jabberwocky"));
    assert_eq!(answer.matches[0].summary, "Opens a defect.");
}

#[test]
fn what_is_equal_stands_in_order_of_id() {
    let twins = ["b", "a", "c"].map(|name| server(name, Some(vec![tool("go", "Walks.")])));
    let index = index(sources(twins.to_vec(), vec![]));
    let answer = index.search(&Query {
        limit: 2,
        ..query("walks")
    });
    assert_eq!(ids(&answer), ["a/go", "b/go"]);
    assert_eq!(answer.servers.len(), 3);
    assert_eq!(
        answer,
        index.search(&Query {
            limit: 2,
            ..query("walks")
        })
    );
    assert!(answer.matches.iter().all(|found| found.score.is_finite()));
}
