//! The store: the bytes of remembered versions, each in a private file named by a hash.
//!
//! It does not believe itself: whoever reads checks the bytes against the hash. It must not know what is in them.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirEntry};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use skills::tree::{SourceFile, SourceStat};

use super::hash::Hash;

/// What is of no use stays for so long: another daemon may be about to name it in the ledger.
const GRACE: Duration = Duration::from_secs(60 * 60);

/// The store of one catalog.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    /// Where nothing may be written: what would have been.
    unwritten: Option<Mutex<HashMap<Hash, Arc<[u8]>>>>,
}

impl Store {
    /// The store in a directory, which is made with the first object.
    pub(super) fn open(directory: &Path) -> Self {
        Self {
            directory: directory.join("objects"),
            unwritten: None,
        }
    }

    /// The same, to be read: what is put there is held in memory.
    pub(super) fn read(directory: &Path) -> Self {
        Self {
            unwritten: Some(Mutex::default()),
            ..Self::open(directory)
        }
    }

    pub(super) const fn is_read_only(&self) -> bool {
        self.unwritten.is_some()
    }

    /// Keeps bytes; those that are there already stay.
    pub(super) fn put(&self, hash: Hash, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(hash);
        if path.exists() {
            return Ok(());
        }
        if let Some(unwritten) = &self.unwritten {
            let mut unwritten = unwritten.lock().unwrap_or_else(PoisonError::into_inner);
            unwritten.insert(hash, bytes.into());
            return Ok(());
        }
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    /// The bytes that are kept under a hash, whatever they are.
    pub(super) fn get(&self, hash: Hash) -> Option<Vec<u8>> {
        if let Some(unwritten) = &self.unwritten {
            let unwritten = unwritten.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(bytes) = unwritten.get(&hash) {
                return Some(bytes.to_vec());
            }
        }
        fs::read(self.path(hash)).ok()
    }

    /// The bytes whose own hash it is.
    pub(super) fn content(&self, hash: Hash) -> Option<Vec<u8>> {
        self.get(hash).filter(|bytes| Hash::of(bytes) == hash)
    }

    /// The file of bytes whose own hash it is, for them to be served from there.
    pub(super) fn source(&self, hash: Hash) -> Option<Arc<SourceFile>> {
        let path = self.path(hash);
        let stat = || Some(SourceStat::of(&fs::symlink_metadata(&path).ok()?));
        let before = stat()?;
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut fs::File::open(&path).ok()?, &mut hasher).ok()?;
        let is_it = Hash::from(hasher.finalize()) == hash && stat()? == before;
        is_it.then(|| {
            Arc::new(SourceFile {
                root: self.directory.clone(),
                path: hash.to_string().into(),
                stat: before,
            })
        })
    }

    /// Removes what is not among the live hashes.
    pub(super) fn sweep(&self, live: &BTreeSet<Hash>) {
        let now = SystemTime::now();
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_live = Hash::try_from(name).is_ok_and(|hash| live.contains(&hash));
            if !is_live && is_older(&entry, now) {
                // What can't be removed stays until the next time.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, hash: Hash) -> PathBuf {
        self.directory.join(hash.to_string())
    }
}

fn is_older(entry: &DirEntry, now: SystemTime) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > GRACE))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::{Hash, Store};

    #[test]
    fn what_is_not_what_it_should_be_is_not_given() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(place.path());
        let hash = Hash::of(b"bytes");
        store.put(hash, b"bytes").unwrap();
        assert_eq!(store.content(hash).as_deref(), Some(&b"bytes"[..]));
        assert!(store.source(hash).is_some());
        fs::write(store.path(hash), "other").unwrap();
        assert_eq!(store.content(hash), None);
        assert!(store.source(hash).is_none());
    }

    #[test]
    fn only_what_is_old_and_of_no_use_is_swept() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(place.path());
        let [live, old, new] = [b"live", b"old!", b"new!"].map(|bytes| {
            let hash = Hash::of(bytes);
            store.put(hash, bytes).unwrap();
            hash
        });
        for hash in [live, old] {
            let file = File::options().append(true).open(store.path(hash)).unwrap();
            let long_ago = SystemTime::now() - Duration::from_secs(100_000);
            file.set_modified(long_ago).unwrap();
        }
        store.sweep(&BTreeSet::from([live]));
        assert!(store.get(live).is_some() && store.get(new).is_some());
        assert!(store.get(old).is_none());
    }

    #[test]
    fn who_may_only_read_writes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::read(place.path());
        let hash = Hash::of(b"bytes");
        store.put(hash, b"bytes").unwrap();
        assert_eq!(store.content(hash).as_deref(), Some(&b"bytes"[..]));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
