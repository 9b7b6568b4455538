//! The mount point: looked at before mounting, cleared of a dead mount of ours, and unmounted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use skills::problem::{Problem, ProblemKind};

use super::life::Life;
use crate::mount_table::{MountEntry, MountTable};

/// Where fusermount3 is found: on the search path, or where distributions put it.
pub(super) const FUSERMOUNT: [&str; 3] = ["fusermount3", "/usr/bin/fusermount3", "fusermount"];

/// Checks that the mount can be made here and returns the resolved path; a mount that a killed daemon left is cleared.
pub(super) fn prepare(mount_point: &Path, nonempty: bool) -> Result<PathBuf, Problem> {
    let problem =
        |message: String| Problem::new(ProblemKind::Mount, message).at_file(mount_point, None);
    let resolved = clear_dead_mounts(mount_point)?;
    let metadata = fs::metadata(&resolved).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => problem("there is no such directory".to_owned())
            .hint(format!("create it: mkdir -p {}", mount_point.display())),
        io::ErrorKind::NotConnected => {
            problem("a FUSE file system whose daemon is gone is mounted here".to_owned()).hint(
                format!("unmount it: fusermount3 -u {}", mount_point.display()),
            )
        }
        _ => problem(format!("the directory can't be looked at: {error}")),
    })?;
    if !metadata.is_dir() {
        return Err(problem("not a directory".to_owned()).hint("give an empty directory"));
    }
    if !nonempty {
        let mut entries = fs::read_dir(&resolved)
            .map_err(|error| problem(format!("the directory can't be read: {error}")))?;
        if entries.next().is_some() {
            return Err(problem("the directory is not empty".to_owned())
                .hint("give an empty directory, or --nonempty to hide what is in this one"));
        }
    }
    Ok(resolved)
}

/// Resolves the path, with every dead mount of ours taken off it.
fn clear_dead_mounts(mount_point: &Path) -> Result<PathBuf, Problem> {
    let problem =
        |message: String| Problem::new(ProblemKind::Mount, message).at_file(mount_point, None);
    loop {
        let table = MountTable::read()
            .map_err(|error| problem(format!("the mount table can't be read: {error}")))?;
        let resolved = table
            .resolve(mount_point)
            .map_err(|error| problem(format!("the path can't be resolved: {error}")))?;
        let Some(shelf) = table.mount_at(&resolved).and_then(MountEntry::shelf) else {
            return Ok(resolved);
        };
        if shelf.mount_point != resolved {
            // Not looked at any further, for its daemon may hang.
            return Err(problem(format!(
                "this lies in the shelf that is mounted at {}",
                shelf.mount_point.display()
            ))
            .hint("give a directory elsewhere"));
        }
        let silent = match Life::of(&resolved) {
            Life::Dead => {
                tracing::info!(mount_point = %resolved.display(), instance = shelf.instance, "clearing the mount of a daemon that is gone");
                unmount_lazily(&resolved).map_err(|error| {
                    problem(format!(
                        "the mount of a daemon that is gone (instance {}) can't be cleared: {error}",
                        shelf.instance
                    ))
                    .hint(format!("unmount it: fusermount3 -u -z {}", mount_point.display()))
                })?;
                continue;
            }
            Life::Alive => "",
            Life::Silent => ", which does not answer",
        };
        return Err(problem(format!(
            "a shelf is mounted here already (instance {}{silent})",
            shelf.instance
        ))
        .hint(format!(
            "unmount it first: shelf unmount {}",
            mount_point.display()
        )));
    }
}

/// Takes whatever is mounted here out of the tree at once; who is inside may stay until he leaves.
pub(super) fn unmount_lazily(mount_point: &Path) -> io::Result<()> {
    match unmount(mount_point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        Err(Errno::PERM) => {}
        result => return result.map_err(io::Error::from),
    }
    // Users may not unmount; for FUSE mounts of their own fusermount3 does it.
    let mut missing = io::Error::from(io::ErrorKind::NotFound);
    for program in FUSERMOUNT {
        let output = Command::new(program)
            .args(["-u", "-z", "--"])
            .arg(mount_point)
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(io::Error::other(said.trim().to_owned()));
            }
            Err(error) => missing = error,
        }
    }
    Err(missing)
}
