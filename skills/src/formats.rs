//! The forms in which definitions are handed to harnesses: XML for a prompt, and the tool definitions of providers and of MCP.
//!
//! Pure: it must not know how an entry was found, who is told, or where the text goes. What a provider asks for is linked
//! where it is done.

mod anthropic;
mod mcp;
pub mod names;
mod openai;
mod schema;
#[cfg(test)]
mod tests;
mod xml;

use std::path::PathBuf;

use crate::catalog::EntryKind;
use crate::entry_id::EntryId;
use crate::tool::Tool;

pub use self::xml::{CallError, call_error};

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format<'a> {
    /// XML for a prompt: tools with their schemas, skills as `<available_skills>`.
    Xml,
    /// Deferred tool definitions of Anthropic's Messages API, and the references for the result of a search.
    Anthropic,
    /// Function definitions of OpenAI's Responses API; with the id of a `tool_search_call` the item that answers it.
    OpenAi {
        /// The `call_id` of the `tool_search_call`.
        call_id: Option<&'a str>,
    },
    /// The Tool objects as their servers sent them.
    Mcp,
}

impl Format<'_> {
    /// Whether it has a place for entries of this kind: providers and MCP know tools alone.
    pub const fn takes(self, kind: EntryKind) -> bool {
        matches!((self, kind), (Self::Xml, _) | (_, EntryKind::Tool))
    }

    /// Whether the model gets to read a tool's whole definition when it is given in this form.
    ///
    /// A deferred tool of a list is known to the API alone, until a search refers to it.
    pub const fn shows_model(self, occasion: Occasion<'_>, pinned: bool) -> bool {
        match (self, occasion) {
            (Self::Anthropic, Occasion::List) => pinned,
            _ => true,
        }
    }
}

/// Why entries are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion<'a> {
    /// They answer these words.
    Search(&'a str),
    /// They were asked for by name.
    Show,
    /// They are all that there is, or all of a kind or a server.
    List,
}

/// An entry that is given.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its id.
    pub id: EntryId,
    /// Whether the user wants it loaded at once.
    pub pinned: bool,
    /// What it is.
    pub content: Content,
}

/// What an [`Item`] is.
#[derive(Clone, Debug)]
pub enum Content {
    /// A tool.
    Tool {
        /// Its definition.
        tool: Box<Tool>,
        /// What its server says of itself, on one line; may be empty.
        about: String,
    },
    /// A skill.
    Skill {
        /// Its description, as written.
        description: String,
        /// Where its SKILL.md can be read.
        location: PathBuf,
    },
}

/// Entries in some form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text, with its line end.
    pub text: String,
    /// What whoever uses it has to know: what was adapted or left out. One line each.
    pub notes: Vec<String>,
}

/// Writes entries in their order.
pub fn render(format: Format<'_>, occasion: Occasion<'_>, items: &[Item]) -> Rendered {
    let mut notes = Vec::new();
    let text = match format {
        Format::Xml => xml::entries(occasion, items),
        Format::Anthropic => anthropic::definitions(occasion, items, &mut notes),
        Format::OpenAi { call_id } => openai::definitions(call_id, items, &mut notes),
        Format::Mcp => mcp::tools(items),
    };
    let skills = items.iter().filter(|item| item.tool().is_none()).count();
    if skills > 0 && !format.takes(EntryKind::Skill) {
        notes.push(without_skills(skills));
    }
    Rendered { text, notes }
}

/// Says that skills are left out of a form that knows tools alone, and how to have them.
pub fn without_skills(count: usize) -> String {
    let (skills, are) = match count {
        1 => ("skill", "is"),
        _ => ("skills", "are"),
    };
    format!(
        "{count} {skills} {are} left out, since this format knows tools alone: --format xml tells the model of skills, shelf show reads one"
    )
}

impl Item {
    /// The tool with what its server says of itself.
    fn tool(&self) -> Option<(&Tool, &str)> {
        match &self.content {
            Content::Tool { tool, about } => Some((tool, about)),
            Content::Skill { .. } => None,
        }
    }

    /// The part of the id before the slash, and the part behind it.
    fn parts(&self) -> (&str, &str) {
        self.id
            .as_str()
            .split_once('/')
            .unwrap_or(("", self.id.as_str()))
    }
}

/// What a model is told of a tool: its description, else its title.
fn description(tool: &Tool) -> &str {
    match tool.description.as_str() {
        "" => tool.title.as_deref().unwrap_or_default(),
        described => described,
    }
}

/// A value as one line of JSON.
fn line(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).expect("these values have string keys only");
    json + "\n"
}
