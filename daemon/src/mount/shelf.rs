//! What the mount's threads share: the current view, the open files, and the generation that was adopted last.

use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use skills::tree::{Content, Directory, File, MAX_BUFFERED, SourceFile};

use super::Observer;
use super::open_files::{OpenBytes, OpenFile, OpenFiles};
use super::refusal::Refusal;
use super::search::{Answer, SearchDirectory, Searching};
use super::view::{Change, View, ViewNode};
use crate::source_file::{self, OpenSource, SourceError};

/// How long an open waits until the generation that has the new version is adopted.
const ADOPTION_DEADLINE: Duration = Duration::from_secs(1);

/// The state of one mount.
pub(super) struct Shelf {
    pub(super) view: ArcSwap<View>,
    pub(super) open_files: OpenFiles,
    pub(super) observer: Arc<dyn Observer>,
    /// `search/`, where there is one.
    search: Option<SearchDirectory>,
    adopted: Mutex<u64>,
    adoption: Condvar,
}

impl Shelf {
    /// Takes in the first tree, and starts the threads that answer searches.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub(super) fn new(
        generation: u64,
        tree: &Arc<Directory>,
        observer: Arc<dyn Observer>,
        searching: Option<Arc<dyn Searching>>,
    ) -> io::Result<Self> {
        let search = searching
            .map(|searching| SearchDirectory::start(tree, searching))
            .transpose()?;
        let tree = with_search(search.as_ref(), tree);
        Ok(Self {
            view: ArcSwap::from_pointee(View::new(&tree)),
            open_files: OpenFiles::default(),
            observer,
            search,
            adopted: Mutex::new(generation),
            adoption: Condvar::new(),
        })
    }

    /// Serves the next tree from now on. Only the notifier's thread calls it.
    pub(super) fn adopt(&self, generation: u64, tree: &Arc<Directory>) -> Vec<Change> {
        let tree = with_search(self.search.as_ref(), tree);
        let (view, changes) = self.view.load().adopt(&tree);
        self.view.store(Arc::new(view));
        *self.adopted.lock().expect("a number can't panic") = generation;
        self.adoption.notify_all();
        changes
    }

    /// The words of a name that a directory does not list, if the directory is `search/` and the name is words.
    pub(super) fn search_for<'a>(
        &self,
        view: &View,
        directory: u64,
        name: &'a OsStr,
    ) -> Option<(&SearchDirectory, &'a str)> {
        let search = self.search.as_ref()?;
        Some((search, search.words(view, directory, name)?))
    }

    /// The answer of `search/` that has this inode number.
    pub(super) fn answer(&self, inode: u64) -> Option<Arc<Answer>> {
        self.search.as_ref()?.answer(inode)
    }

    /// Adds an opener to a file. Waits for the disk if the file has a source, and then refuses
    /// any other version than the tree knows.
    pub(super) fn open(&self, node: &Arc<ViewNode>, file: &File) -> Result<(), Refusal> {
        match (&file.content, &file.origin) {
            (Content::Bytes(bytes), None) => {
                self.open_bytes(node, bytes);
                Ok(())
            }
            (Content::Bytes(bytes), Some(origin)) => source_file::check(origin)
                .map(|()| self.open_bytes(node, bytes))
                .map_err(|error| self.refuse(origin, error)),
            (Content::Source(source), _) => self
                .open_source(node, source)
                .map_err(|error| self.refuse(source, error)),
        }
    }

    fn open_bytes(&self, node: &Arc<ViewNode>, bytes: &Arc<[u8]>) {
        if !self.open_files.join(node.inode) {
            self.open_files.add(OpenFile {
                node: node.clone(),
                bytes: OpenBytes::Memory(bytes.clone()),
            });
        }
    }

    fn open_source(
        &self,
        node: &Arc<ViewNode>,
        source: &Arc<SourceFile>,
    ) -> Result<(), SourceError> {
        let file = OpenSource::open(source)?;
        if self.open_files.join(node.inode) {
            return Ok(());
        }
        let bytes = if source.stat.size <= MAX_BUFFERED {
            OpenBytes::Memory(file.read_whole()?.into())
        } else {
            OpenBytes::Source(Arc::new(file))
        };
        self.open_files.add(OpenFile {
            node: node.clone(),
            bytes,
        });
        Ok(())
    }

    /// The refusal for a source that can't be served. When it changed, what is there now is published first: the kernel
    /// answers ESTALE by looking the path up again, and must then find the new version.
    fn refuse(&self, source: &SourceFile, error: SourceError) -> Refusal {
        if matches!(error, SourceError::Changed)
            && let Some(generation) = self.observer.source_changed(source)
        {
            self.wait_for(generation);
        }
        error.into()
    }

    fn wait_for(&self, generation: u64) {
        let adopted = self.adopted.lock().expect("a number can't panic");
        // Late or not, the answer is ESTALE: then the kernel finds the old version, and the open comes here once more.
        let _ = self
            .adoption
            .wait_timeout_while(adopted, ADOPTION_DEADLINE, |adopted| *adopted < generation);
    }
}

fn with_search(search: Option<&SearchDirectory>, tree: &Arc<Directory>) -> Arc<Directory> {
    match search {
        Some(search) => search.add_to(tree),
        None => tree.clone(),
    }
}
