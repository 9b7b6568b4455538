//! The file with a project's servers: its bytes are read once, and what was hashed is what is parsed.
//!
//! It must not know whether it is trusted.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use skills::problem::{Problem, ProblemKind};

use super::SERVERS;
use crate::config::Config;
use crate::mount_table;

/// The file as it was read.
#[derive(Clone)]
pub struct ServersFile {
    /// Where it is.
    pub path: PathBuf,
    /// The BLAKE3 hash of its bytes, in hexadecimal.
    pub hash: String,
    bytes: Vec<u8>,
}

impl ServersFile {
    /// Reads the file of a project; `None` when there is none.
    ///
    /// # Errors
    /// When it is no regular file, too long, or can't be read.
    pub fn read(project: &Path) -> Result<Option<Self>, Problem> {
        let path = project.join(SERVERS);
        if let Some(mount) = mount_table::containing(&path) {
            let message = format!("lies in the shelf mount {}", mount.mount_point.display());
            return Err(Problem::new(ProblemKind::Configuration, message).at_file(path, None));
        }
        match crate::config::read_regular(&path) {
            Ok(bytes) => Ok(Some(Self {
                path,
                hash: blake3::hash(&bytes).to_hex().to_string(),
                bytes,
            })),
            // A link that leads nowhere is no file that is absent.
            Err(error)
                if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() =>
            {
                Ok(None)
            }
            Err(error) => Err(Problem::new(
                ProblemKind::Configuration,
                format!("cannot be read: {error}"),
            )
            .at_file(path, None)),
        }
    }

    /// The servers in it, with what is wrong with single ones; everything else in it is passed over, and said.
    ///
    /// # Errors
    /// When it can't be parsed, or has a `policy`, which a project can't make.
    pub fn parse(&self) -> Result<Config, Problem> {
        Config::of_project(&self.path, &self.bytes)
    }
}

impl std::fmt::Debug for ServersFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServersFile")
            .field("path", &self.path)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}
