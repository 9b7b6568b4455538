//! The view: one tree with inode numbers, immutable, and what changes from one view to the next.
//!
//! It knows nothing of fuser. Numbers are small, given out when a tree is adopted and never twice: a changed file takes a
//! new one, a directory keeps its own for the life of its path. Subtrees that two trees share are not walked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use skills::tree::{Directory, File, FileName, Link};

use super::inode_table::InodeTable;
use super::refusal::Refusal;

mod adoption;
#[cfg(test)]
mod tests;

/// The root's inode number, which FUSE prescribes.
pub(super) const ROOT: u64 = 1;

/// The longest name that any file system of Linux has.
pub(super) const MAX_NAME: usize = 255;

/// The block size that files are said to occupy.
pub(super) const BLOCK: u64 = 4096;

/// The longest target that ext4 keeps in the inode, without a block.
const MAX_INLINE_TARGET: usize = 59;

/// The cookies of the two entries that every directory has; those of children follow.
const DOT: u64 = 1;
const DOT_DOT: u64 = 2;
const FIRST_COOKIE: u64 = 3;

/// What a tree occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Blocks of [`BLOCK`] bytes.
    pub(super) blocks: u64,
    /// Files, directories and links.
    pub(super) nodes: u64,
}

/// One generation of the mount.
#[derive(Debug)]
pub(super) struct View {
    nodes: InodeTable<ViewNode>,
    next_inode: u64,
    usage: Usage,
}

/// A node with its number and its place.
#[derive(Debug)]
pub(super) struct ViewNode {
    pub(super) inode: u64,
    parent: u64,
    name: FileName,
    pub(super) body: Body,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Body {
    Directory(DirectoryBody),
    File(Arc<File>),
    Link(Arc<Link>),
}

/// A directory with the numbers of its children.
#[derive(Debug)]
pub(super) struct DirectoryBody {
    pub(super) tree: Arc<Directory>,
    pub(super) subdirectories: usize,
    /// The children's inode numbers, in the order of `tree.children()`.
    inodes: Box<[u64]>,
    /// The children's readdir cookies and places in `tree.children()`, by cookie. A name keeps its cookie as long as it
    /// stays, and new names come last: a listing that goes on after a publish neither skips nor repeats a name that stayed.
    order: Box<[(u64, usize)]>,
    next_cookie: u64,
}

/// A directory whose names or attributes differ from those in the view before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) directory: u64,
    /// The names that were added, removed or now lead to another inode.
    pub(super) names: Vec<FileName>,
}

/// One entry of a listing.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    /// Where the listing goes on after this entry.
    pub(super) cookie: u64,
    pub(super) name: &'a [u8],
    pub(super) node: &'a Arc<ViewNode>,
}

impl View {
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) fn get(&self, inode: u64) -> Result<&Arc<ViewNode>, Refusal> {
        self.nodes.get(inode).ok_or(Refusal::Stale)
    }

    /// The directory with this number, and its body.
    pub(super) fn directory(
        &self,
        inode: u64,
    ) -> Result<(&Arc<ViewNode>, &DirectoryBody), Refusal> {
        let node = self.get(inode)?;
        match &node.body {
            Body::Directory(directory) => Ok((node, directory)),
            Body::File(_) | Body::Link(_) => Err(Refusal::NotADirectory),
        }
    }

    /// The child of this name, if there is one.
    pub(super) fn lookup(
        &self,
        parent: u64,
        name: &OsStr,
    ) -> Result<Option<&Arc<ViewNode>>, Refusal> {
        let (_, directory) = self.directory(parent)?;
        let name = name.as_bytes();
        if name.len() > MAX_NAME {
            return Err(Refusal::NameTooLong);
        }
        let Some(place) = directory.place(name) else {
            return Ok(None);
        };
        self.get(directory.inodes[place]).map(Some)
    }

    /// The entries after a cookie, `.` and `..` included; 0 begins.
    pub(super) fn list(
        &self,
        inode: u64,
        after: u64,
    ) -> Result<impl Iterator<Item = Listed<'_>>, Refusal> {
        let (node, directory) = self.directory(inode)?;
        let parent = self.get(node.parent)?;
        let dots = [(DOT, ".", node), (DOT_DOT, "..", parent)]
            .into_iter()
            .filter(move |(cookie, ..)| *cookie > after)
            .map(|(cookie, name, node)| Listed {
                cookie,
                name: name.as_bytes(),
                node,
            });
        let start = directory
            .order
            .partition_point(|(cookie, _)| *cookie <= after);
        let children = directory.order[start..]
            .iter()
            .filter_map(|(cookie, place)| {
                Some(Listed {
                    cookie: *cookie,
                    name: &directory.tree.children()[*place].0,
                    node: self.nodes.get(directory.inodes[*place])?,
                })
            });
        Ok(dots.chain(children))
    }

    /// The path of a node relative to the mount point.
    pub(super) fn path(&self, node: &ViewNode) -> PathBuf {
        let mut names = vec![&node.name];
        let mut parent = node.parent;
        while parent != ROOT {
            let Some(directory) = self.nodes.get(parent) else {
                break;
            };
            names.push(&directory.name);
            parent = directory.parent;
        }
        names
            .iter()
            .rev()
            .map(|name| OsStr::from_bytes(name))
            .collect()
    }
}

impl ViewNode {
    /// A file that no view holds, under a number that none gives out.
    pub(super) fn file(inode: u64, parent: u64, name: FileName, file: Arc<File>) -> Self {
        Self {
            inode,
            parent,
            name,
            body: Body::File(file),
        }
    }

    /// The exact size in bytes.
    pub(super) fn size(&self) -> u64 {
        match &self.body {
            Body::Directory(_) => BLOCK,
            Body::File(file) => file.size(),
            Body::Link(link) => link.target.len() as u64,
        }
    }

    /// The blocks of [`BLOCK`] bytes that it would occupy on ext4, so that `du` says what it says of a copy.
    pub(super) fn blocks(&self) -> u64 {
        match &self.body {
            Body::Directory(_) => 1,
            Body::File(file) => file.size().div_ceil(BLOCK),
            Body::Link(link) => u64::from(link.target.len() > MAX_INLINE_TARGET),
        }
    }

    /// Whether the kernel must look its name up anew each time.
    pub(super) fn is_volatile(&self) -> bool {
        matches!(&self.body, Body::File(file) if file.volatile)
    }
}

impl DirectoryBody {
    /// The place of a name in `tree.children()`.
    fn place(&self, name: &[u8]) -> Option<usize> {
        self.tree
            .children()
            .binary_search_by(|(other, _)| other.as_ref().cmp(name))
            .ok()
    }
}
