//! The user's key: with it a hash of secrets can be kept on disk, and nobody without it can try secrets out.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Freshness;
use crate::config::{Access, Endpoint, Launch};

#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Reads the key, and makes one where there is none or one that others could have read or written.
    pub(super) fn read_or_make(path: &Path) -> io::Result<Self> {
        if let Some(key) = Self::read(path) {
            return Ok(key);
        }
        let Self(key) = Self::make()?;
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&key)?;
        match file.persist_noclobber(path) {
            Ok(_) => return Ok(Self(key)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                // Another daemon was faster, and then its key is taken; or it is no key.
                if let Some(key) = Self::read(path) {
                    return Ok(key);
                }
                fs::remove_file(path)?;
                error.file.persist(path).map_err(|error| error.error)?;
            }
            Err(error) => return Err(error.error),
        }
        Ok(Self(key))
    }

    /// Makes a key.
    pub(super) fn make() -> io::Result<Self> {
        let mut key = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Self(key))
    }

    fn read(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let private = metadata.mode() & 0o077 == 0;
        if !private || metadata.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
        super::read(path).ok()?.try_into().ok().map(Self)
    }

    pub(super) fn freshness(&self, access: &Access, capabilities: &str) -> Freshness {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        // Each part behind its length, so that no two ways to a server read the same.
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(capabilities.as_bytes());
        match access {
            Access::Process(launch) => launch_parts(launch, part),
            Access::Http(endpoint) => endpoint_parts(endpoint, part),
        }
        Freshness(*hasher.finalize().as_bytes())
    }
}

fn launch_parts(launch: &Launch, mut part: impl FnMut(&[u8])) {
    part(launch.directory.as_os_str().as_encoded_bytes());
    part(launch.command.as_bytes());
    part(&(launch.args.len() as u64).to_le_bytes());
    for argument in &launch.args {
        part(argument.as_bytes());
    }
    for (name, value) in &launch.own_environment {
        part(name.as_bytes());
        part(value.as_bytes());
    }
}

fn endpoint_parts(endpoint: &Endpoint, mut part: impl FnMut(&[u8])) {
    // A working directory is never empty, so no process reads the same.
    part(b"");
    part(endpoint.uri.to_string().as_bytes());
    let mut headers: Vec<_> = endpoint.headers.iter().collect();
    headers.sort_by_key(|(name, _)| name.as_str());
    for (name, value) in headers {
        part(name.as_str().as_bytes());
        part(value.as_bytes());
    }
}
