//! What `stat` says of a node.

use std::time::SystemTime;

use fuser::{FileAttr, FileType, INodeNo};

use super::view::{BLOCK, Body, ViewNode};

/// Sectors of 512 bytes, in which `st_blocks` counts, in a block.
const SECTORS: u64 = BLOCK / 512;

/// Directories can't be written to all the same; a copy of one should not come out as a directory that its owner can't delete.
const DIRECTORY_MODE: u16 = 0o755;

/// The attributes that all nodes share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes {
    /// The owner of everything.
    pub(super) uid: u32,
    /// The group of everything.
    pub(super) gid: u32,
}

impl Attributes {
    pub(super) fn of(self, node: &ViewNode) -> FileAttr {
        let (perm, nlink, modified) = match &node.body {
            Body::Directory(directory) => {
                let links = u32::try_from(2 + directory.subdirectories).unwrap_or(u32::MAX);
                (DIRECTORY_MODE, links, directory.tree.modified)
            }
            // Masked first, so the conversion loses nothing.
            Body::File(file) => ((file.mode & 0o7777) as u16, 1, file.modified),
            Body::Link(link) => (0o777, 1, link.modified),
        };
        FileAttr {
            ino: INodeNo(node.inode),
            size: node.size(),
            blocks: node.blocks() * SECTORS,
            kind: kind(node),
            perm,
            nlink,
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
