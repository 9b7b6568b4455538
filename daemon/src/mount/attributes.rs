//! What `stat` says of a node.

use std::time::SystemTime;

use fuser::{FileAttr, FileType, INodeNo};
use skills::tree::Owner;

use super::view::{BLOCK, Body, ViewNode};

/// Sectors of 512 bytes, in which `st_blocks` counts, in a block.
const SECTORS: u64 = BLOCK / 512;

/// The mode of directories that were rendered. They can't be written to all the same; a copy of one should not come out as a
/// directory that its owner can't delete.
const DIRECTORY_MODE: u32 = 0o755;

/// Whose the nodes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes {
    /// The owner of what was rendered.
    pub(super) uid: u32,
    /// The group of what was rendered.
    pub(super) gid: u32,
    /// Whether what is of a skill is its source's owner's, so that the kernel lets in whom the source would. Where nobody but the daemon's
    /// user gets in, all is that user's, as the daemon can read all that it shows.
    pub(super) real_owners: bool,
}

impl Attributes {
    pub(super) fn of(self, node: &ViewNode) -> FileAttr {
        let (mode, owner, nlink, modified) = match &node.body {
            Body::Directory(directory) => {
                let links = u32::try_from(2 + directory.subdirectories).unwrap_or(u32::MAX);
                let tree = &directory.tree;
                let mode = tree.mode.unwrap_or(DIRECTORY_MODE);
                (mode, tree.owner, links, tree.modified)
            }
            Body::File(file) => (file.mode, file.owner(), 1, file.modified),
            Body::Link(link) => (0o777, None, 1, link.modified),
        };
        let owner = owner.filter(|_| self.real_owners);
        let Owner { uid, gid } = owner.unwrap_or(Owner {
            uid: self.uid,
            gid: self.gid,
        });
        FileAttr {
            ino: INodeNo(node.inode),
            size: node.size(),
            blocks: node.blocks() * SECTORS,
            kind: kind(node),
            // Masked first, so the conversion loses nothing.
            perm: (mode & 0o7777) as u16,
            nlink,
            uid,
            gid,
            ..self.with_time(modified)
        }
    }

    /// What a reply carries that says that there is nothing of that name, and may be kept: the inode number 0.
    pub(super) fn nothing(self) -> FileAttr {
        self.with_time(SystemTime::UNIX_EPOCH)
    }

    fn with_time(self, time: SystemTime) -> FileAttr {
        FileAttr {
            ino: INodeNo(0),
            size: 0,
            blocks: 0,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: FileType::RegularFile,
            perm: 0,
            nlink: 0,
            uid: self.uid,
            gid: self.gid,
            rdev: 0,
            // Of the page cache's size, as on ext4; tools choose their buffers by it.
            blksize: BLOCK as u32,
            flags: 0,
        }
    }
}

/// The type of a node as a listing says it.
pub(super) fn kind(node: &ViewNode) -> FileType {
    match &node.body {
        Body::Directory(_) => FileType::Directory,
        Body::File(_) => FileType::RegularFile,
        Body::Link(_) => FileType::Symlink,
    }
}
