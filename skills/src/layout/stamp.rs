//! Makes the nodes of a tree: each with the time at which it was first seen, and the node of the tree before where
//! nothing differs.

use std::sync::Arc;

use crate::catalog::FirstSeen;
use crate::entry_id::EntryId;
use crate::tree::{Content, Directory, File, FileName, Node};

/// What was there before, and the memory of when it was first seen.
pub(super) struct Stamp<'a> {
    previous: Option<&'a Arc<Directory>>,
    first_seen: &'a mut dyn FirstSeen,
}

/// A file but for its time.
struct Rendered<'a> {
    bytes: Arc<[u8]>,
    mode: u32,
    volatile: bool,
    entry: Option<&'a EntryId>,
}

impl<'a> Rendered<'a> {
    fn text(text: String, entry: Option<&'a EntryId>) -> Self {
        Self {
            bytes: text.into_bytes().into(),
            mode: 0o444,
            volatile: false,
            entry,
        }
    }
}

impl<'a> Stamp<'a> {
    pub(super) fn new(
        previous: Option<&'a Arc<Directory>>,
        first_seen: &'a mut dyn FirstSeen,
    ) -> Self {
        Self {
            previous,
            first_seen,
        }
    }

    /// A rendered file, as a child of its directory.
    pub(super) fn file(
        &mut self,
        path: &str,
        text: String,
        entry: Option<&EntryId>,
    ) -> (FileName, Node) {
        self.rendered(path, Rendered::text(text, entry))
    }

    /// A rendered file that the kernel must look up anew each time.
    pub(super) fn volatile_file(&mut self, path: &str, text: String) -> (FileName, Node) {
        let rendered = Rendered {
            volatile: true,
            ..Rendered::text(text, None)
        };
        self.rendered(path, rendered)
    }

    /// A file to be run, which calls its entry.
    pub(super) fn program(
        &mut self,
        path: &str,
        bytes: &Arc<[u8]>,
        entry: &EntryId,
    ) -> (FileName, Node) {
        let rendered = Rendered {
            bytes: Arc::clone(bytes),
            mode: 0o555,
            volatile: false,
            entry: Some(entry),
        };
        self.rendered(path, rendered)
    }

    /// The file of before where it is the same, else a new one with the time at which it was first seen.
    fn rendered(&mut self, path: &str, rendered: Rendered<'_>) -> (FileName, Node) {
        let Rendered { bytes, entry, .. } = rendered;
        if let Some(Node::File(file)) = self.before(path)
            && let Content::Bytes(before) = &file.content
            && *before == bytes
            && file.entry.as_ref() == entry
        {
            return (last_part(path), Node::File(file));
        }
        let modified = self
            .first_seen
            .first_seen(path, blake3::hash(&bytes).as_bytes());
        let file = File {
            content: Content::Bytes(bytes),
            mode: rendered.mode,
            modified,
            volatile: rendered.volatile,
            entry: entry.cloned(),
            origin: None,
        };
        (last_part(path), Node::File(Arc::new(file)))
    }

    /// A directory, as a child of its own directory.
    pub(super) fn directory(
        &mut self,
        path: &str,
        children: Vec<(FileName, Node)>,
    ) -> (FileName, Node) {
        let before = match self.before(path) {
            Some(Node::Directory(directory)) => Some(directory),
            Some(Node::File(_) | Node::Link(_)) | None => None,
        };
        let directory = self.share_or_make(path, children, before);
        (last_part(path), Node::Directory(directory))
    }

    /// The directory of everything.
    pub(super) fn root(&mut self, children: Vec<(FileName, Node)>) -> Arc<Directory> {
        self.share_or_make("", children, self.previous.cloned())
    }

    fn share_or_make(
        &mut self,
        path: &str,
        children: Vec<(FileName, Node)>,
        before: Option<Arc<Directory>>,
    ) -> Arc<Directory> {
        let mut directory = Directory::new(children, std::time::SystemTime::UNIX_EPOCH);
        if let Some(before) = before
            && same_children(&before, &directory)
        {
            return before;
        }
        // What a directory's own time tells is which names it has, as on a disk.
        let mut names = blake3::Hasher::new();
        for (name, _) in directory.children() {
            names.update(name).update(b"/");
        }
        directory.modified = self
            .first_seen
            .first_seen(path, names.finalize().as_bytes());
        Arc::new(directory)
    }

    fn before(&self, path: &str) -> Option<Node> {
        self.previous?.find(path.as_bytes())
    }
}

fn same_children(a: &Directory, b: &Directory) -> bool {
    a.children().len() == b.children().len()
        && std::iter::zip(a.children(), b.children())
            .all(|((a_name, a), (b_name, b))| a_name == b_name && same_node(a, b))
}

fn same_node(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::Directory(a), Node::Directory(b)) => Arc::ptr_eq(a, b),
        (Node::File(a), Node::File(b)) => Arc::ptr_eq(a, b),
        (Node::Link(a), Node::Link(b)) => Arc::ptr_eq(a, b),
        (Node::Directory(_) | Node::File(_) | Node::Link(_), _) => false,
    }
}

fn last_part(path: &str) -> FileName {
    let name = path.rsplit_once('/').map_or(path, |(_, last)| last);
    name.as_bytes().into()
}
