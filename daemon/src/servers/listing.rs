//! Asking a server for its tools, page by page and tool by tool.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde::Deserialize;
use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::tool::Tool;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestError};
use super::failure;
use super::ticket::Ticket;

/// How many pages are read; a server that goes on for ever must end somewhere.
const MAX_PAGES: usize = 1_000;
/// "Method not found": how a server without tools answers.
const METHOD_NOT_FOUND: i64 = -32601;

/// What a server answered to `tools/list`.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The tools that could be read, names unique, in the order in which they were sent.
    pub(super) tools: Vec<Arc<Tool>>,
    /// What was wrong with the others.
    pub(super) problems: Vec<Problem>,
}

#[derive(Deserialize)]
struct Page {
    tools: Vec<Box<RawValue>>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<Box<RawValue>>,
}

/// Lists a server's tools.
///
/// # Errors
/// When a page is refused, unreadable or late. A tool that can't be read, a cursor that repeats and too many pages are
/// problems beside what was read.
pub(super) async fn list(
    server: &ServerName,
    connection: &Connection,
    deadline: Instant,
    cancelled: &CancellationToken,
) -> Result<Listing, Problem> {
    let mut listing = Listing::default();
    let mut names = HashSet::new();
    let mut cursors = HashSet::new();
    let mut cursor = None;
    let mut position = 0;
    for _ in 0..MAX_PAGES {
        // The first page is asked for without a cursor; an empty string is a cursor like any other.
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        let reply = connection
            .request(request, Ticket::new(None), deadline, cancelled)
            .await;
        let raw = match reply {
            Ok(raw) => raw,
            Err(RequestError::Refused(error))
                if error.code == METHOD_NOT_FOUND && !connection.declares_tools() =>
            {
                return Ok(listing);
            }
            Err(error) => return Err(failure::of_listing(server, error)),
        };
        let page: Page = serde_json::from_str(raw.get()).map_err(|error| {
            failure::server(server, format!("its list of tools can't be read: {error}"))
        })?;
        for raw in page.tools {
            listing.take(server, connection, position, raw.into(), &mut names);
            position += 1;
        }
        let Some(next) = page.next_cursor else {
            return Ok(listing);
        };
        let Ok(next) = serde_json::from_str::<String>(next.get()) else {
            listing.stop(server, "the cursor of its list of tools is not a string");
            return Ok(listing);
        };
        if !cursors.insert(next.clone()) {
            listing.stop(server, "its list of tools repeats a cursor");
            return Ok(listing);
        }
        cursor = Some(next);
    }
    listing.stop(server, "its list of tools has too many pages");
    Ok(listing)
}

impl Listing {
    fn take(
        &mut self,
        server: &ServerName,
        connection: &Connection,
        position: usize,
        raw: Arc<RawValue>,
        names: &mut HashSet<Arc<str>>,
    ) {
        match Tool::parse(server, position, raw) {
            Ok(tool) if names.insert(Arc::clone(&tool.name)) => match connection.admit(&tool) {
                Ok(()) => self.tools.push(Arc::new(tool)),
                Err(fault) => self.problems.push(
                    Problem::new(ProblemKind::MalformedTool, fault)
                        .at_server(server.as_str(), Some(&tool.name))
                        .hint(
                            "the protocol forbids such a tool; report it to the server's authors",
                        ),
                ),
            },
            // Entries that want one name both stay elsewhere. Of these only one could be called: a call says no more to the
            // server than the name.
            Ok(tool) => self.problems.push(
                Problem::new(
                    ProblemKind::MalformedTool,
                    "the server sent two tools of this name, the first is used",
                )
                .at_server(server.as_str(), Some(&tool.name)),
            ),
            Err(problem) => self.problems.push(problem),
        }
    }

    fn stop(&mut self, server: &ServerName, why: &str) {
        let message = format!(
            "{why}; the {} tools read so far are shown",
            self.tools.len()
        );
        self.problems.push(failure::server(server, message));
    }
}
