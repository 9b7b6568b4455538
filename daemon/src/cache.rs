//! The cache of definitions: what each server answered, as raw JSON, found again by configuration and server name.
//!
//! ```text
//! <cache directory>/key                                      32 random bytes, 0600
//! <cache directory>/definitions/<configuration>/<server>     one file a server, 0600; both names are hashes
//! <cache directory>/tokens/<configuration>                   what the texts made of them cost
//! <cache directory>/search/<configuration>                   the search index built from them
//! ```
//!
//! All of it may be deleted at any time. A file that is damaged, of another format or no regular file counts as absent.

mod index;
mod key;
mod stored;
mod tokens;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::search::DefinitionsDigest;
use skills::server::Definitions;

pub use self::index::IndexCache;
use self::key::Key;
use self::stored::Stored;
pub use self::tokens::{Digest, TokenCounts, digest};

/// The era of the protocol that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// Up to 2025-11-25: `initialize`.
    Initialize,
    /// From 2026-07-28: `server/discover`.
    Discover,
}

/// A keyed hash over all that a server's definitions depend on: expanded command, arguments, working directory, `env`,
/// declared capabilities. Keyed, so that secrets can't be tried out against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness(pub [u8; 32]);

/// What the cache holds of one server.
#[derive(Clone, Debug)]
pub struct Cached {
    /// The definitions, parsed from the raw JSON.
    pub definitions: Arc<Definitions>,
    /// The tools that could not be read.
    pub problems: Vec<Problem>,
    /// What they depended on when they were listed.
    pub freshness: Freshness,
    /// When they were listed.
    pub listed: SystemTime,
    /// The era that the server spoke.
    pub era: Option<Era>,
}

/// The definitions of one configuration's servers on disk. One file a server, 0600, replaced by rename.
#[derive(Clone, Debug)]
pub struct DefinitionCache {
    /// `None` when nothing is kept.
    definitions: Option<CachedDefinitions>,
    key: Key,
}

/// The same, to be read alone: it makes nothing, and needs no right to write.
#[derive(Clone, Debug)]
pub struct CachedDefinitions {
    directory: PathBuf,
}

impl DefinitionCache {
    /// Opens the cache of one configuration (`configuration` is its canonical path, or a name where there is no file).
    ///
    /// # Errors
    /// When the directory or the key can't be made.
    pub fn open(directory: &Path, configuration: &str) -> Result<Self, Problem> {
        let definitions = CachedDefinitions::new(directory, configuration);
        let below = &definitions.directory;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(below)
            .map_err(|error| unwritable(below, &error))?;
        let path = directory.join("key");
        Ok(Self {
            definitions: Some(definitions),
            key: Key::read_or_make(&path).map_err(|error| unwritable(&path, &error))?,
        })
    }

    /// A cache that keeps nothing, for where none can be opened.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn unstored() -> Result<Self, Problem> {
        let key = Key::make().map_err(|error| {
            Problem::new(
                ProblemKind::Internal,
                format!("no random bytes can be had: {error}"),
            )
        })?;
        Ok(Self {
            definitions: None,
            key,
        })
    }

    /// Hashes, with this user's key, what a server's definitions depend on.
    pub fn freshness(&self, access: &crate::config::Access, capabilities: &str) -> Freshness {
        self.key.freshness(access, capabilities)
    }

    /// What is known of a server; `None` when nothing is, or the file can't be read as what it should be.
    pub fn load(&self, server: &ServerName) -> Option<Cached> {
        self.definitions.as_ref()?.load(server)
    }

    /// Remembers what a server answered.
    ///
    /// # Errors
    /// When the file can't be written; the daemon goes on without.
    pub fn store(
        &self,
        server: &ServerName,
        definitions: &Definitions,
        freshness: Freshness,
        era: Option<Era>,
    ) -> Result<(), Problem> {
        let Some(kept) = &self.definitions else {
            return Ok(());
        };
        let path = kept.path(server);
        let stored = Stored::new(server, definitions, freshness, era, SystemTime::now());
        let written = stored.to_bytes().and_then(|bytes| replace(&path, &bytes));
        written.map_err(|error| unwritable(&path, &error))
    }
}

impl CachedDefinitions {
    /// The cache of one configuration, named as for [`DefinitionCache::open`]; it need not be there.
    pub fn new(directory: &Path, configuration: &str) -> Self {
        Self {
            directory: directory.join("definitions").join(file_name(configuration)),
        }
    }

    /// What is known of a server; `None` when nothing is, or the file can't be read as what it should be.
    pub fn load(&self, server: &ServerName) -> Option<Cached> {
        let path = self.path(server);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cached definitions can't be read");
                return None;
            }
        };
        let cached = Stored::parse(&bytes, server);
        if cached.is_none() {
            tracing::warn!(path = %path.display(), "cached definitions are damaged or of another version");
        }
        cached
    }

    /// What of a server's definitions a search index is built from, without reading what the tools are.
    pub fn digest(&self, server: &ServerName) -> Option<DefinitionsDigest> {
        stored::digest(&read(&self.path(server)).ok()?, server)
    }

    /// The names of the tools that are known of a server, without reading what the tools are.
    pub fn tool_names(&self, server: &ServerName) -> Option<Vec<String>> {
        stored::tool_names(&read(&self.path(server)).ok()?, server)
    }

    fn path(&self, server: &ServerName) -> PathBuf {
        self.directory.join(file_name(server.as_str()))
    }
}

/// A file name for any text, without its own characters.
fn file_name(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// Several times what the largest known server sends, and an index of some 50,000 entries.
const LIMIT: u64 = 64 * 1024 * 1024;

/// Opens a regular file of a sensible size; a symbolic link is not followed, a FIFO does not block.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > LIMIT {
        return Err(io::Error::other("it is no regular file of a sensible size"));
    }
    Ok(file)
}

/// Reads such a file.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len().min(LIMIT);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces a file as a whole, 0600, whatever stood there.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        ProblemKind::Unreadable,
        format!("the cache of definitions can't be written: {error}"),
    )
    .at_file(path, None)
    .hint("make the directory writable, or choose another with XDG_CACHE_HOME")
}

#[cfg(test)]
mod tests;
