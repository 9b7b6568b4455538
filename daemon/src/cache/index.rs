//! The search index on disk: `<cache directory>/search/<configuration>`, one file for a configuration as it is used without further
//! skills.
//!
//! It knows when a file is the index of what is there now, not how an index is laid out in it.

use std::fs::DirBuilder;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use skills::problem::Problem;
use skills::search::{Basis, SearchIndex, StoredIndex};

use super::{LIMIT, file_name, open, read, unwritable};

/// The place of one configuration's index. It need not be there, and nobody relies on it: whoever finds none, or one that is damaged
/// or was built from something else, builds the index.
#[derive(Clone, Debug)]
pub struct IndexCache {
    path: PathBuf,
}

impl IndexCache {
    /// The place for a configuration, named as for [`DefinitionCache::open`](super::DefinitionCache::open).
    pub fn new(directory: &Path, configuration: &str) -> Self {
        Self {
            path: directory.join("search").join(file_name(configuration)),
        }
    }

    /// What is there, whatever it was built from.
    pub fn load(&self) -> Option<StoredIndex> {
        StoredIndex::read(&read(&self.path).ok()?)
    }

    /// Writes the index with what it was built from.
    ///
    /// # Errors
    /// When the file can't be written; everything goes on without.
    pub fn store(&self, index: &SearchIndex, basis: &Basis) -> Result<(), Problem> {
        let written = self.write(|out| index.store(basis, out));
        written.map_err(|error| unwritable(&self.path, &error))
    }

    /// What the index that is there says that it was built from.
    pub fn basis(&self) -> Option<Basis> {
        let mut beginning = [0; StoredIndex::BEGINNING];
        let mut file = open(&self.path).ok()?;
        file.read_exact(&mut beginning).ok()?;
        StoredIndex::basis_in(&beginning)
    }

    /// Whether the index that is there says that it was built from this; it counts as in use from now on.
    pub fn has(&self, basis: &Basis) -> bool {
        let has = self.basis() == Some(*basis);
        if has && let Ok(file) = open(&self.path) {
            // The owner needs no right to write for this; of another's file it is as good that it is removed sooner.
            let _ = file.set_modified(SystemTime::now());
        }
        has
    }

    /// Replaces the file as a whole, piece by piece: an index may be large.
    fn write(&self, index: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        let mut out = BufWriter::new(file.as_file_mut());
        index(&mut out)?;
        out.flush()?;
        drop(out);
        if file.as_file().metadata()?.len() > LIMIT {
            return Err(io::Error::other("it is too large to be read again"));
        }
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}
