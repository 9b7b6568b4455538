use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use skills::catalog::{IndexOptions, Snapshot, Sources};
use skills::entry_id::ServerName;
use skills::index::TokenCounter;
use skills::server::{Definitions, Server, ServerState};
use skills::tool::Tool;
use skills::tree::{Content, Node};

use super::{NeverSeen, Tokenizer};
use crate::cache::TokenCounts;
use crate::catalog::{self, SourceUpdate};
use crate::journal::{Journal, SeenFile};
use crate::pins::Pins;

fn server(tools: usize) -> Arc<Server> {
    let name = ServerName::new("many");
    let tool = |n: usize| {
        let description = format!("Reads the thing of number {n}. 東京 and größe too.");
        let object = serde_json::json!({
            "name": format!("read_thing_{n}"), "description": description, "inputSchema": {"type": "object"},
        });
        let raw = RawValue::from_string(object.to_string()).unwrap();
        Arc::new(Tool::parse(&name, n, Arc::from(raw)).unwrap())
    };
    Arc::new(Server {
        directory: Some(PathBuf::from("/srv")),
        roots: Vec::new(),
        definitions: Some(Arc::new(Definitions {
            tools: (0..tools).map(tool).collect(),
            ..Definitions::default()
        })),
        name: name.clone(),
    })
}

fn sources(tools: usize) -> Sources {
    let server = server(tools);
    let state = ServerState::default();
    Sources {
        servers: [(server.name.clone(), (server, state))].into(),
        ..Sources::default()
    }
}

fn text(snapshot: &Snapshot, path: &str) -> String {
    match snapshot.tree.find(path.as_bytes()) {
        Some(Node::File(file)) => match &file.content {
            Content::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Content::Source(_) => panic!("{path} is not in memory"),
        },
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn known_counts_of_o200k() {
    // By the reference implementation.
    let tokenizer = Tokenizer::load();
    for (text, count) in [("", 0), ("hello world", 2), ("tiktoken is great!", 6)] {
        assert_eq!(tokenizer.count(text), Some(count), "{text}");
    }
}

#[test]
fn one_round_counts_all_that_is_shown_and_the_overview_keeps_its_budget_by_it() {
    let tokenizer = Tokenizer::load();
    for (tools, max_tokens) in [(1, 4_000), (40, 4_000), (40, 300), (900, 4_000), (900, 90)] {
        let options = IndexOptions { max_tokens };
        let estimated = Snapshot::build(None, sources(tools), options, &mut NeverSeen);
        assert!(!estimated.is_counted());
        let mut counts = TokenCounts::default();
        counts.add(tokenizer.count_all(&estimated, options));
        let again = (Some(&estimated), sources(tools));
        let counted = Snapshot::build_counted(again.0, again.1, options, &counts, &mut NeverSeen);
        assert!(counted.is_counted(), "{tools} in {max_tokens}");
        // As if nothing had ever been estimated.
        let at_once =
            Snapshot::build_counted(None, sources(tools), options, &counts, &mut NeverSeen);
        for path in ["INDEX.md", "ALL.md", "mcp/many/INDEX.md", "skills/INDEX.md"] {
            assert_eq!(text(&counted, path), text(&at_once, path));
            assert!(!text(&counted, path).contains('≈'));
        }
        let index = text(&counted, "INDEX.md");
        assert!(tokenizer.count(&index) <= Some(max_tokens), "{index}");
        let definitions =
            (0..tools).map(|n| text(&counted, &format!("mcp/many/read_thing_{n}.md")));
        let cost: usize = definitions.filter_map(|text| tokenizer.count(&text)).sum();
        let head = text(&counted, "mcp/many/INDEX.md");
        assert!(
            head.lines()
                .next()
                .unwrap()
                .ends_with(&format!(" have {cost} tokens")),
            "{head}"
        );
    }
}

#[test]
fn the_catalog_replaces_its_estimates_once_and_a_warm_one_has_none() {
    let place = tempfile::tempdir().unwrap();
    let start = || {
        let seen = SeenFile::open(place.path(), "a").unwrap();
        let journal = Journal::open(place.path(), "a").unwrap();
        let counts = TokenCounts::read(place.path(), "a");
        let pins = Pins::open(place.path(), "a");
        catalog::start(IndexOptions::default(), seen, journal, pins, counts).unwrap()
    };
    let say = |updates: &catalog::Updates| {
        let server = server(300);
        let problems = Vec::new();
        updates
            .send(SourceUpdate::Server { server, problems })
            .unwrap();
        let (done, generation) = std::sync::mpsc::channel();
        let done = catalog::Done::new(move |generation| done.send(generation).unwrap());
        updates.send(SourceUpdate::Flush { done }).unwrap();
        generation.recv().unwrap()
    };
    let end = |updates: &catalog::Updates| {
        let (done, ended) = std::sync::mpsc::channel();
        let done = catalog::Done::new(move |generation| done.send(generation).unwrap());
        updates.send(SourceUpdate::End { done }).unwrap();
        ended.recv().unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();

    let (updates, snapshots) = start();
    let first = say(&updates);
    let mut generations = snapshots.generations();
    let counted = generations.wait_for(|_| snapshots.current().is_counted());
    let counted = runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), counted)
            .await
            .map(|g| *g.unwrap())
    });
    assert_eq!(counted.unwrap(), first + 1);
    let cold = text(&snapshots.current(), "INDEX.md");
    assert_eq!(end(&updates), first + 1);

    let (updates, snapshots) = start();
    say(&updates);
    assert!(snapshots.current().is_counted());
    assert_eq!(text(&snapshots.current(), "INDEX.md"), cold);
    end(&updates);
}

#[test]
fn counts_do_not_depend_on_what_was_counted_before() {
    let tokenizer = Tokenizer::load();
    let options = IndexOptions::default();
    let few = Snapshot::build(None, sources(3), options, &mut NeverSeen);
    let first: HashMap<_, _> = tokenizer.count_all(&few, options).into_iter().collect();
    let many = Snapshot::build(None, sources(5), options, &mut NeverSeen);
    let second: HashMap<_, _> = tokenizer.count_all(&many, options).into_iter().collect();
    let both = first
        .iter()
        .filter_map(|(text, count)| Some((count, second.get(text)?)));
    assert!(both.clone().count() > 0);
    both.for_each(|(a, b)| assert_eq!(a, b));
}
