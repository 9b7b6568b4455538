//! Which changes on disk can change what discovery finds.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// How many links are followed in a row, as in the kernel.
const MAX_LINKS: usize = 40;

/// What matters in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Interest {
    /// Every change.
    Everything,
    /// Changes of these names: the targets of links, and roots that don't exist yet.
    Names(BTreeSet<OsString>),
}

/// The real directories to watch, non-recursively, each with what matters in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch(BTreeMap<PathBuf, Interest>);

impl Watch {
    /// The directories.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// Whether a change of this path matters.
    pub fn concerns(&self, path: &Path) -> bool {
        if self.0.contains_key(path) {
            return true;
        }
        let interest = path.parent().and_then(|parent| self.0.get(parent));
        match (interest, path.file_name()) {
            (Some(Interest::Everything), _) => true,
            (Some(Interest::Names(names)), Some(name)) => names.contains(name),
            _ => false,
        }
    }

    /// Adds a real directory in which everything matters.
    pub(super) fn everything(&mut self, directory: PathBuf) {
        self.0.insert(directory, Interest::Everything);
    }

    /// Adds a path and, where it is a link, every path that it leads over.
    pub(super) fn path(&mut self, path: &Path) {
        self.name(path);
        self.link(path);
    }

    /// Adds every path that a link leads over, if it is one. Its own directory is another's to add.
    pub(super) fn link(&mut self, path: &Path) {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let (Ok(target), Some(parent)) = (fs::read_link(&path), path.parent()) else {
                return;
            };
            path = parent.join(target);
            self.name(&path);
        }
    }

    /// Adds a path in the nearest directory above it that exists.
    fn name(&mut self, path: &Path) {
        let mut child = path;
        while let Some(parent) = child.parent() {
            let named = if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            };
            if let Ok(real) = fs::canonicalize(named)
                && real.is_dir()
                && let Some(name) = child.file_name()
            {
                let interest = self
                    .0
                    .entry(real)
                    .or_insert(Interest::Names(BTreeSet::new()));
                if let Interest::Names(names) = interest {
                    names.insert(name.to_owned());
                }
                return;
            }
            child = parent;
        }
    }
}
