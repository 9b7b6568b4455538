//! The ledger: every pin of a catalog in one private file, written as a whole under a lock that all of its daemons take.
//!
//! It fails closed: with a file that can't be read, nothing counts as trusted, and the file stays as it is. It must not know what a
//! version is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use skills::problem::{Problem, ProblemKind};

use super::hash::Hash;
use super::subject::Subject;
use super::transition::{Held, Pin, PinsBySubject};
use crate::journal::lock;

/// The format of the file.
const VERSION: u32 = 1;

/// The name of the file.
pub(crate) const FILE_NAME: &str = "ledger.json";

/// What to do where nothing is trusted any more.
const LOST: &str = "what is not known is not served; restore the file, or look at every source and remove the file: what is there then is trusted";

/// What is done where nothing is strict.
const BEGUN_ANEW: &str = "it is begun anew with what is there now";

/// By which it is told whether somebody else has written the file, which is always replaced.
type Mark = (u64, u64, i64, i64);

/// Every pin of one catalog.
#[derive(Debug)]
pub(super) struct Ledger {
    directory: PathBuf,
    /// Shared, so that whoever works with them for long takes no copy.
    pins: Arc<PinsBySubject>,
    mark: Option<Mark>,
    is_read_only: bool,
    /// Why the file can't be used.
    damage: Option<Problem>,
    /// Why it was begun anew.
    begun_anew: Option<Problem>,
    /// Why it could not be written last.
    unwritten: Option<Problem>,
    /// Whether there is something in it that was not published yet.
    has_news: bool,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    pins: Vec<StoredPin>,
}

#[derive(Serialize, Deserialize)]
struct StoredPin {
    subject: Subject,
    pin: Pin,
}

impl Ledger {
    /// Opens the ledger in a directory, which is made where it is absent.
    pub(super) fn open(directory: &Path) -> Self {
        let mut ledger = Self::new(directory, false);
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory);
        if let Err(error) = made {
            ledger.damage = Some(ledger.fault(&error.to_string()));
        }
        // By which it is seen to be of use still, however seldom it is written.
        if let Ok(file) = File::open(ledger.path()) {
            let _ = file.set_modified(SystemTime::now());
        }
        ledger.refresh();
        ledger
    }

    /// The ledger, if there is one, to be read with the first refresh; it is never written.
    pub(super) fn read(directory: &Path) -> Self {
        Self::new(directory, true)
    }

    fn new(directory: &Path, is_read_only: bool) -> Self {
        Self {
            directory: directory.to_owned(),
            pins: Arc::default(),
            mark: None,
            is_read_only,
            damage: None,
            begun_anew: None,
            unwritten: None,
            has_news: false,
        }
    }

    /// Whether others wrote it, or something was trusted, since this was asked last.
    pub(super) const fn take_news(&mut self) -> bool {
        std::mem::replace(&mut self.has_news, false)
    }

    /// Says that something was trusted.
    pub(super) const fn tell_news(&mut self) {
        self.has_news = true;
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(FILE_NAME)
    }

    pub(super) fn pins(&self) -> &PinsBySubject {
        &self.pins
    }

    /// The pins as they are now.
    pub(super) fn shared(&self) -> Arc<PinsBySubject> {
        Arc::clone(&self.pins)
    }

    pub(super) fn get(&self, subject: &Subject) -> Option<&Pin> {
        self.pins.get(subject)
    }

    /// Whether what is seen for the first time can be remembered, and so trusted.
    pub(super) const fn is_usable(&self) -> bool {
        self.damage.is_none()
    }

    /// What is wrong. Where nothing is strict a file that can't be used is begun anew, and that is told until the daemon ends.
    pub(super) fn problem(&self, is_strict: bool) -> Option<Problem> {
        let damage = self
            .damage
            .clone()
            .map(|problem| problem.hint(if is_strict { LOST } else { BEGUN_ANEW }));
        damage
            .or_else(|| self.begun_anew.clone())
            .or_else(|| self.unwritten.clone())
    }

    /// Reads the file where it is another one than was read or written last. A file that is gone takes nothing with it: it is written
    /// again.
    pub(super) fn refresh(&mut self) {
        let mark = mark(&self.path());
        if mark == self.mark || mark.is_none() {
            self.mark = mark;
            return;
        }
        match self.load() {
            Ok(pins) => {
                self.pins = Arc::new(pins);
                self.damage = None;
            }
            // What this daemon knows it goes by; nothing is added to it.
            Err(why) => self.damage = Some(self.fault(&why)),
        }
        self.mark = mark;
        self.has_news = true;
    }

    /// Changes the pins under the lock, beginning with what other daemons wrote, and writes them where that changed anything.
    /// `None` when the file can't be used: then nothing is changed.
    pub(super) fn update<T>(&mut self, change: impl FnOnce(&mut PinsBySubject) -> T) -> Option<T> {
        let _held = (!self.is_read_only).then(|| lock(&self.directory, true));
        self.refresh();
        if !self.is_usable() {
            return None;
        }
        let before = Arc::clone(&self.pins);
        let changed = change(Arc::make_mut(&mut self.pins));
        let is_new = *self.pins != *before || self.unwritten.is_some() || self.mark.is_none();
        if is_new && !self.is_read_only {
            self.save();
        }
        Some(changed)
    }

    /// The same for a change that must not be lost: where it can't be written nothing is changed.
    ///
    /// # Errors
    /// When the file can't be used, or not written.
    pub(super) fn commit<T>(
        &mut self,
        change: impl FnOnce(&mut PinsBySubject) -> T,
    ) -> Result<T, Problem> {
        self.refresh();
        let before = Arc::clone(&self.pins);
        let changed = self.update(change);
        match (changed, &self.unwritten) {
            (Some(changed), None) => Ok(changed),
            (Some(_), Some(unwritten)) => {
                let unwritten = unwritten.clone();
                self.pins = before;
                Err(unwritten)
            }
            (None, _) => Err(self.damage.clone().map_or_else(
                || Problem::new(ProblemKind::Unreadable, "the pins can't be used"),
                |damage| damage.hint(LOST),
            )),
        }
    }

    /// Forgets what could not be written.
    pub(super) fn forget_unwritten(&mut self, subjects: &[Subject]) {
        if self.unwritten.is_some() {
            let pins = Arc::make_mut(&mut self.pins);
            for subject in subjects {
                pins.remove(subject);
            }
        }
    }

    /// Begins anew where the file can't be used; only where nothing is strict.
    pub(super) fn begin_anew(&mut self) {
        if self.damage.is_some() && !self.is_read_only {
            // Kept for whoever wants to know what it was.
            let _ = fs::rename(self.path(), self.directory.join("ledger.damaged"));
            tracing::warn!(path = %self.path().display(), "the pins could not be read, and are begun anew");
            self.begun_anew = self.damage.take().map(|problem| problem.hint(BEGUN_ANEW));
            self.mark = None;
        }
    }

    /// Every version that is still of use.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&Subject, Hash)> {
        self.pins.iter().flat_map(|(subject, pin)| {
            let held = match &pin.held {
                Some(Held::Changed(version)) => Some(version),
                Some(Held::Gone(_)) | None => None,
            };
            let versions = [pin.trusted.as_ref(), pin.before.as_ref(), held];
            let versions = versions.into_iter().flatten();
            versions.map(move |version| (subject, version.hash))
        })
    }

    fn load(&self) -> Result<PinsBySubject, String> {
        let path = self.path();
        let metadata = fs::symlink_metadata(&path).map_err(|error| error.to_string())?;
        let is_ours = metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0;
        if !metadata.is_file() || !is_ours {
            return Err("is no file of the daemon's own user that only they can write".to_owned());
        }
        let text = fs::read(&path).map_err(|error| error.to_string())?;
        let stored: Stored = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        if stored.version != VERSION {
            return Err("is of another version of shelf".to_owned());
        }
        let pins = stored.pins.into_iter();
        Ok(pins.map(|stored| (stored.subject, stored.pin)).collect())
    }

    fn save(&mut self) {
        let pins = self.pins.iter().map(|(subject, pin)| StoredPin {
            subject: subject.clone(),
            pin: pin.clone(),
        });
        let stored = Stored {
            version: VERSION,
            pins: pins.collect(),
        };
        let written = serde_json::to_vec(&stored)
            .map_err(io::Error::from)
            .and_then(|json| write(&self.directory, &self.path(), &json));
        self.unwritten = written.err().map(|error| {
            let message = format!("what was seen can't be remembered: {error}");
            Problem::new(ProblemKind::Unreadable, message)
                .at_file(self.path(), None)
                .hint("check its permissions and the space on its disk")
        });
        self.mark = mark(&self.path());
    }

    fn fault(&self, why: &str) -> Problem {
        let message = format!("the pins can't be used: {why}");
        Problem::new(ProblemKind::Unreadable, message).at_file(self.path(), None)
    }
}

fn mark(path: &Path) -> Option<Mark> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    ))
}

/// Replaces a file by rename; a temporary file is private. On the disk, since what is forgotten would be trusted anew.
fn write(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests;
