//! Asking a server for what it has: its tools, then what it offers beside them, item by item.

mod pages;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::offers::{Offered, Offers};
use skills::problem::{Problem, ProblemKind};
use skills::tool::Tool;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) use self::pages::List;
use super::connection::Connection;
use super::failure;

/// How long the lists of resources and prompts may take together: whoever calls a tool waits for them, and needs none of them.
const OFFERS_LIMIT: Duration = Duration::from_secs(10);

/// What a server has.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The tools that could be read, names unique, in the order in which they were sent.
    pub(super) tools: Vec<Arc<Tool>>,
    /// The lists beside them; one that failed is not known.
    pub(super) offers: Offers,
    /// What was wrong with the others.
    pub(super) problems: Vec<Problem>,
}

/// One server, while it is asked.
#[derive(Clone, Copy)]
struct Inquiry<'a> {
    server: &'a ServerName,
    connection: &'a Connection,
    deadline: Instant,
    cancelled: &'a CancellationToken,
}

/// Lists what a server has.
///
/// # Errors
/// When a page of its tools is refused, unreadable or late. A tool that can't be read, a cursor that repeats and too many pages are
/// problems beside what was read, and so is all that is wrong with the other lists.
pub(super) async fn list(
    server: &ServerName,
    connection: &Connection,
    deadline: Instant,
    cancelled: &CancellationToken,
) -> Result<Listing, Problem> {
    let mut listing = Listing::default();
    let inquiry = Inquiry {
        server,
        connection,
        deadline,
        cancelled,
    };
    listing.ask_for_tools(inquiry).await?;
    listing.ask_for_offers(inquiry).await;
    Ok(listing)
}

impl Inquiry<'_> {
    async fn pages(self, list: List) -> Result<pages::Pages, Problem> {
        pages::read(
            list,
            self.server,
            self.connection,
            self.deadline,
            self.cancelled,
        )
        .await
    }
}

impl Listing {
    async fn ask_for_tools(&mut self, inquiry: Inquiry<'_>) -> Result<(), Problem> {
        let pages = inquiry.pages(List::Tools).await?;
        let mut names = HashSet::new();
        for (position, raw) in pages.items.into_iter().enumerate() {
            self.take(inquiry, position, raw, &mut names);
        }
        self.note_end(inquiry, pages.stopped, List::Tools, self.tools.len());
        Ok(())
    }

    fn take(
        &mut self,
        Inquiry {
            server, connection, ..
        }: Inquiry<'_>,
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

    /// Asks for what the server says that it has. Whatever fails, its tools are there.
    async fn ask_for_offers(&mut self, inquiry: Inquiry<'_>) {
        let inquiry = Inquiry {
            deadline: inquiry.deadline.min(Instant::now() + OFFERS_LIMIT),
            ..inquiry
        };
        self.offers = if inquiry.connection.declares(List::Resources) {
            Offers {
                resources: self.ask_for(inquiry, List::Resources).await,
                templates: self.ask_for(inquiry, List::Templates).await,
                prompts: None,
            }
        } else {
            Offers {
                resources: Some(Vec::new()),
                templates: Some(Vec::new()),
                prompts: None,
            }
        };
        self.offers.prompts = if inquiry.connection.declares(List::Prompts) {
            self.ask_for(inquiry, List::Prompts).await
        } else {
            Some(Vec::new())
        };
    }

    /// Asks for one list; `None` when it can't be had, which is a problem.
    async fn ask_for<T: Offered>(
        &mut self,
        inquiry: Inquiry<'_>,
        list: List,
    ) -> Option<Vec<Arc<T>>> {
        let server = inquiry.server;
        let pages = match inquiry.pages(list).await {
            Ok(pages) => pages,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        let mut keys = HashSet::new();
        let mut read = Vec::new();
        for (position, raw) in pages.items.into_iter().enumerate() {
            match T::parse(server, position, raw) {
                Ok(item) if keys.insert(item.key().to_owned()) => read.push(Arc::new(item)),
                Ok(item) => {
                    let message = format!(
                        "its list of {} has {} twice, the first is used",
                        list.what(),
                        item.key()
                    );
                    self.problems.push(
                        Problem::new(ProblemKind::MalformedOffer, message)
                            .at_server(server.as_str(), None),
                    );
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        self.note_end(inquiry, pages.stopped, list, read.len());
        Some(read)
    }

    fn note_end(&mut self, inquiry: Inquiry<'_>, stopped: Option<&str>, list: List, read: usize) {
        if let Some(why) = stopped {
            let what = list.what();
            let message =
                format!("its list of {what} {why}; the {read} {what} read so far are shown");
            self.problems.push(failure::server(inquiry.server, message));
        }
    }
}
