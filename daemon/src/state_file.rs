//! A list that lasts, in a private file below the state directory: read anew each time, changed under a lock, replaced whole.
//!
//! It fails closed: a file that can't be read, or that somebody else could have written, has nothing to say. What the list is about
//! it must not know.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use skills::problem::{Problem, ProblemKind};

/// The format of the file.
const VERSION: u32 = 1;

/// Where a list is kept.
#[derive(Clone, Debug)]
pub(crate) struct StateFile<T> {
    path: PathBuf,
    words: Words,
    of: PhantomData<fn() -> T>,
}

/// What is said of a list that can't be used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// What it is, before "can't be used".
    pub(crate) what: &'static str,
    /// What becomes of it when the file is removed.
    pub(crate) remedy: &'static str,
}

#[derive(Serialize, Deserialize)]
struct Stored<T> {
    version: u32,
    // The first of these files had approvals.
    #[serde(alias = "always")]
    entries: Vec<T>,
}

impl<T: Serialize + DeserializeOwned> StateFile<T> {
    /// The list in this file. Nothing is made before there is something to keep.
    pub(crate) const fn at(path: PathBuf, words: Words) -> Self {
        Self {
            path,
            words,
            of: PhantomData,
        }
    }

    /// The file, which need not exist.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of it.
    ///
    /// # Errors
    /// When there is a file that can't be trusted or read.
    pub(crate) fn all(&self) -> Result<Vec<T>, Problem> {
        let metadata = match fs::symlink_metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.unusable(&error)),
        };
        let is_ours = metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0;
        if !metadata.is_file() || !is_ours {
            return Err(self.fault("is no file of the daemon's own user that only they can write"));
        }
        let text = fs::read(&self.path).map_err(|error| self.unusable(&error))?;
        let stored: Stored<T> =
            serde_json::from_slice(&text).map_err(|error| self.fault(&error.to_string()))?;
        if stored.version != VERSION {
            return Err(self.fault("is of another version of shelf"));
        }
        Ok(stored.entries)
    }

    /// Changes it; what was written is on the disk.
    ///
    /// # Errors
    /// When the file can't be read or written; then it is as it was.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Vec<T>) -> R) -> Result<R, Problem> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let unusable = |error: io::Error| self.unusable(&error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(unusable)?;
        // Of two processes that change it at once, none must lose what the other took back.
        let _lock = self.lock().map_err(unusable)?;
        let mut entries = self.all()?;
        let outcome = change(&mut entries);
        let stored = Stored {
            version: VERSION,
            entries,
        };
        let json = serde_json::to_vec_pretty(&stored).map_err(|error| unusable(error.into()))?;
        write(&self.path, directory, &json).map_err(unusable)?;
        Ok(outcome)
    }

    fn lock(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(self.path.with_extension("lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn unusable(&self, error: &io::Error) -> Problem {
        self.fault(&error.to_string())
    }

    fn fault(&self, why: &str) -> Problem {
        let message = format!("{} can't be used: {why}", self.words.what);
        Problem::new(ProblemKind::Unreadable, message)
            .at_file(&self.path, None)
            .hint(format!("remove the file; {}", self.words.remedy))
    }
}

/// Replaces the file by rename; a temporary file is private.
fn write(path: &Path, directory: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{StateFile, Words};

    #[test]
    fn what_was_kept_before_the_list_had_this_name_is_read_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list.json");
        let words = Words {
            what: "the list",
            remedy: "it is empty then",
        };
        let file = StateFile::<u32>::at(path.clone(), words);
        assert!(file.all().unwrap().is_empty());
        fs::write(&path, r#"{"version": 1, "always": [1, 2]}"#).unwrap();
        assert_eq!(file.all().unwrap(), [1, 2]);
        file.change(|all| all.push(3)).unwrap();
        assert_eq!(file.all().unwrap(), [1, 2, 3]);
        fs::write(&path, "{").unwrap();
        let problem = file.change(Vec::clear).unwrap_err();
        assert!(problem.message.starts_with("the list can't be used: "));
        assert_eq!(problem.hint.unwrap(), "remove the file; it is empty then");
        assert_eq!(fs::read(&path).unwrap(), b"{", "it is as it was");
    }
}
