//! What the daemon is given of the machine: directories and the environment, as plain data.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// An environment, as `shelf mount` was given it.
pub type Environment = BTreeMap<OsString, OsString>;

/// The places that Toolshelf writes to (XDG), already joined with `toolshelf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// Definitions: may be deleted at any time.
    pub cache: PathBuf,
    /// Access log, journal, server stderr.
    pub state: PathBuf,
    /// Sockets: 0700, gone after a restart.
    pub runtime: PathBuf,
}

/// Everything that the daemon knows of its surroundings. Its `Debug` shows no variable, which may be a secret.
#[derive(Clone)]
pub struct Surroundings {
    /// The places that it writes to.
    pub directories: Directories,
    /// The environment that servers inherit and variables are expanded from.
    pub environment: Environment,
    /// The `shelf` binary itself, for `__guard`.
    pub executable: PathBuf,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("directories", &self.directories)
            .field("environment", &self.environment.len())
            .field("executable", &self.executable)
            .finish()
    }
}
