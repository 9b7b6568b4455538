//! What a server offers beside its tools: resources, templates of resources, and prompts, each as the server sent it.
//!
//! None of it is an entry: it is listed in two files of its server and has no id but theirs. This knows neither how the lists are
//! fetched nor how a resource is read.

mod page;
mod prompt;
mod resource;
#[cfg(test)]
mod tests;
mod uri;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::entry_id::{EntryId, ServerName};
use crate::json::{self, Json};
use crate::problem::{Problem, ProblemKind};
use crate::summary::{is_invisible, summarize};
use crate::tool::Hints;

pub(crate) use page::{index_line, prompts, resources};
pub use page::{prompt_command, read_command};
pub use prompt::{Prompt, PromptArgument};
pub use resource::{Resource, Template};
pub use uri::check as check_uri;

/// What a user can do about something that its server describes wrongly.
const REPORT_HINT: &str = "the server's others work; report this one to the server's authors";

/// The two kinds of what is offered. Each is one file of its server, and one id that a policy judges by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Resources and their templates.
    Resources,
    /// Prompts.
    Prompts,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Resources, Self::Prompts];

    /// What stands in the place of a tool's name: the file without its ending.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resources => "RESOURCES",
            Self::Prompts => "PROMPTS",
        }
    }

    /// The id, `github/RESOURCES`. No tool has it, since the layout keeps the name for itself.
    pub fn id(self, server_file_name: &str) -> EntryId {
        EntryId::tool(server_file_name, self.name())
    }

    /// What it is to a policy: it only reads.
    pub const fn hints() -> Hints {
        Hints {
            read_only: Some(true),
            destructive: None,
            idempotent: None,
            open_world: None,
        }
    }
}

/// The lists of a server. `None` is a list that is not known: an earlier version asked for none, or the server failed to give it.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    /// The resources, URIs unique, in the order in which they were sent.
    pub resources: Option<Vec<Arc<Resource>>>,
    /// The templates, each once, in the order in which they were sent.
    pub templates: Option<Vec<Arc<Template>>>,
    /// The prompts, names unique, in the order in which they were sent.
    pub prompts: Option<Vec<Arc<Prompt>>>,
}

impl Offers {
    /// Whether the two would be shown the same, whatever the order.
    pub fn same(&self, other: &Self) -> bool {
        same(&self.resources, &other.resources)
            && same(&self.templates, &other.templates)
            && same(&self.prompts, &other.prompts)
    }

    /// The same, with what is not known taken from what was known before.
    #[must_use]
    pub fn or(self, before: &Self) -> Self {
        Self {
            resources: self.resources.or_else(|| before.resources.clone()),
            templates: self.templates.or_else(|| before.templates.clone()),
            prompts: self.prompts.or_else(|| before.prompts.clone()),
        }
    }

    /// The resource with this very URI.
    pub fn resource(&self, uri: &str) -> Option<&Arc<Resource>> {
        let mut resources = self.resources.iter().flatten();
        resources.find(|resource| resource.uri == uri)
    }
}

/// One element of a list, with what finds it again.
pub trait Offered: Sized {
    /// Reads one element of a list; `position` counts from 0.
    ///
    /// # Errors
    /// [`ProblemKind::MalformedOffer`] naming the server and the element (or its position) where it can't be used or shown.
    fn parse(server: &ServerName, position: usize, raw: Arc<RawValue>) -> Result<Self, Problem>;

    /// What no two of them share: the URI, the template, the name.
    fn key(&self) -> &str;

    /// The element as the server sent it.
    fn raw(&self) -> &Arc<RawValue>;

    /// The hash of the canonical JSON.
    fn hash(&self) -> &[u8; 32];
}

fn same<T: Offered>(one: &Option<Vec<Arc<T>>>, other: &Option<Vec<Arc<T>>>) -> bool {
    let hashes = |list: &Option<Vec<Arc<T>>>| {
        let mut all: Vec<[u8; 32]> = list.iter().flatten().map(|item| *item.hash()).collect();
        all.sort_unstable();
        (list.is_some(), all)
    };
    hashes(one) == hashes(other)
}

/// What resources, templates and prompts say of themselves alike.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// `title`, else `name`; empty where there is neither.
    pub title: String,
    /// `description`, as sent; empty where there was none.
    pub description: String,
    /// `mimeType`, as sent.
    pub mime: Option<String>,
}

impl Said {
    fn read(json: &Json<'_>) -> Self {
        let text = |name| json.get(name).and_then(Json::string).map(String::from);
        Self {
            title: text("title").or_else(|| text("name")).unwrap_or_default(),
            description: text("description").unwrap_or_default(),
            mime: text("mimeType"),
        }
    }

    /// What it is, on one line: the first sentence of its description, else its title.
    pub fn summary(&self) -> String {
        let summary = summarize(&self.description);
        if summary.is_empty() {
            return summarize(&self.title);
        }
        summary
    }
}

/// The text by which an element is asked for. It must be one that can be shown, since whoever reads it types it.
fn key<'a>(
    json: &Json<'a>,
    (field, what): (&str, &str),
    server: &ServerName,
    position: usize,
) -> Result<Cow<'a, str>, Problem> {
    let text = json.get(field).and_then(Json::string);
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        let message = format!("{what} number {} of the list has no {field}", position + 1);
        return Err(malformed(server, message));
    };
    if text.contains(is_invisible) {
        let message = format!(
            "the {field} of {what} number {} has characters that can't be seen: {text:?}",
            position + 1
        );
        return Err(malformed(server, message));
    }
    Ok(text)
}

fn malformed(server: &ServerName, message: String) -> Problem {
    Problem::new(ProblemKind::MalformedOffer, message)
        .at_server(server.as_str(), None)
        .hint(REPORT_HINT)
}

fn hash(raw: &RawValue) -> [u8; 32] {
    *blake3::hash(json::canonical(raw).as_bytes()).as_bytes()
}
