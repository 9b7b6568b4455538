//! The files of a skill: its real directory as a tree.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::source::{Located, directory_mode, modified};
use super::{Survey, is_file_name, links, unreadable};
use crate::problem::{Problem, ProblemKind};
use crate::tree::{Content, Directory, File, FileName, Link, Node, Owner};

/// How deep directories are shown: far beyond any real skill, and safe for a thread's stack.
const MAX_DEPTH: usize = 64;

/// One reading of a skill's directory.
pub(super) struct Files<'a> {
    /// The skill's real directory.
    pub(super) root: &'a Path,
    /// Its path as it is reported.
    pub(super) shown: &'a Path,
    /// The real directories of all roots.
    pub(super) roots: &'a [PathBuf],
    /// The skill's own SKILL.md, which is held in memory.
    pub(super) own: (&'a OsStr, &'a Arc<File>),
    /// Where warnings and directories go.
    pub(super) survey: &'a mut Survey,
}

impl Files<'_> {
    /// Reads the whole directory; every node that is as it was in `previous` is shared with it.
    pub(super) fn read(mut self, previous: Option<&Arc<Directory>>) -> io::Result<Arc<Directory>> {
        self.directory(Path::new(""), 0, true, previous)
    }

    /// Reads the directory at a path below the root that has no link in it. `watched` is false below `node_modules`.
    fn directory(
        &mut self,
        below: &Path,
        depth: usize,
        watched: bool,
        previous: Option<&Arc<Directory>>,
    ) -> io::Result<Arc<Directory>> {
        let path = self.root.join(below);
        // Before the entries: a change in between is seen by the next scan.
        let metadata = fs::metadata(&path)?;
        let mut entries = fs::read_dir(&path)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        if watched {
            self.survey.directories.push(path);
        }
        let mut children: Vec<(FileName, Node)> = Vec::with_capacity(entries.len());
        for entry in entries {
            let name = entry.file_name();
            if name == ".git" {
                continue;
            }
            let before = previous.and_then(|directory| directory.get(name.as_bytes()));
            let below = below.join(&name);
            let node = match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => {
                    self.subdirectory(&below, depth + 1, watched && name != "node_modules", before)
                }
                Ok(metadata) => self.leaf(&below, depth, &metadata, before),
                Err(error) => Err(error),
            };
            match node {
                Ok(Some(node)) => children.push((name.as_bytes().into(), node)),
                Ok(None) => {}
                // Removed since the directory was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let problem = unreadable(&self.shown.join(&below), &error);
                    self.survey.problems.push(problem);
                }
            }
        }
        let mut directory = Directory::new(children, modified(&metadata));
        directory.mode = Some(directory_mode(&metadata));
        directory.owner = Some(Owner::of(&metadata));
        Ok(match previous {
            Some(previous) if is_same_directory(previous, &directory) => Arc::clone(previous),
            _ => Arc::new(directory),
        })
    }

    fn subdirectory(
        &mut self,
        below: &Path,
        depth: usize,
        watched: bool,
        before: Option<&Node>,
    ) -> io::Result<Option<Node>> {
        if depth > MAX_DEPTH {
            self.warn(
                below,
                format!("nested more than {MAX_DEPTH} directories deep; left out"),
            );
            return Ok(None);
        }
        let before = match before {
            Some(Node::Directory(directory)) => Some(directory),
            _ => None,
        };
        let directory = self.directory(below, depth, watched, before)?;
        Ok(Some(Node::Directory(directory)))
    }

    fn leaf(
        &mut self,
        below: &Path,
        depth: usize,
        metadata: &Metadata,
        before: Option<&Node>,
    ) -> io::Result<Option<Node>> {
        let name = below.file_name().unwrap_or_default();
        if depth == 0 && name == self.own.0 {
            return Ok(Some(Node::File(Arc::clone(self.own.1))));
        }
        if metadata.is_file() {
            let located = Located::new(self.root, below.to_owned(), metadata);
            return Ok(Some(Node::File(file(located, before))));
        }
        if metadata.is_symlink() {
            return Ok(Some(self.link(below, name, metadata, before)?));
        }
        self.warn(
            below,
            "neither a file nor a directory nor a link; left out".to_owned(),
        );
        Ok(None)
    }

    fn link(
        &mut self,
        below: &Path,
        name: &OsStr,
        metadata: &Metadata,
        before: Option<&Node>,
    ) -> io::Result<Node> {
        let path = self.root.join(below);
        // The SKILL.md of a nested skill is a regular file, too.
        if is_file_name(name)
            && let Ok(located) = Located::find(self.root, below, self.roots)
        {
            return Ok(Node::File(file(located, before)));
        }
        let target = fs::read_link(&path)?;
        let directory = below.parent().unwrap_or(Path::new(""));
        let shown = links::show(self.root, directory, &target);
        if !shown.inside {
            self.warn(
                below,
                format!(
                    "a link out of the skill, to {}; not followed",
                    target.display()
                ),
            );
        } else if !path.exists() {
            self.warn(
                below,
                format!("a link to {}, which does not exist", target.display()),
            );
        }
        let link = Link {
            target: shown.target,
            modified: modified(metadata),
        };
        Ok(match before {
            Some(Node::Link(before))
                if before.target == link.target && before.modified == link.modified =>
            {
                Node::Link(Arc::clone(before))
            }
            _ => Node::Link(Arc::new(link)),
        })
    }

    fn warn(&mut self, below: &Path, message: String) {
        let problem =
            Problem::new(ProblemKind::SkillWarning, message).at_file(self.shown.join(below), None);
        self.survey.problems.push(problem);
    }
}

/// The node of a file whose bytes are read at open; the node that it was before when it did not change.
fn file(located: Located, before: Option<&Node>) -> Arc<File> {
    if let Some(Node::File(before)) = before
        && let Content::Source(source) = &before.content
        && **source == located.source
        && before.mode == located.mode
    {
        return Arc::clone(before);
    }
    Arc::new(File {
        content: Content::Source(Arc::new(located.source)),
        mode: located.mode,
        modified: located.modified,
        volatile: false,
        entry: None,
        origin: None,
    })
}

/// Whether a directory is as it was: the same nodes under the same names, for the same people.
fn is_same_directory(previous: &Directory, next: &Directory) -> bool {
    previous.modified == next.modified
        && previous.mode == next.mode
        && previous.owner == next.owner
        && previous.children().len() == next.children().len()
        && previous
            .children()
            .iter()
            .zip(next.children())
            .all(|((a, before), (b, after))| {
                a == b
                    && match (before, after) {
                        (Node::Directory(a), Node::Directory(b)) => Arc::ptr_eq(a, b),
                        (Node::File(a), Node::File(b)) => Arc::ptr_eq(a, b),
                        (Node::Link(a), Node::Link(b)) => Arc::ptr_eq(a, b),
                        _ => false,
                    }
            })
}
