//! The tree: paths to nodes to bytes.
//!
//! It knows nothing of FUSE or inode numbers; the mount and the mirror are both fed from it. A tree is
//! immutable: a new one shares every subtree that did not change, so that `Arc::ptr_eq` on two
//! directories means that nothing below them changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use crate::entry_id::EntryId;

/// A name in a directory: any bytes but `/` and NUL, never empty, `.` or `..`.
pub type FileName = Box<[u8]>;

/// A node of the tree.
#[derive(Clone, Debug)]
pub enum Node {
    /// A directory.
    Directory(Arc<Directory>),
    /// A regular file.
    File(Arc<File>),
    /// A symbolic link.
    Link(Arc<Link>),
}

/// A directory: its children by name, in byte order.
#[derive(Debug)]
pub struct Directory {
    children: Vec<(FileName, Node)>,
    /// When this set of children was first seen.
    pub modified: SystemTime,
    /// The permission bits of a skill's directory, for example `0o755`; `None` for a directory that was rendered.
    pub mode: Option<u32>,
    /// Whose a skill's directory is; `None` for the daemon's own.
    pub owner: Option<Owner>,
}

/// Whose a file or a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// A regular file.
#[derive(Debug)]
pub struct File {
    /// Its bytes, or where to find them.
    pub content: Content,
    /// The permission bits, for example `0o444` or `0o555`.
    pub mode: u32,
    /// When this version was first seen.
    pub modified: SystemTime,
    /// Whether the kernel must look it up anew each time (`STATUS`, `CHANGES.md`).
    pub volatile: bool,
    /// The entry it belongs to, for the access log.
    pub entry: Option<EntryId>,
    /// The file that bytes in memory were read from, compared at open; `None` for what was rendered.
    pub origin: Option<Arc<SourceFile>>,
}

/// A symbolic link.
#[derive(Debug)]
pub struct Link {
    /// The target, as the reader's kernel resolves it.
    pub target: Box<[u8]>,
    /// When this target was first seen.
    pub modified: SystemTime,
}

/// Where a file's bytes are.
#[derive(Clone, Debug)]
pub enum Content {
    /// In memory.
    Bytes(Arc<[u8]>),
    /// In a file of a skill, outside the mount.
    Source(Arc<SourceFile>),
}

/// A file of a skill as it was when it was last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The skill's real directory: what it is opened beneath.
    pub root: PathBuf,
    /// The path below `root`, every link in it resolved.
    pub path: PathBuf,
    /// What stat said.
    pub stat: SourceStat,
}

/// What tells one version of a source file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStat {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i128,
    /// Change time, nanoseconds since the epoch.
    pub changed_ns: i128,
    /// Whose it is.
    pub owner: Owner,
}

/// Files of skills up to this many bytes are held in memory once they were opened.
pub const MAX_BUFFERED: u64 = 256 * 1024;

impl SourceStat {
    /// What a file's metadata say.
    pub fn of(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            owner: Owner::of(metadata),
        }
    }
}

impl Owner {
    /// What a file's or a directory's metadata say.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            uid: metadata.uid(),
            gid: metadata.gid(),
        }
    }
}

impl Directory {
    /// Makes a directory as one is rendered; of two children with one name the first stays.
    pub fn new(mut children: Vec<(FileName, Node)>, modified: SystemTime) -> Self {
        children.sort_by(|a, b| a.0.cmp(&b.0));
        children.dedup_by(|later, first| later.0 == first.0);
        Self {
            children,
            modified,
            mode: None,
            owner: None,
        }
    }

    /// The child of this name.
    pub fn get(&self, name: &[u8]) -> Option<&Node> {
        let at = self
            .children
            .binary_search_by(|(n, _)| n.as_ref().cmp(name))
            .ok()?;
        Some(&self.children[at].1)
    }

    /// The children in byte order of their names.
    pub fn children(&self) -> &[(FileName, Node)] {
        &self.children
    }

    /// The node at a path relative to this directory; empty parts and `.` are passed over, links are not followed.
    pub fn find(&self, path: &[u8]) -> Option<Node> {
        let mut parts = path
            .split(|b| *b == b'/')
            .filter(|p| !p.is_empty() && *p != b".");
        let mut node = self.get(parts.next()?)?.clone();
        for part in parts {
            let Node::Directory(directory) = &node else {
                return None;
            };
            let next = directory.get(part)?.clone();
            node = next;
        }
        Some(node)
    }

    /// How many of the children are directories (a directory's link count is this plus 2).
    pub fn subdirectories(&self) -> usize {
        self.children
            .iter()
            .filter(|(_, n)| matches!(n, Node::Directory(_)))
            .count()
    }
}

impl File {
    /// The exact size in bytes.
    pub fn size(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Source(source) => source.stat.size,
        }
    }

    /// Whose it is: of a skill's file, whoever owns the source; `None` for what was rendered, which is the daemon's own.
    pub fn owner(&self) -> Option<Owner> {
        let source = match &self.content {
            Content::Bytes(_) => self.origin.as_ref()?,
            Content::Source(source) => source,
        };
        Some(source.stat.owner)
    }

    /// Whether it was rendered to be run, as only the files of `bin/` are: to run it is to call its entry, while its bytes
    /// tell nothing of that.
    pub fn is_program(&self) -> bool {
        let is_rendered = matches!(self.content, Content::Bytes(_)) && self.origin.is_none();
        is_rendered && self.mode & 0o111 != 0
    }

    /// Whether the two are the same version of a file, so that it may keep its inode number.
    pub fn same_version(&self, other: &Self) -> bool {
        self.mode == other.mode
            && self.owner() == other.owner()
            && self.modified == other.modified
            && self.volatile == other.volatile
            && match (&self.content, &other.content) {
                (Content::Bytes(a), Content::Bytes(b)) => Arc::ptr_eq(a, b) || a == b,
                (Content::Source(a), Content::Source(b)) => Arc::ptr_eq(a, b) || a == b,
                (Content::Bytes(_), Content::Source(_))
                | (Content::Source(_), Content::Bytes(_)) => false,
            }
    }
}
