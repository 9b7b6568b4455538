//! The FUSE mount: a thin adapter from the tree to the kernel.
//!
//! fuser lives below this module and nowhere else. Inode numbers belong here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills::entry_id::EntryId;
use skills::problem::Problem;
use skills::tree::{Directory, SourceFile};

use crate::caller::Caller;

/// How the mount is made.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// The daemon's instance id: the file system's source is `shelf:<instance>`.
    pub instance: String,
    /// Whether users other than the daemon's own may read it (`allow_other`, with `default_permissions`).
    pub allow_other: bool,
    /// Whether mounting over a directory that is not empty is allowed.
    pub nonempty: bool,
}

/// What the mount tells to and asks of the daemon. No method may read the mount.
pub trait Observer: Send + Sync + 'static {
    /// Identifies who opens, before the reply, while the caller waits.
    fn identify(&self, thread: u32, uid: u32) -> Caller;

    /// A file was opened; called after the reply, must not block.
    fn opened(&self, caller: Caller, path: PathBuf, entry: Option<EntryId>);

    /// The source of a file was found changed at open. Returns once the catalog has published what is there now, with
    /// that generation, or `None` when it could not within its deadline. Called on a worker thread, may block.
    fn source_changed(&self, source: &SourceFile) -> Option<u64>;
}

/// A running mount.
#[derive(Debug)]
pub struct Mount {}

impl Mount {
    /// Mounts the tree and returns when it can be read.
    ///
    /// # Errors
    /// [`ProblemKind::Mount`](skills::problem::ProblemKind::Mount): no FUSE here (with why, and `shelf mirror` as the way out), a
    /// mount point that is missing, not a directory, not empty, or already a mount.
    pub fn start(
        mount_point: &Path,
        options: &MountOptions,
        generation: u64,
        tree: Arc<Directory>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Problem> {
        let _ = (mount_point, options, generation, tree, observer);
        todo!()
    }

    /// Hands over the next tree: the notifier thread adopts it, then tells the kernel what changed. Never blocks.
    pub fn publish(&self, generation: u64, tree: Arc<Directory>) {
        let _ = (generation, tree);
        todo!()
    }

    /// Waits until the mount is gone for whatever reason (an outside umount, too). Blocks.
    pub fn wait(&self) {
        todo!()
    }

    /// Unmounts: lazily, waits at most a second for readers, never unmounts what somebody else mounted there since.
    pub fn stop(self) {
        todo!()
    }
}
