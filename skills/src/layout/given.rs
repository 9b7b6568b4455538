//! What decides beside the definitions how entries are shown: the user's words about them, and the counts that are known.

use std::collections::BTreeMap;

use crate::catalog::{EntryOptions, Hiding};
use crate::entry_id::EntryId;
use crate::index::{Line, TokenCounter, Tokens};
use crate::summary::{one_line, shorten};

/// What is given, and whether it is what the layout before was made with.
pub(super) struct Given<'a> {
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) entries: &'a BTreeMap<EntryId, EntryOptions>,
    pub(super) hiding: &'a Hiding,
    /// Whether both are those of the layout before.
    pub(super) same_entries: bool,
    /// Without this, what was estimated may be counted by now.
    pub(super) same_counts: bool,
}

impl Given<'_> {
    /// An entry's line, by the user's words where there are any.
    pub(super) fn line(&self, id: &EntryId, summary: String) -> Line {
        line(self.entries, id, summary)
    }

    /// Whether something that was made before can stand as far as its counts go.
    pub(super) fn keeps(&self, is_counted: bool) -> bool {
        is_counted || self.same_counts
    }

    pub(super) fn tokens(&self, text: &str) -> Tokens {
        Tokens::of(text, self.counter)
    }
}

/// An entry's line, by what the user says of entries.
pub(super) fn line(
    entries: &BTreeMap<EntryId, EntryOptions>,
    id: &EntryId,
    summary: String,
) -> Line {
    let options = entries.get(id);
    let text = |text: Option<&String>| {
        let text = text.map(|text| one_line(text));
        text.filter(|text| !text.is_empty())
    };
    let own = text(options.and_then(|options| options.summary.as_ref()));
    Line {
        id: id.clone(),
        summary: own.map_or(summary, |own| shorten(&own)),
        heading: text(options.and_then(|options| options.group.as_ref())).map(Into::into),
        pin: options.is_some_and(|options| options.pin),
    }
}
