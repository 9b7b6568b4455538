//! What an index takes over from the one before.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{catalog, ids, query};
use crate::catalog::EntryOptions;
use crate::catalog::fixtures::{Clock, build, server, tool};
use crate::entry_id::{EntryId, ServerName};
use crate::search::{SearchIndex, SearchOptions};
use crate::server::Phase;

#[test]
fn where_nothing_changed_all_is_shared() {
    let mut clock = Clock::default();
    let options = SearchOptions::default();
    let mut sources = catalog();
    let snapshot = build(None, sources.clone(), &mut clock);
    let index = SearchIndex::build(None, &snapshot, &options);
    let later = sources.servers.get_mut(&ServerName::new("later")).unwrap();
    later.1.phase = Phase::Disabled;
    let snapshot = build(Some(&snapshot), sources, &mut clock);
    let next = SearchIndex::build(Some(&index), &snapshot, &options);
    assert_eq!((index.generation(), next.generation()), (1, 2));
    assert!(Arc::ptr_eq(&index.content, &next.content));
    assert!(next.search(&query("issue")).unknown.is_empty());
}

#[test]
fn of_what_changed_only_that_is_made_anew() {
    let mut clock = Clock::default();
    let options = SearchOptions::default();
    let mut sources = catalog();
    let snapshot = build(None, sources.clone(), &mut clock);
    let index = SearchIndex::build(None, &snapshot, &options);

    let name = ServerName::new("files");
    let files = server("files", Some(vec![tool("shred", "Destroys a file.")]));
    sources.servers.insert(name, (files, Default::default()));
    let snapshot = build(Some(&snapshot), sources.clone(), &mut clock);
    let next = SearchIndex::build(Some(&index), &snapshot, &options);
    let kept = |id: &str| {
        let document = |index: &SearchIndex| {
            let place = index.ids().position(|known| known.as_str() == id);
            Arc::clone(&index.content.documents[place.unwrap()])
        };
        Arc::ptr_eq(&document(&index), &document(&next))
    };
    assert!(kept("tracker/create_issue") && kept("skills/pdf"));
    assert_eq!(ids(&next.search(&query("shred")))[0], "files/shred");
    assert!(next.search(&query("rename")).matches.is_empty());
    // As if there had been nothing before.
    let fresh = SearchIndex::build(None, &snapshot, &options);
    assert_eq!(
        fresh.search(&query("issue file")),
        next.search(&query("issue file"))
    );
}

#[test]
fn what_the_user_says_is_seen() {
    let mut clock = Clock::default();
    let mut sources = catalog();
    let snapshot = build(None, sources.clone(), &mut clock);
    let index = SearchIndex::build(None, &snapshot, &SearchOptions::default());
    assert!(index.search(&query("jabberwocky")).matches.is_empty());

    let options = EntryOptions {
        keywords: vec!["jabberwocky".to_owned()],
        ..EntryOptions::default()
    };
    let id = EntryId("tracker/create_issue".into());
    sources.entries = Arc::new(BTreeMap::from([(id, options)]));
    let snapshot = build(Some(&snapshot), sources, &mut clock);
    let next = SearchIndex::build(Some(&index), &snapshot, &SearchOptions::default());
    assert_eq!(
        ids(&next.search(&query("jabberwocky")))[0],
        "tracker/create_issue"
    );

    let keywords = BTreeMap::from([("snark".to_owned(), vec!["merge".to_owned()])]);
    let options = SearchOptions {
        keywords,
        lexical: true,
    };
    let last = SearchIndex::build(Some(&next), &snapshot, &options);
    assert_eq!(
        ids(&last.search(&query("snark"))),
        ["tracker/merge_pull_request"]
    );
}
