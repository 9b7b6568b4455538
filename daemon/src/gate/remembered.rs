//! The tools that are approved for good, on disk: one private file a configuration, which every daemon of it reads anew each time.
//!
//! It fails closed: a file that can't be read, or that somebody else could have written, approves nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use skills::problem::{Problem, ProblemKind};

use crate::protocol::Always;

/// The format of the file.
const VERSION: u32 = 1;

/// Where they are kept.
#[derive(Clone, Debug)]
pub struct Remembered {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    always: Vec<Always>,
}

impl Remembered {
    /// Those of one configuration (its name in the state directory). Nothing is made before there is something to remember.
    pub fn below(state: &Path, configuration: &str) -> Self {
        Self {
            path: state
                .join("approvals")
                .join(format!("{configuration}.json")),
        }
    }

    /// All of them.
    ///
    /// # Errors
    /// When there is a file that can't be trusted or read.
    pub fn all(&self) -> Result<Vec<Always>, Problem> {
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
        let stored: Stored =
            serde_json::from_slice(&text).map_err(|error| self.fault(&error.to_string()))?;
        if stored.version != VERSION {
            return Err(self.fault("is of another version of shelf"));
        }
        Ok(stored.always)
    }

    /// Changes them; what was written is on the disk.
    ///
    /// # Errors
    /// When the file can't be read or written; then it is as it was.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Always>) -> T) -> Result<T, Problem> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let unusable = |error: io::Error| self.unusable(&error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(unusable)?;
        // Of two daemons that change it at once, none must lose what the other took back.
        let _lock = self.lock().map_err(unusable)?;
        let mut always = self.all()?;
        let outcome = change(&mut always);
        let stored = Stored {
            version: VERSION,
            always,
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
        let message = format!("the approvals that last can't be used: {why}");
        Problem::new(ProblemKind::Unreadable, message)
            .at_file(&self.path, None)
            .hint("remove the file; everything is asked about again")
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
