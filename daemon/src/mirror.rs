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
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
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

/// Writes the tree below `target`, and what was written to `manifest`.
///
/// A file stays as it is, and is reported, when it is not the one that the manifest remembers. What the manifest remembers
/// and the tree no longer has is removed.
///
/// # Errors
/// When the target is `/`, lies in a shelf mount, is being written by another process, or when it or the manifest can't be used.
/// What goes wrong with a single file is in the report.
pub fn write_once(
    tree: &Directory,
    target: &Path,
    manifest: &Path,
) -> Result<MirrorReport, Problem> {
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
        .hint("wait until it is done"),
        other => unusable(target, &other.into()),
    })?;
    let mut manifest = Manifest::open(manifest).map_err(|error| unusable(manifest, &error))?;
    let mut writer = Writer::new(target, &mut manifest);
    writer.remove_vanished(&root, tree);
    writer.write_tree(&root, tree);
    let report = writer.into_report();
    manifest
        .finish()
        .map_err(|error| unusable(manifest.path(), &error))?;
    Ok(report)
}

fn unusable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(ProblemKind::Unreadable, format!("can't be used: {error}"))
        .at_file(path, None)
        .hint("check its permissions and the space on its disk")
}
