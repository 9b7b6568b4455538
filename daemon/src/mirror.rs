//! The mirror: the tree as plain files, for where a mount can't be had.
//!
//! It touches nothing that it did not write. What it wrote stands in a manifest outside the mirrored directory.

mod attributes;
mod directory;
mod found;
mod manifest;
#[cfg(test)]
mod tests;
mod writer;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use skills::problem::{Problem, ProblemKind};
use skills::tree::Directory;

use crate::mount_table;
use manifest::Manifest;
use writer::Writer;

/// What was done to bring the plain files up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorReport {
    /// Files and links that were written.
    pub written: usize,
    /// Files and links that were as they should be.
    pub unchanged: usize,
    /// Files, links and directories that the tree no longer has.
    pub removed: usize,
    /// Files, links and directories that could not be brought up to date, though nobody else's file was in the way.
    pub failed: usize,
    /// What was not written or removed, each with its path: files that somebody changed or put there, and what failed.
    pub problems: Vec<Problem>,
}

/// A directory that is kept like the tree; nobody else writes a mirror there meanwhile.
#[derive(Debug)]
pub struct Mirror {
    target: PathBuf,
    root: OwnedFd,
    manifest: Manifest,
    before: Option<Before>,
}

/// What was written last.
#[derive(Debug)]
struct Before {
    tree: Arc<Directory>,
    /// The paths that are not as the tree has them, for whatever reason.
    troubled: Vec<Vec<u8>>,
}

impl Mirror {
    /// Takes hold of `target`, which is made where it is missing. What is written is remembered in `manifest`.
    ///
    /// # Errors
    /// When the target is `/`, lies in a shelf mount, is being written by another process, or when it or the manifest can't be used.
    pub fn open(target: &Path, manifest: &Path) -> Result<Self, Problem> {
        if let Some(mount) = mount_table::containing(target) {
            let mount_point = mount.mount_point.display();
            return Err(Problem::new(
                ProblemKind::Usage,
                format!("lies in the shelf that is mounted at {mount_point}"),
            )
            .at_file(target, None)
            .hint("mirror into a directory outside every shelf"));
        }
        fs::create_dir_all(target).map_err(|error| unusable(target, &error))?;
        if fs::canonicalize(target).is_ok_and(|real| real == Path::new("/")) {
            return Err(
                Problem::new(ProblemKind::Usage, "a mirror needs a directory of its own")
                    .at_file(target, None)
                    .hint("mirror into a directory below it"),
            );
        }
        let root = directory::open_root(target).map_err(|error| unusable(target, &error.into()))?;
        flock(&root, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => Problem::new(
                ProblemKind::Usage,
                "another shelf is writing its mirror here",
            )
            .at_file(target, None)
            .hint(format!(
                "wait until it is done, or end the one that keeps it current: shelf unmount {}",
                target.display()
            )),
            other => unusable(target, &other.into()),
        })?;
        Ok(Self {
            target: target.to_owned(),
            root,
            manifest: Manifest::open(manifest).map_err(|error| unusable(manifest, &error))?,
            before: None,
        })
    }

    /// Brings the target up to date with the tree.
    ///
    /// A file stays as it is, and is reported, when it is not the one that the manifest remembers. What the manifest remembers
    /// and the tree no longer has is removed. Directories that are the same as the last time are passed over, unless something in
    /// them could not be written.
    ///
    /// # Errors
    /// When the manifest can't be used. What goes wrong with a single file is in the report.
    pub fn write(&mut self, tree: &Arc<Directory>) -> Result<MirrorReport, Problem> {
        let mut writer = Writer::new(&self.target, &mut self.manifest, self.before.as_ref());
        writer.remove_vanished(&self.root, tree);
        writer.write_tree(&self.root, tree);
        let (report, troubled) = writer.finish();
        self.before = Some(Before {
            tree: Arc::clone(tree),
            troubled,
        });
        self.manifest
            .finish()
            .map_err(|error| unusable(self.manifest.path(), &error))?;
        Ok(report)
    }

    /// Whether a tree is the very one that was written last.
    pub fn has_written(&self, tree: &Arc<Directory>) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|before| Arc::ptr_eq(&before.tree, tree))
    }

    /// Whether the target is still where it was, and not removed or replaced.
    pub fn is_in_place(&self) -> bool {
        let (Ok(named), Ok(held)) = (fs::metadata(&self.target), fstat(&self.root)) else {
            return false;
        };
        (named.dev(), named.ino()) == (held.st_dev, held.st_ino)
    }
}

/// Whether a process is writing a mirror to this directory, or keeps one current there.
pub fn is_held(target: &Path) -> bool {
    directory::open_root(target).is_ok_and(|root| {
        flock(&root, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    })
}

fn unusable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(ProblemKind::Mount, format!("can't be used: {error}"))
        .at_file(path, None)
        .hint("check its permissions and the space on its disk")
}
