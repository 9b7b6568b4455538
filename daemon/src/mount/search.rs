//! `search/`: a directory whose names are words and whose files are the answers, made at lookup.
//!
//! It must not know how entries are ranked, which [`Searching`] does on a worker, nor fuser: an answer goes to whoever
//! asked as a node with a number of its own.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use skills::search_page::README;
use skills::tree::{Content, Directory, File, FileName, Node};

use super::view::{ROOT, View};
use desk::{Desk, Reply};

pub(super) use answers::Answer;

mod answers;
mod desk;
#[cfg(test)]
pub(super) mod oracle;
mod words;

/// The name of the directory, in the root of the mount.
const NAME: &str = "search";

/// Ranks what is looked up in `search/`.
pub trait Searching: Send + Sync + 'static {
    /// The generation that an answer would be of now. Never waits: the threads that answer the kernel ask it.
    fn generation(&self) -> u64;

    /// Answers words. Called on a worker thread, may block.
    fn answer(&self, words: &str) -> Found;
}

/// What answers some words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The bytes of the file.
    pub text: String,
    /// How many entries matched, for the log.
    pub matches: usize,
}

/// The directory, its answers, and the threads that make them.
#[derive(Debug)]
pub(super) struct SearchDirectory {
    directory: Arc<Directory>,
    desk: Desk,
}

impl SearchDirectory {
    /// Starts the threads that answer.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub(super) fn start(tree: &Directory, searching: Arc<dyn Searching>) -> io::Result<Self> {
        Ok(Self {
            directory: listed(first_seen(tree)),
            desk: Desk::start(searching)?,
        })
    }

    /// A tree with the directory in it.
    pub(super) fn add_to(&self, tree: &Arc<Directory>) -> Arc<Directory> {
        let own = (
            NAME.as_bytes().into(),
            Node::Directory(Arc::clone(&self.directory)),
        );
        // First, for of two children with one name the first stays.
        let children = std::iter::once(own).chain(tree.children().iter().cloned());
        Arc::new(Directory::new(children.collect(), tree.modified))
    }

    /// The words that a name is, if it is looked up in this directory and is words. What the directory lists is found before.
    pub(super) fn words<'a>(&self, view: &View, parent: u64, name: &'a OsStr) -> Option<&'a str> {
        let directory = view.lookup(ROOT, OsStr::new(NAME)).ok()??;
        if directory.inode == parent {
            words::of(name)
        } else {
            None
        }
    }

    /// Answers the words of a name: at once when the answer is at hand or there are too many searches already, else from
    /// another thread. Never waits.
    pub(super) fn ask(&self, directory: u64, words: &str, reply: Reply) {
        self.desk.ask(directory, words, reply);
    }

    /// The answer that has this inode number, unless another has taken its place.
    pub(super) fn answer(&self, inode: u64) -> Option<Arc<Answer>> {
        self.desk.answers().get(inode)
    }
}

/// What the directory lists.
fn listed(modified: SystemTime) -> Arc<Directory> {
    let file = File {
        content: Content::Bytes(README.as_bytes().into()),
        mode: 0o444,
        modified,
        volatile: false,
        entry: None,
        origin: None,
    };
    let readme: (FileName, Node) = (b"README.md".as_slice().into(), Node::File(Arc::new(file)));
    Arc::new(Directory::new(vec![readme], modified))
}

/// When the texts that come with the program were first seen, which is kept across mounts for the README.md of the mount.
fn first_seen(tree: &Directory) -> SystemTime {
    match tree.get(b"README.md") {
        Some(Node::File(readme)) => readme.modified,
        Some(Node::Directory(_) | Node::Link(_)) | None => tree.modified,
    }
}
