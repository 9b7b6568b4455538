//! The files that are open, by inode number: an inode is one version of a file, so all who opened it share its bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::view::ViewNode;
use crate::source_file::OpenSource;

/// One version of a file, kept for those who have it open, whatever was published since.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) node: Arc<ViewNode>,
    pub(super) bytes: OpenBytes,
}

/// The bytes of an open file.
#[derive(Debug)]
pub(super) enum OpenBytes {
    /// In memory.
    Memory(Arc<[u8]>),
    /// In a source that is too large for that.
    Source(Arc<OpenSource>),
}

#[derive(Debug)]
struct Opened {
    file: Arc<OpenFile>,
    openers: u64,
}

/// The table of open files. Its lock is held for the time of a map operation.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    files: Mutex<HashMap<u64, Opened>>,
}

impl OpenFiles {
    fn files(&self) -> MutexGuard<'_, HashMap<u64, Opened>> {
        self.files
            .lock()
            .expect("nothing that can panic runs under the table's lock")
    }

    pub(super) fn get(&self, inode: u64) -> Option<Arc<OpenFile>> {
        self.files().get(&inode).map(|opened| opened.file.clone())
    }

    /// Adds an opener to a file that is open already; says whether it was.
    pub(super) fn join(&self, inode: u64) -> bool {
        match self.files().get_mut(&inode) {
            Some(opened) => {
                opened.openers += 1;
                true
            }
            None => false,
        }
    }

    /// Adds an opener with the file, which is dropped if another was faster.
    pub(super) fn add(&self, file: OpenFile) {
        let file = Arc::new(file);
        self.files()
            .entry(file.node.inode)
            .or_insert_with(|| Opened { file, openers: 0 })
            .openers += 1;
    }

    /// Takes one opener away, and with the last one the file.
    pub(super) fn release(&self, inode: u64) {
        let mut files = self.files();
        let Some(opened) = files.get_mut(&inode) else {
            return;
        };
        opened.openers -= 1;
        if opened.openers == 0 {
            let last = files.remove(&inode);
            // Freed, and closed, outside the lock.
            drop(files);
            drop(last);
        }
    }
}
