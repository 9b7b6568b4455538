//! Reads what users say in their own words: `[search]` and `[entries]`. It does not know which entries there are.

use std::collections::BTreeMap;
use std::path::Path;

use skills::catalog::EntryOptions;
use skills::entry_id::EntryId;
use skills::problem::Location;
use skills::search::SearchOptions;

use super::node::{Fault, Node};
use super::reader::unknown_key;

/// The keys of an entry.
const ENTRY_KEYS: [&str; 4] = ["summary", "keywords", "group", "pin"];

/// Reads `[search]`; a fault takes nothing with it but its own key.
pub(super) fn search(node: Node<'_>, faults: &mut Vec<Fault>) -> Result<SearchOptions, Fault> {
    let mut options = SearchOptions::default();
    for (key, value) in node.table("`search`")? {
        let done = match key.as_str() {
            "lexical" => value
                .boolean("`lexical`")
                .map(|lexical| options.lexical = lexical),
            "keywords" => keywords(value, faults).map(|keywords| options.keywords = keywords),
            _ => Err(unknown_key(
                &key,
                "`search`",
                &["lexical", "keywords"],
                value,
            )),
        };
        faults.extend(done.err());
    }
    Ok(options)
}

fn keywords(
    node: Node<'_>,
    faults: &mut Vec<Fault>,
) -> Result<BTreeMap<String, Vec<String>>, Fault> {
    let mut keywords = BTreeMap::new();
    for (word, value) in node.table("`search.keywords`")? {
        if word.trim().is_empty() {
            faults.push(Fault::new(
                value.line(),
                "a word of `search.keywords` is empty",
            ));
            continue;
        }
        match words(value, &format!("`search.keywords.{word}`")) {
            Ok(words) => drop(keywords.insert(word, words)),
            Err(fault) => faults.push(fault),
        }
    }
    Ok(keywords)
}

/// Reads `[entries]`; a fault takes nothing with it but its own key.
pub(super) fn entries(
    node: Node<'_>,
    path: &Path,
    faults: &mut Vec<Fault>,
) -> Result<BTreeMap<EntryId, EntryOptions>, Fault> {
    let mut entries = BTreeMap::new();
    for (id, value) in node.table("`entries`")? {
        match entry(&id, value, faults) {
            Ok(options) => {
                let written = Location::File {
                    path: path.to_owned(),
                    line: Some(value.line()),
                };
                let options = EntryOptions {
                    written: Some(written),
                    ..options
                };
                entries.insert(EntryId(id.into()), options);
            }
            Err(fault) => faults.push(fault),
        }
    }
    Ok(entries)
}

fn entry(id: &str, node: Node<'_>, faults: &mut Vec<Fault>) -> Result<EntryOptions, Fault> {
    let mut options = EntryOptions::default();
    let place = format!("entry `{id}`");
    for (key, value) in node.table(&place)? {
        let what = format!("`{key}` of {place}");
        let done = match key.as_str() {
            "summary" => text(value, &what).map(|text| options.summary = Some(text)),
            "group" => text(value, &what).map(|text| options.group = Some(text)),
            "keywords" => words(value, &what).map(|words| options.keywords = words),
            "pin" => value.boolean(&what).map(|pin| options.pin = pin),
            _ => Err(unknown_key(&key, &place, &ENTRY_KEYS, value)),
        };
        faults.extend(done.err());
    }
    Ok(options)
}

fn words(node: Node<'_>, what: &str) -> Result<Vec<String>, Fault> {
    let words = node.list(what)?.into_iter();
    words
        .map(|word| text(word, &format!("a word of {what}")))
        .collect()
}

/// Text with something in it.
fn text(node: Node<'_>, what: &str) -> Result<String, Fault> {
    let text = node.text(what)?;
    if text.trim().is_empty() {
        return Err(Fault::new(node.line(), format!("{what} is empty")));
    }
    Ok(text)
}
