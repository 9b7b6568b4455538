//! What the daemon is given of the machine: directories and the environment, as plain data.

use std::collections::BTreeMap;
use std::ffi::OsString;
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

/// Everything that the daemon knows of its surroundings.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The places that it writes to.
    pub directories: Directories,
    /// The environment that servers inherit and variables are expanded from.
    pub environment: Environment,
    /// The `shelf` binary itself, for `__guard`.
    pub executable: PathBuf,
}
