//! How a server lives: who shares it, and what becomes of it when it failed.
//!
//! It must not know processes.

use super::node::{Fault, Node};

/// Who shares one instance of a server (`share`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// Everybody who uses the shelf.
    #[default]
    All,
    /// The calls of one session: a browser or a database session of one agent is not another's.
    Session,
}

/// What becomes of a server that crashed or could not be started (`restart`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// The next call starts it; after failing starts not before a while.
    #[default]
    OnCall,
    /// Nothing starts it but `shelf servers restart` and an edit of its entry.
    Never,
}

impl Share {
    /// Every value as it is written.
    const NAMES: [(&'static str, Self); 2] = [("all", Self::All), ("session", Self::Session)];

    pub(super) fn read(node: Node<'_>, what: &str) -> Result<Self, Fault> {
        choose(node, what, &Self::NAMES)
    }
}

impl Restart {
    /// Every value as it is written.
    const NAMES: [(&'static str, Self); 2] = [("on-call", Self::OnCall), ("never", Self::Never)];

    pub(super) fn read(node: Node<'_>, what: &str) -> Result<Self, Fault> {
        choose(node, what, &Self::NAMES)
    }
}

fn choose<T: Copy>(node: Node<'_>, what: &str, names: &[(&str, T)]) -> Result<T, Fault> {
    let text = node.text(what)?;
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> = names
            .iter()
            .map(|(name, _)| format!("\"{name}\""))
            .collect();
        Fault::new(
            node.line(),
            format!("{what} can't be \"{}\"", text.escape_debug()),
        )
        .hint(format!("write {}", known.join(" or ")))
    })
}
