//! What the journal needs to know of the past: the definitions as they were when last looked at, kept across mounts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills::catalog::Snapshot;
use skills::entry_id::EntryId;
use skills::known::{Known, differences};

use crate::journal::Journal;

/// The journal together with the definitions that its last line led to.
#[derive(Debug)]
pub struct History {
    journal: Journal,
    known: Known,
    file: PathBuf,
}

impl History {
    /// Reads back what was known; a file that is missing or damaged counts as nothing known.
    pub fn open(journal: Journal, file: &Path) -> Self {
        let known = fs::read(file)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<BTreeMap<EntryId, String>>(&bytes).ok())
            .unwrap_or_default();
        Self { journal, known: Known(known), file: file.to_owned() }
    }

    /// The journal's last lines, oldest first.
    pub fn lines(&self) -> Arc<[String]> {
        self.journal.tail()
    }

    /// Appends what differs from what was known; the new last lines, or `None` when nothing differs.
    pub fn record(&mut self, snapshot: &Snapshot) -> Option<Arc<[String]>> {
        let now = Known::of(snapshot, &self.known);
        let lines = differences(&self.known, &now);
        if lines.is_empty() {
            return None;
        }
        self.known = now;
        self.journal.append(&lines);
        // Losing the file costs a repeated line in the journal at the next mount, not a definition.
        if let Err(error) = self.save() {
            tracing::warn!(%error, file = %self.file.display(), "what is known could not be saved");
        }
        Some(self.journal.tail())
    }

    fn save(&self) -> std::io::Result<()> {
        let directory = self.file.parent().unwrap_or(Path::new("."));
        let file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(file.as_file(), &self.known.0)?;
        file.persist(&self.file)?;
        Ok(())
    }
}
