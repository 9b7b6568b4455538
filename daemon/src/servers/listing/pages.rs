//! The pages of a list: asked for one after another, each item kept as the bytes that were sent.
//!
//! It knows nothing of what the items are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams,
};
use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::problem::Problem;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::servers::connection::{Connection, RequestError};
use crate::servers::failure;
use crate::servers::ticket::Ticket;

/// How many pages are read; a server that goes on for ever must end somewhere.
const MAX_PAGES: usize = 1_000;
/// "Method not found": how a server without such a list answers.
const METHOD_NOT_FOUND: i64 = -32601;

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::servers) enum List {
    /// `tools/list`.
    Tools,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
    /// `prompts/list`.
    Prompts,
}

impl List {
    /// What is listed, in the plural.
    pub(in crate::servers) const fn what(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resource templates",
            Self::Prompts => "prompts",
        }
    }

    /// The member of a page that holds the items.
    const fn key(self) -> &'static str {
        match self {
            Self::Templates => "resourceTemplates",
            Self::Tools | Self::Resources | Self::Prompts => self.what(),
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        // The first page is asked for without a cursor; an empty string is a cursor like any other.
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params)),
            Self::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
            }
            Self::Templates => ClientRequest::ListResourceTemplatesRequest(
                ListResourceTemplatesRequest::with_param(params),
            ),
            Self::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params))
            }
        }
    }
}

/// What was read of a list.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The items of all pages, in order.
    pub(super) items: Vec<Arc<RawValue>>,
    /// Why there may be more.
    pub(super) stopped: Option<&'static str>,
}

/// Reads a list. A server that knows no such method has none, unless it says that it has tools: of the others many declare more than
/// they have.
///
/// # Errors
/// When a page is refused, unreadable or late. A cursor that repeats and too many pages are no errors: what was read counts.
pub(super) async fn read(
    list: List,
    server: &ServerName,
    connection: &Connection,
    deadline: Instant,
    cancelled: &CancellationToken,
) -> Result<Pages, Problem> {
    let what = list.what();
    let mut pages = Pages::default();
    let mut cursors = HashSet::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let ticket = Ticket::new(None);
        let request = list.request(cursor.take());
        let reply = connection
            .request(request, ticket, deadline, cancelled)
            .await;
        let raw = match reply {
            Ok(raw) => raw,
            Err(RequestError::Refused(error))
                if error.code == METHOD_NOT_FOUND
                    && (list != List::Tools || !connection.declares(list)) =>
            {
                return Ok(pages);
            }
            Err(error) => return Err(failure::of_listing(server, what, error)),
        };
        let unreadable = |error: serde_json::Error| {
            failure::server(server, format!("its list of {what} can't be read: {error}"))
        };
        let mut page: HashMap<String, Box<RawValue>> =
            serde_json::from_str(raw.get()).map_err(unreadable)?;
        let items = page.remove(list.key());
        let items = items.as_ref().map_or("null", |items| items.get());
        let items: Vec<Box<RawValue>> = serde_json::from_str(items).map_err(unreadable)?;
        pages.items.extend(items.into_iter().map(Arc::from));
        let Some(next) = page
            .remove("nextCursor")
            .filter(|next| next.get() != "null")
        else {
            return Ok(pages);
        };
        let Ok(next) = serde_json::from_str::<String>(next.get()) else {
            pages.stopped = Some("has a cursor that is not a string");
            return Ok(pages);
        };
        if !cursors.insert(next.clone()) {
            pages.stopped = Some("repeats a cursor");
            return Ok(pages);
        }
        cursor = Some(next);
    }
    pages.stopped = Some("has too many pages");
    Ok(pages)
}
