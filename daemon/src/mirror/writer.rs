//! Brings the target up to date: first what vanished, then what is there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use blake3::{Hash, Hasher};
use rustix::fs::{
    AtFlags, Mode, OFlags, mkdirat, openat, renameat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;
use skills::problem::{Problem, ProblemKind};
use skills::tree::{Content, Directory, File as TreeFile, Link, Node, SourceFile};

use super::attributes::{directory_mode, set_directory, set_mode_and_time, timestamps};
use super::directory::{open_child, open_parent};
use super::found::Found;
use super::manifest::{Manifest, Written, digest};
use super::{Before, MirrorReport};
use crate::source_file::{OpenSource, SourceError};

/// What a file or link is called until it is whole. One is enough: a mirror has one writer.
const PARTIAL: &[u8] = b".shelf-mirror-partial";

const MOVE_IT: &str = "move it away to have the shelf's own here";
const REMOVE_IT: &str = "remove it when it is not needed";

/// The target while it is being written.
pub(super) struct Writer<'a> {
    target: &'a Path,
    manifest: &'a mut Manifest,
    before: Option<&'a Before>,
    report: MirrorReport,
    /// The paths that are not as the tree has them.
    troubled: Vec<Vec<u8>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        target: &'a Path,
        manifest: &'a mut Manifest,
        before: Option<&'a Before>,
    ) -> Self {
        Self {
            target,
            manifest,
            before,
            report: MirrorReport::default(),
            troubled: Vec::new(),
        }
    }

    /// What was done, and the paths that are not as the tree has them.
    pub(super) fn finish(self) -> (MirrorReport, Vec<Vec<u8>>) {
        (self.report, self.troubled)
    }

    /// Removes what the tree no longer has, or has as something else, where it is as it was written.
    pub(super) fn remove_vanished(&mut self, root: &OwnedFd, tree: &Directory) {
        // What is in a directory stands after it, so backwards it comes first.
        let vanished: Vec<Vec<u8>> = self
            .manifest
            .paths()
            .rev()
            .filter(|path| !is_as_recorded(tree.find(path), self.manifest.of(path)))
            .map(<[u8]>::to_vec)
            .collect();
        for path in vanished {
            if let Err(error) = self.remove(root, &path) {
                self.failed(&path, &error);
            }
        }
    }

    fn remove(&mut self, root: &OwnedFd, path: &[u8]) -> io::Result<()> {
        let (parent, name) = match open_parent(root, path) {
            // Somebody removed or replaced a directory above it, and with it what was written.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.manifest.forget(path);
                return Ok(());
            }
            opened => opened?,
        };
        let found = Found::at(parent.as_fd(), name)?;
        if matches!(found, Found::Nothing) {
            self.manifest.forget(path);
            return Ok(());
        }
        if !found.is_among(self.manifest.of(path)) {
            self.manifest.forget(path);
            self.kept(
                path,
                "the shelf no longer has it, but it was changed, so it stays",
                REMOVE_IT,
            );
            return Ok(());
        }
        let flags = match found {
            Found::Directory => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        match unlinkat(&parent, name, flags) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                self.kept(
                    path,
                    "the shelf no longer has it, but there are other files in it",
                    REMOVE_IT,
                );
            }
            removed => {
                removed?;
                self.manifest.forget(path);
                self.report.removed += 1;
            }
        }
        Ok(())
    }

    /// Writes what is not there yet or differs.
    pub(super) fn write_tree(&mut self, root: &OwnedFd, tree: &Directory) {
        let before = self.before.map(|before| &*before.tree);
        self.write_children(root.as_fd(), tree, before, &[]);
    }

    fn write_children(
        &mut self,
        parent: BorrowedFd<'_>,
        directory: &Directory,
        before: Option<&Directory>,
        above: &[u8],
    ) {
        for (name, node) in directory.children() {
            let mut path = above.to_vec();
            if !above.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            let result = match node {
                Node::Directory(directory) => {
                    let before = before.and_then(|before| before.get(name));
                    self.write_directory(parent, name, &path, directory, before)
                }
                Node::Link(link) => self.write_link(parent, name, &path, link),
                Node::File(file) => self.write_file(parent, name, &path, file),
            };
            if let Err(error) = result {
                self.failed(&path, &error);
            }
        }
    }

    fn write_directory(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &[u8],
        directory: &Arc<Directory>,
        before: Option<&Node>,
    ) -> io::Result<()> {
        let before = match before {
            Some(Node::Directory(before)) => Some(before),
            Some(Node::File(_) | Node::Link(_)) | None => None,
        };
        match Found::at(parent, name)? {
            Found::Directory => {
                let is_same = before.is_some_and(|before| Arc::ptr_eq(before, directory));
                if is_same && !self.was_troubled(path) {
                    return Ok(());
                }
            }
            Found::Nothing => {
                self.manifest.announce(path, Written::Directory)?;
                mkdirat(parent, name, Mode::from_raw_mode(directory_mode(directory)))?;
            }
            Found::Link(_) | Found::File(..) | Found::Other => {
                self.kept(
                    path,
                    "is not the mirror's, so nothing is written below it",
                    MOVE_IT,
                );
                return Ok(());
            }
        }
        let opened = open_child(parent, name)?;
        self.write_children(opened.as_fd(), directory, before.map(Arc::as_ref), path);
        let is_ours = Found::Directory.is_among(self.manifest.of(path));
        if is_ours {
            set_directory(&opened, directory)?;
        }
        Ok(())
    }

    fn write_link(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &[u8],
        link: &Link,
    ) -> io::Result<()> {
        let wanted = blake3::hash(&link.target);
        let found = Found::at(parent, name)?;
        let is_ours = found.is_among(self.manifest.of(path));
        match found {
            Found::Link(target) if target == wanted => {
                self.report.unchanged += 1;
                return Ok(());
            }
            Found::Nothing => {}
            _ if is_ours => {}
            _ => {
                self.kept(path, "is not the mirror's, so it stays", MOVE_IT);
                return Ok(());
            }
        }
        self.manifest.announce(path, Written::Link(wanted))?;
        remove_partial(parent)?;
        symlinkat(OsStr::from_bytes(&link.target), parent, PARTIAL)?;
        let times = timestamps(link.modified);
        utimensat(parent, PARTIAL, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        renameat(parent, PARTIAL, parent, name)?;
        self.manifest.settle(path);
        self.report.written += 1;
        Ok(())
    }

    fn write_file(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &[u8],
        file: &TreeFile,
    ) -> io::Result<()> {
        let found = Found::at(parent, name)?;
        let is_ours = found.is_among(self.manifest.of(path));
        match &found {
            Found::Nothing => {}
            Found::File(hash, on_disk, stat) if self.is_content(path, &file.content, hash)? => {
                if is_ours {
                    set_mode_and_time(on_disk, Some(stat), file)?;
                    self.manifest.settle(path);
                }
                self.report.unchanged += 1;
                return Ok(());
            }
            Found::File(..) if is_ours => {}
            Found::File(..) | Found::Directory | Found::Link(_) | Found::Other => {
                self.kept(
                    path,
                    "was changed or is not the mirror's, so it stays",
                    MOVE_IT,
                );
                return Ok(());
            }
        }
        let written = self.replace(parent, name, path, file);
        if written.is_err() {
            remove_partial(parent)?;
        }
        written
    }

    /// Whether a file's bytes, by their hash, are those that the tree has.
    fn is_content(&self, path: &[u8], content: &Content, hash: &Hash) -> io::Result<bool> {
        match content {
            Content::Bytes(bytes) => Ok(blake3::hash(bytes) == *hash),
            Content::Source(source) => {
                let version = digest(&source.stat);
                match self.manifest.of(path) {
                    // The source is the version that was copied: it need not be read again.
                    [.., Written::File(copied, Some(from))] if *from == version => {
                        Ok(copied == hash)
                    }
                    // A copy that somebody else made is told from other files by its bytes alone.
                    _ => {
                        let mut hasher = Hasher::new();
                        copy(source, &mut hasher)?;
                        Ok(hasher.finalize() == *hash)
                    }
                }
            }
        }
    }

    fn replace(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &[u8],
        file: &TreeFile,
    ) -> io::Result<()> {
        remove_partial(parent)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let partial = File::from(openat(parent, PARTIAL, flags, Mode::from_raw_mode(0o600))?);
        let mut hashing = Hashing {
            hasher: Hasher::new(),
            file: &partial,
        };
        let from = match &file.content {
            Content::Bytes(bytes) => {
                hashing.write_all(bytes)?;
                None
            }
            Content::Source(source) => {
                copy(source, &mut hashing)?;
                Some(digest(&source.stat))
            }
        };
        let hash = hashing.hasher.finalize();
        set_mode_and_time(&partial, None, file)?;
        self.manifest.announce(path, Written::File(hash, from))?;
        renameat(parent, PARTIAL, parent, name)?;
        self.manifest.settle(path);
        self.report.written += 1;
        Ok(())
    }

    /// Whether something at or below a path was not as the tree had it.
    fn was_troubled(&self, path: &[u8]) -> bool {
        let is_below = |troubled: &Vec<u8>| {
            troubled
                .strip_prefix(path)
                .is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
        };
        self.before
            .is_some_and(|before| before.troubled.iter().any(is_below))
    }

    fn kept(&mut self, path: &[u8], why: &str, hint: &str) {
        self.troubled.push(path.to_vec());
        let path = self.target.join(OsStr::from_bytes(path));
        let problem = Problem::new(ProblemKind::Collision, why).at_file(path, None);
        self.report.problems.push(problem.hint(hint));
    }

    fn failed(&mut self, path: &[u8], error: &io::Error) {
        self.troubled.push(path.to_vec());
        let path = self.target.join(OsStr::from_bytes(path));
        let problem = Problem::new(
            ProblemKind::Unreadable,
            format!("can't be mirrored: {error}"),
        )
        .at_file(path, None)
        .hint("mirror again when the cause is gone");
        self.report.failed += 1;
        self.report.problems.push(problem);
    }
}

/// Whether a node of the tree is of the kind that was recorded last.
fn is_as_recorded(node: Option<Node>, written: &[Written]) -> bool {
    matches!(
        (node, written.last()),
        (Some(Node::Directory(_)), Some(Written::Directory))
            | (Some(Node::Link(_)), Some(Written::Link(_)))
            | (Some(Node::File(_)), Some(Written::File(..)))
    )
}

/// Writes to a file and hashes what it writes.
struct Hashing<'a> {
    hasher: Hasher,
    file: &'a File,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Removes what a mirror that was killed left behind.
fn remove_partial(parent: BorrowedFd<'_>) -> io::Result<()> {
    match unlinkat(parent, PARTIAL, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Copies a source, but only as the version that the tree knows.
fn copy(source: &Arc<SourceFile>, into: &mut impl Write) -> io::Result<()> {
    OpenSource::open(source)
        .and_then(|opened| opened.copy(into))
        .map_err(|error| match error {
            SourceError::Io(error) => error,
            changed @ SourceError::Changed => io::Error::other(changed),
        })
}
