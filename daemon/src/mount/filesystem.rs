//! The FUSE adapter: requests in, replies out, nothing decided here but flags and lifetimes.
//!
//! Its threads never wait: what is in memory is answered inline from the current view, without a disk, and lookups, lists
//! and stats outside `search/` without a lock; opens and reads that need a disk, and searches, go to a pool with their reply.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyXattr,
    Request, TimeOrNow,
};

use super::attributes::{Attributes, kind};
use super::open_files::OpenBytes;
use super::opening::Opening;
use super::pool::Pool;
use super::refusal::Refusal;
use super::search::Answer;
use super::shelf::Shelf;
use super::view::{BLOCK, Body, Listed, MAX_NAME, ViewNode};

#[cfg(test)]
mod tests;

/// What the kernel may keep: until it is told otherwise. A changed file has another inode, a changed directory is notified.
const UNTIL_NOTIFIED: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Asked for where the kernel offers them: whole directories in one request, lookups side by side, and caches that live
/// until they are invalidated by name.
const CAPABILITIES: InitFlags = InitFlags::FUSE_DO_READDIRPLUS
    .union(InitFlags::FUSE_PARALLEL_DIROPS)
    .union(InitFlags::FUSE_EXPLICIT_INVAL_DATA)
    .union(InitFlags::FUSE_CACHE_SYMLINKS);

/// Inode numbers are never used twice, so one generation number does for all.
const GENERATION: Generation = Generation(0);

/// The file system as fuser calls it.
pub(super) struct ShelfFilesystem {
    shelf: Arc<Shelf>,
    attributes: Attributes,
    pool: Pool,
}

impl ShelfFilesystem {
    pub(super) fn new(shelf: Arc<Shelf>, attributes: Attributes, pool: Pool) -> Self {
        Self {
            shelf,
            attributes,
            pool,
        }
    }

    fn attributes_of(&self, inode: u64) -> Result<FileAttr, Refusal> {
        match self.shelf.view.load().get(inode) {
            Ok(node) => Ok(self.attributes.of(node)),
            Err(refusal) => {
                let answer = self.shelf.answer(inode).map(|answer| answer.node.clone());
                // An open descriptor keeps the version that it was opened on.
                let opened = || Some(self.shelf.open_files.get(inode)?.node.clone());
                let node = answer.or_else(opened).ok_or(refusal)?;
                Ok(self.attributes.of(&node))
            }
        }
    }
}

/// How long the kernel may keep a name.
fn lifetime(node: &ViewNode) -> Duration {
    if node.is_volatile() {
        Duration::ZERO
    } else {
        UNTIL_NOTIFIED
    }
}

/// Answers a lookup with the node that it found.
fn found(reply: ReplyEntry, attributes: Attributes, node: &ViewNode) {
    let attributes = attributes.of(node);
    reply.entry_with_ttls(&UNTIL_NOTIFIED, &lifetime(node), &attributes, GENERATION);
}

impl Filesystem for ShelfFilesystem {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let offered = CAPABILITIES & config.capabilities();
        config
            .add_capabilities(offered)
            .map_err(|missing| io::Error::other(format!("the kernel lacks {missing:?}")))
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let view = self.shelf.view.load();
        match view.lookup(parent.0, name) {
            Ok(Some(node)) => found(reply, self.attributes, node),
            Ok(None) => match self.shelf.search_for(&view, parent.0, name) {
                Some((search, words)) => {
                    let attributes = self.attributes;
                    let reply = move |answer: Result<Arc<Answer>, Refusal>| match answer {
                        Ok(answer) => found(reply, attributes, &answer.node),
                        Err(refusal) => reply.error(refusal.into()),
                    };
                    search.ask(parent.0, words, Box::new(reply));
                }
                None => reply.entry(&UNTIL_NOTIFIED, &self.attributes.nothing(), GENERATION),
            },
            Err(refusal) => reply.error(refusal.into()),
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        match self.attributes_of(inode.0) {
            Ok(attributes) => reply.attr(&UNTIL_NOTIFIED, &attributes),
            Err(refusal) => reply.error(refusal.into()),
        }
    }

    fn readlink(&self, _request: &Request, inode: INodeNo, reply: ReplyData) {
        match self.shelf.view.load().get(inode.0) {
            Ok(node) => match &node.body {
                Body::Link(link) => reply.data(&link.target),
                Body::Directory(_) | Body::File(_) => reply.error(Refusal::NotALink.into()),
            },
            Err(refusal) => reply.error(refusal.into()),
        }
    }

    fn open(&self, request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match Opening::prepare(&self.shelf, request, inode.0, flags) {
            Ok(opening) if opening.needs_disk() => {
                let shelf = self.shelf.clone();
                self.pool.run(move || opening.run(&shelf, reply));
            }
            Ok(opening) => opening.run(&self.shelf, reply),
            Err(refusal) => reply.error(refusal.into()),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(open) = self.shelf.open_files.get(inode.0) else {
            return reply.error(Refusal::Stale.into());
        };
        let size = size as usize;
        match &open.bytes {
            OpenBytes::Memory(bytes) => {
                let start = usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
                let end = start.saturating_add(size).min(bytes.len());
                reply.data(&bytes[start..end]);
            }
            OpenBytes::Source(source) => {
                let source = source.clone();
                self.pool.run(move || match source.read(offset, size) {
                    Ok(bytes) => reply.data(&bytes),
                    Err(error) => reply.error(Refusal::from(error).into()),
                });
            }
        }
    }

    fn release(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.shelf.open_files.release(inode.0);
        reply.ok();
    }

    fn opendir(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.shelf.view.load().directory(inode.0) {
            // Listings keep no state: they go on by cookie, in the view that is current then.
            Ok(_) => reply.opened(
                FileHandle(0),
                FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE,
            ),
            Err(refusal) => reply.error(refusal.into()),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let view = self.shelf.view.load();
        let entries = match view.list(inode.0, offset) {
            Ok(entries) => entries,
            Err(refusal) => return reply.error(refusal.into()),
        };
        for Listed { cookie, name, node } in entries {
            if reply.add(
                INodeNo(node.inode),
                cookie,
                kind(node),
                OsStr::from_bytes(name),
            ) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let view = self.shelf.view.load();
        let entries = match view.list(inode.0, offset) {
            Ok(entries) => entries,
            Err(refusal) => return reply.error(refusal.into()),
        };
        for Listed { cookie, name, node } in entries {
            let attributes = self.attributes.of(node);
            let inode = INodeNo(node.inode);
            if reply.add(
                inode,
                cookie,
                OsStr::from_bytes(name),
                &lifetime(node),
                &attributes,
                GENERATION,
            ) {
                break;
            }
        }
        reply.ok();
    }

    /// Says that half of the file system is free, so that nothing that watches file systems takes it for full or broken.
    fn statfs(&self, _request: &Request, _inode: INodeNo, reply: ReplyStatfs) {
        let used = self.shelf.view.load().usage();
        reply.statfs(
            2 * used.blocks,
            used.blocks,
            used.blocks,
            2 * used.nodes,
            used.nodes,
            BLOCK as u32,
            MAX_NAME as u32,
            BLOCK as u32,
        );
    }

    // Answered once with ENOSYS, these are never asked again.

    fn flush(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.error(Refusal::NotServed.into());
    }

    fn getxattr(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _name: &OsStr,
        _size: u32,
        reply: ReplyXattr,
    ) {
        reply.error(Refusal::NotServed.into());
    }

    fn listxattr(&self, _request: &Request, _inode: INodeNo, _size: u32, reply: ReplyXattr) {
        reply.error(Refusal::NotServed.into());
    }

    // Refused by the kernel already, as the mount is read-only; here for one that was remounted as writable. What needs a
    // descriptor that is open for writing can't come, as `open` refuses that.

    fn setattr(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn mknod(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn mkdir(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn unlink(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn rmdir(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn symlink(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _target: &Path,
        reply: ReplyEntry,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn rename(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _new_parent: INodeNo,
        _new_name: &OsStr,
        _flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn link(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _new_parent: INodeNo,
        _new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn create(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn setxattr(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _name: &OsStr,
        _value: &[u8],
        _flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        reply.error(Refusal::ReadOnly.into());
    }

    fn removexattr(&self, _request: &Request, _inode: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Refusal::ReadOnly.into());
    }
}
