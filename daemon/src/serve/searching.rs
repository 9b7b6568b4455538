//! What `search_tools` answers: a text for a model, with whole schemas as long as they fit.
//!
//! It knows how an answer is written, not how entries are ranked.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Deserialize;
use serde_json::value::RawValue;
use skills::entry_id::EntryId;
use skills::index::estimate;
use skills::json::Json;
use skills::problem::Problem;

use super::Connection;
use super::instructions::namespaces;
use super::tools::SearchArguments;
use crate::protocol::{
    Answer, Describe, Description, EntryKind, ListFilter, Listing, Load, Search,
};

/// How many tokens the schemas of an answer may cost together, as they are counted here. What does not fit is a line each, and so
/// is what a list holds.
const BUDGET: usize = 4_000;

/// How long a search that found nothing waits for servers which have not said their tools yet, and one for an id for the server of that, in
/// milliseconds.
const WAIT_MS: u64 = 10_000;

/// Answers a search.
///
/// # Errors
/// What the daemon answers, or that it does not.
pub(super) fn search(
    connection: &mut dyn Connection,
    asked: &SearchArguments,
) -> Result<String, Problem> {
    let words = asked.query.trim();
    if words.is_empty() {
        return browse(connection, asked);
    }
    let exact = exact(connection, words)?;
    let mut page = Page::default();
    if let Some(description) = &exact {
        page.push_whole(description);
    }
    let found = find(connection, asked, words, exact.as_ref())?;
    if exact.is_none() && found.matches.is_empty() {
        return nothing(connection, asked, words, &found);
    }
    // Who asks for one by its id has no use for the schemas of others.
    let left = if exact.is_some() { 0 } else { BUDGET };
    page.push_matches(connection, &found, left);
    page.push_servers(&found);
    page.push_unknown(&found.unknown);
    Ok(page.text)
}

/// The entry that has these words for its id. It is handed out whole, whatever it costs.
fn exact(connection: &mut dyn Connection, words: &str) -> Result<Option<Description>, Problem> {
    if !words.contains('/') {
        return Ok(None);
    }
    let Some(described) = describe(connection, words, WAIT_MS) else {
        return Ok(None);
    };
    if described.id.as_str() != words {
        return Ok(None);
    }
    let load = Load {
        entries: vec![words.to_owned()],
    };
    Ok(connection.load(&load)?.entries.into_iter().next())
}

fn describe(connection: &mut dyn Connection, entry: &str, wait_ms: u64) -> Option<Description> {
    let asked = Describe {
        entry: entry.to_owned(),
        shown: false,
        wait_ms,
    };
    connection.describe(&asked).ok()
}

fn find(
    connection: &mut dyn Connection,
    asked: &SearchArguments,
    words: &str,
    exact: Option<&Description>,
) -> Result<Answer, Problem> {
    let mut search = Search {
        words: words.to_owned(),
        limit: asked.limit(),
        kind: asked.kind,
        server: asked.server.clone(),
        lexical: false,
        exclude: exact.map(|exact| exact.id.clone()).into_iter().collect(),
        wait_ms: 0,
    };
    let found = connection.search(&search)?;
    if exact.is_some() || !found.matches.is_empty() || found.unknown.is_empty() {
        return Ok(found);
    }
    search.wait_ms = WAIT_MS;
    connection.search(&search)
}

/// What a model reads when nothing matched: it is an answer, and no error.
fn nothing(
    connection: &mut dyn Connection,
    asked: &SearchArguments,
    words: &str,
    found: &Answer,
) -> Result<String, Problem> {
    if asked.server.is_some() {
        // A server that there is not has no matches either, and that is an error: its names are told.
        connection.list(&ListFilter {
            server: asked.server.clone(),
            kind: asked.kind,
        })?;
    }
    let mut page = Page {
        text: format!(
            "Nothing matched `{words}`. Try other words; an empty query lists what there is, with `server` or `kind` its entries.\n"
        ),
    };
    if !found.servers.is_empty() {
        page.text.push_str("\nThe nearest servers:\n");
    }
    for server in &found.servers {
        let about = match server.about.as_str() {
            "" => String::new(),
            about => format!(" — {about}"),
        };
        let _ = writeln!(page.text, "- {}{about}", server.name);
    }
    page.push_unknown(&found.unknown);
    Ok(page.text)
}

/// What there is, without a search.
fn browse(connection: &mut dyn Connection, asked: &SearchArguments) -> Result<String, Problem> {
    if asked.server.is_none() && asked.kind.is_none() {
        return Ok(namespaces(&connection.status()?));
    }
    let Listing { entries, unknown } = connection.list(&ListFilter {
        server: asked.server.clone(),
        kind: asked.kind,
    })?;
    let mut page = Page::default();
    if entries.is_empty() {
        page.text.push_str("There is nothing.\n");
    }
    for (position, entry) in entries.iter().enumerate() {
        let line = line(&entry.id, &entry.summary);
        let is_full = position == asked.longest_list();
        if is_full || estimate(&page.text) + estimate(&line) > BUDGET {
            let rest = entries.len() - position;
            let _ = writeln!(page.text, "and {rest} more: find them by words");
            break;
        }
        page.text.push_str(&line);
    }
    page.push_unknown(&unknown);
    Ok(page.text)
}

fn line(id: &EntryId, summary: &str) -> String {
    match summary {
        "" => format!("- {id}\n"),
        summary => format!("- {id} — {summary}\n"),
    }
}

/// The text of an answer as it grows.
#[derive(Debug, Default)]
struct Page {
    text: String,
}

impl Page {
    /// An entry whole: a tool with its schema, a skill with its text.
    fn push_whole(&mut self, description: &Description) {
        let text = match description.kind {
            EntryKind::Tool => tool(description),
            EntryKind::Skill => format!("## {}\n{}", description.id, description.text),
        };
        self.push_part(&text);
    }

    /// The matches: in order as long as they fit what is left, then a line for each of the others.
    fn push_matches(&mut self, connection: &mut dyn Connection, found: &Answer, mut left: usize) {
        let mut whole = Vec::new();
        let mut rest = Vec::new();
        for matched in &found.matches {
            if matched.kind == EntryKind::Skill {
                let text = format!(
                    "## {}\n{}\nA skill: {} with this id gives its text.",
                    matched.id,
                    matched.summary,
                    super::tools::CALL
                );
                let cost = estimate(&text);
                if cost <= left {
                    left -= cost;
                    whole.push((matched, Some(text)));
                } else {
                    rest.push(matched);
                }
                continue;
            }
            // Looked at first, so that only what is handed out is logged as that.
            let cost = describe(connection, matched.id.as_str(), 0)
                .map(|description| estimate(&tool(&description)));
            match cost {
                Some(cost) if cost <= left => {
                    left -= cost;
                    whole.push((matched, None));
                }
                _ => rest.push(matched),
            }
        }
        let tools: Vec<_> = whole
            .iter()
            .filter(|(_, text)| text.is_none())
            .map(|(matched, _)| matched.id.to_string())
            .collect();
        let mut loaded = Vec::new();
        if !tools.is_empty() {
            // An entry that went away since then is a line, and so are those that came with it.
            loaded = connection
                .load(&Load { entries: tools })
                .map_or_else(|_| Vec::new(), |loaded| loaded.entries);
        }
        for (matched, text) in whole {
            let handed = loaded.iter().find(|loaded| loaded.id == matched.id);
            match (text, handed) {
                (Some(text), _) => self.push_part(&text),
                (None, Some(description)) => self.push_part(&tool(description)),
                (None, None) => rest.push(matched),
            }
        }
        if rest.is_empty() {
            return;
        }
        let lines: String = rest
            .iter()
            .map(|matched| line(&matched.id, &matched.summary))
            .collect();
        let head = if self.text.is_empty() {
            "Found"
        } else {
            "Also found"
        };
        self.push_part(&format!(
            "{head}, without schemas (search for an exact id to get its own):\n{lines}"
        ));
    }

    /// Where more matches are than were given.
    fn push_servers(&mut self, found: &Answer) {
        let matches: usize = found.servers.iter().map(|server| server.matches).sum();
        if matches <= found.matches.len() {
            return;
        }
        let servers: Vec<_> = found
            .servers
            .iter()
            .map(|server| format!("{} {}", server.name, server.matches))
            .collect();
        self.push_part(&format!("All matches by server: {}.", servers.join(", ")));
    }

    fn push_unknown(&mut self, unknown: &[String]) {
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            self.push_part(&format!(
                "Not searched, since their tools are not known yet: {names}."
            ));
        }
    }

    fn push_part(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }
}

/// A tool: its id, what it does, and its schema with every token as its server wrote it.
fn tool(description: &Description) -> String {
    #[derive(Default, Deserialize)]
    struct Tool<'a> {
        #[serde(borrow, default)]
        description: Option<Cow<'a, str>>,
    }
    let id = &description.id;
    let known: Tool<'_> = description
        .tool
        .as_ref()
        .and_then(|tool| serde_json::from_str(tool.raw.get()).ok())
        .unwrap_or_default();
    let mut text = format!("## {id}\n");
    if let Some(words) = known.description.as_deref().map(str::trim)
        && !words.is_empty()
    {
        text.push_str(words);
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "inputSchema: {}",
        schema(description).unwrap_or_default()
    );
    text
}

/// The `inputSchema` of a tool without white space.
pub(super) fn schema(description: &Description) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tool<'a> {
        #[serde(borrow)]
        input_schema: &'a RawValue,
    }
    let raw = &description.tool.as_ref()?.raw;
    let tool: Tool<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(Json::parse(tool.input_schema).compact().into_owned())
}
