//! A server as a table of TOML, and what is left where one is taken out. It must not know of files.

use std::collections::BTreeMap;
use std::time::Duration;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use crate::config::definition::{Definition, Way};

/// The text of a configuration that has this server alone.
pub(super) fn alone(name: &str, definition: &Definition) -> String {
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(name, Item::Table(table(definition)));
    let mut document = DocumentMut::new();
    document.insert(super::SECTIONS[0], Item::Table(servers));
    document.to_string()
}

/// The table of a server, without what is the default.
pub(super) fn table(definition: &Definition) -> Table {
    let mut table = Table::new();
    match &definition.way {
        Way::Process(stdio) => {
            table.insert("command", value(&stdio.command));
            if !stdio.args.is_empty() {
                table.insert("args", value(Array::from_iter(&stdio.args)));
            }
            insert_map(&mut table, "env", &stdio.env);
            if let Some(cwd) = &stdio.cwd {
                table.insert("cwd", value(cwd));
            }
        }
        Way::Http { url, headers } => {
            table.insert("url", value(url));
            insert_map(&mut table, "headers", headers);
        }
    }
    if definition.disabled {
        table.insert("disabled", value(true));
    }
    for (key, limit) in [
        ("start-timeout", definition.start_timeout),
        ("timeout", definition.timeout),
    ] {
        if let Some(limit) = limit {
            table.insert(key, value(written(limit)));
        }
    }
    table
}

fn insert_map(table: &mut Table, key: &str, map: &BTreeMap<String, String>) {
    if !map.is_empty() {
        table.insert(key, value(InlineTable::from_iter(map)));
    }
}

/// A length of time as the configuration has it.
fn written(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    if milliseconds.is_multiple_of(1000) {
        format!("{}s", milliseconds / 1000)
    } else {
        format!("{milliseconds}ms")
    }
}

/// Removes a server from a section; whether it was there.
pub(super) fn remove(document: &mut DocumentMut, section: &str, name: &str) -> bool {
    let Some(servers) = document.get_mut(section).and_then(Item::as_table_like_mut) else {
        return false;
    };
    let Some(removed) = servers.remove(name) else {
        return false;
    };
    let is_last = servers.is_empty();
    let place = removed.as_table().and_then(Table::position);
    let above = removed
        .as_table()
        .and_then(|table| table.decor().prefix()?.as_str());
    let kept = above.and_then(not_about_it);
    if let Some(servers) = document.get_mut(section).and_then(Item::as_table_mut)
        && is_last
    {
        // A file that says nothing at all would look like a mistake.
        let was_unwritten = servers.is_implicit();
        servers.set_implicit(false);
        servers.set_dotted(false);
        if let (true, Some(place)) = (was_unwritten, place) {
            // It stands where the server stood, below what is said of the whole file.
            servers.set_position(Some(place));
            if let Some(kept) = kept {
                servers.decor_mut().set_prefix(format!("{kept}\n"));
            }
            return true;
        }
    }
    if let (Some(place), Some(kept)) = (place, kept) {
        put_before_next(document, place, kept);
    }
    true
}

/// Of what stands above a table the part that an empty line separates from it: that is about something else.
fn not_about_it(above: &str) -> Option<&str> {
    let own = above
        .rsplit_once("\n\n")
        .map_or(0, |(before, _)| before.len() + 1);
    let kept = &above[..own];
    kept.contains('#').then_some(kept)
}

/// Puts text before the table that came next, or at the end.
fn put_before_next(document: &mut DocumentMut, position: isize, text: &str) {
    let mut next = None;
    next_table(document.as_table_mut(), position, &mut next);
    match next {
        Some((_, table)) => {
            let own = table.decor().prefix().and_then(|prefix| prefix.as_str());
            let prefix = format!("{text}{}", own.unwrap_or_default());
            table.decor_mut().set_prefix(prefix);
        }
        None => {
            let trailing = document.trailing().as_str().unwrap_or_default();
            let trailing = format!("{text}{trailing}");
            document.set_trailing(trailing);
        }
    }
}

/// The table with the least position above this one.
fn next_table<'t>(table: &'t mut Table, after: isize, next: &mut Option<(isize, &'t mut Table)>) {
    for (_, item) in TableLike::iter_mut(table) {
        match item {
            Item::Table(table) => visit(table, after, next),
            Item::ArrayOfTables(tables) => tables
                .iter_mut()
                .for_each(|table| visit(table, after, next)),
            Item::None | Item::Value(_) => {}
        }
    }
}

fn visit<'t>(table: &'t mut Table, after: isize, next: &mut Option<(isize, &'t mut Table)>) {
    let position = table.position().filter(|position| *position > after);
    let is_nearer = |position| next.as_ref().is_none_or(|(nearest, _)| position < *nearest);
    match position.filter(|position| is_nearer(*position) && !table.is_implicit()) {
        // Its own tables stand below it.
        Some(position) => *next = Some((position, table)),
        None => next_table(table, after, next),
    }
}
