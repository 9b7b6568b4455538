//! Files of skills on disk: where they really are, what stat says of them, and their bytes.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::problem::{Problem, ProblemKind};
use crate::tree::{File, SourceFile, SourceStat};

/// How often a file is read again that was written to while it was read.
const READ_ATTEMPTS: usize = 3;

/// A regular file that may be shown, as it is now.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) source: SourceFile,
    pub(super) mode: u32,
    pub(super) modified: SystemTime,
}

/// Why a file is not shown.
#[derive(Debug)]
pub(super) enum Fault {
    /// It, or a link on the way to it, can't be read.
    Io(io::Error),
    /// A link whose target is gone.
    Dangling,
    /// Not a regular file.
    Irregular,
    /// A link out of every root, and where it leads.
    Outside(PathBuf),
    /// Larger than what is read.
    TooLarge(u64),
}

impl Located {
    /// Finds a file in a skill's real directory, at a path in which only the file itself may be a link. A link must lead into
    /// the directory or into a root.
    pub(super) fn find(directory: &Path, below: &Path, roots: &[PathBuf]) -> Result<Self, Fault> {
        let path = directory.join(below);
        let metadata = fs::symlink_metadata(&path).map_err(Fault::Io)?;
        if metadata.is_file() {
            return Ok(Self::new(directory, below.to_owned(), &metadata));
        }
        if !metadata.is_symlink() {
            return Err(Fault::Irregular);
        }
        let real = fs::canonicalize(&path).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                Fault::Dangling
            } else {
                Fault::Io(error)
            }
        })?;
        let metadata = fs::symlink_metadata(&real).map_err(Fault::Io)?;
        if !metadata.is_file() {
            return Err(Fault::Irregular);
        }
        let root = std::iter::once(directory)
            .chain(roots.iter().map(PathBuf::as_path))
            .find(|root| real.starts_with(root));
        let Some(root) = root else {
            return Err(Fault::Outside(real));
        };
        let below = real.strip_prefix(root).unwrap_or(&real).to_owned();
        Ok(Self::new(root, below, &metadata))
    }

    /// A file whose path below the root has no link in it.
    pub(super) fn new(root: &Path, path: PathBuf, metadata: &Metadata) -> Self {
        Self {
            source: SourceFile {
                root: root.to_owned(),
                path,
                stat: SourceStat::of(metadata),
            },
            mode: mode(metadata),
            modified: modified(metadata),
        }
    }

    /// Whether the node holds the bytes of this very version.
    pub(super) fn is_origin_of(&self, file: &File) -> bool {
        file.mode == self.mode && file.origin.as_deref() == Some(&self.source)
    }

    /// Reads the whole file, with the stat that belongs to the bytes.
    pub(super) fn read(mut self, limit: u64) -> Result<(Vec<u8>, Self), Fault> {
        let path = self.source.root.join(&self.source.path);
        let mut bytes = Vec::new();
        for _ in 0..READ_ATTEMPTS {
            let file = fs::File::open(&path).map_err(Fault::Io)?;
            let before = file.metadata().map_err(Fault::Io)?;
            if before.len() > limit {
                return Err(Fault::TooLarge(limit));
            }
            bytes.clear();
            (&file)
                .take(limit)
                .read_to_end(&mut bytes)
                .map_err(Fault::Io)?;
            self = Self::new(&self.source.root, self.source.path, &before);
            let after = file.metadata().map_err(Fault::Io)?;
            if SourceStat::of(&after) == self.source.stat && bytes.len() as u64 == before.len() {
                break;
            }
            // Somebody is writing: the change that ends it is seen by the next scan, whatever is read now.
        }
        Ok((bytes, self))
    }
}

impl Fault {
    /// The problem of a SKILL.md that is not shown for this reason.
    pub(super) fn problem(self, path: &Path) -> Problem {
        let (message, hint) = match self {
            Self::Io(error) => return super::unreadable(path, &error),
            Self::Dangling => ("a link whose target does not exist".to_owned(), None),
            Self::Irregular => ("not a regular file".to_owned(), None),
            Self::Outside(target) => (
                format!("a link to {}, which lies in no root", target.display()),
                Some("add the directory of its target as a root, or copy the file"),
            ),
            Self::TooLarge(limit) => (format!("larger than {limit} bytes"), None),
        };
        let mut problem = Problem::new(ProblemKind::SkillSkipped, message).at_file(path, None);
        problem.hint = hint.map(str::to_owned);
        problem
    }
}

/// The permission bits without those that the mount can't grant: write, set-id and sticky.
fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o555
}

/// The same of a directory. Its owner's write bit stays, which grants nothing in a mount: a copy should not come out as a directory
/// that its owner can't delete.
pub(super) fn directory_mode(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o755
}

/// The modification time; the epoch on a file system that has none.
pub(super) fn modified(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}
