//! Which entries are left off the shelf: asked when they are given their place, so that nothing made from the catalog has them.
//!
//! It knows that somebody decides, not by what rules.

use std::fmt::Debug;
use std::sync::Arc;

use crate::entry_id::{EntryId, ServerName};
use crate::offers::{self, Offers};
use crate::tool::Tool;

/// Decides which entries are left off the shelf. The answer must follow from the arguments alone.
pub trait Hides: Debug + Send + Sync {
    /// Whether a tool is left out.
    fn hides_tool(&self, server: &ServerName, id: &EntryId, tool: &Tool) -> bool;

    /// Whether the file is left out that lists what a server offers of one kind, and with it all of that kind.
    fn hides_offers(&self, server: &ServerName, id: &EntryId, kind: offers::Kind) -> bool;

    /// Whether a skill is left out.
    fn hides_skill(&self, id: &EntryId) -> bool;

    /// The rules as text: of two that say the same, both decide the same.
    fn rules(&self) -> String;
}

/// Who decides it, if anybody does.
#[derive(Clone, Debug, Default)]
pub struct Hiding(Option<Arc<dyn Hides>>);

impl Hiding {
    /// Leaves it to one who decides.
    pub fn by(decides: Arc<dyn Hides>) -> Self {
        Self(Some(decides))
    }

    /// Whether the two are the very same, so that what was placed by one stands under the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// The rules as text; empty where nobody decides.
    pub(crate) fn rules(&self) -> String {
        let decides = self.0.as_ref();
        decides.map_or_else(String::new, |decides| decides.rules())
    }

    /// Whether a tool is left out.
    pub fn tool(&self, server: &ServerName, id: &EntryId, tool: &Tool) -> bool {
        let decides = self.0.as_ref();
        decides.is_some_and(|decides| decides.hides_tool(server, id, tool))
    }

    /// Whether what a server offers of one kind is left out.
    pub fn offers(&self, server: &ServerName, id: &EntryId, kind: offers::Kind) -> bool {
        let decides = self.0.as_ref();
        decides.is_some_and(|decides| decides.hides_offers(server, id, kind))
    }

    /// What a server offers beside its tools, without what is left out.
    pub fn shown_offers(&self, server: &ServerName, file_name: &str, offers: &Offers) -> Offers {
        let is_shown = |kind: offers::Kind| !self.offers(server, &kind.id(file_name), kind);
        let resources = is_shown(offers::Kind::Resources);
        let prompts = is_shown(offers::Kind::Prompts);
        Offers {
            resources: offers.resources.clone().filter(|_| resources),
            templates: offers.templates.clone().filter(|_| resources),
            prompts: offers.prompts.clone().filter(|_| prompts),
        }
    }

    /// Whether a skill is left out.
    pub fn skill(&self, id: &EntryId) -> bool {
        let decides = self.0.as_ref();
        decides.is_some_and(|decides| decides.hides_skill(id))
    }
}

#[cfg(test)]
mod tests;
