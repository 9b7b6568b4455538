//! The journal: which definitions were added, changed and removed, and when. And beside it the memory that outlives a
//! daemon: what was known last, and when each version of a file was first seen.
//!
//! Each line is a revision, a number that outlives daemons and only grows; several daemons of one configuration write one
//! journal, whoever sees a change first. It must not know how a difference is found or where the journal is shown.

mod changes;
mod file;
mod first_seen;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use skills::catalog::{Known, Snapshot};
use skills::problem::{Problem, ProblemKind};
use tempfile::NamedTempFile;

use self::file::{Content, JournalFile, Mark};
use crate::protocol::{ChangeList, Revision};

pub(crate) use self::file::lock;
pub use first_seen::SeenFile;

/// How many lines are held in memory: as many as CHANGES.md shows.
pub const REMEMBERED: usize = 200;

/// Where the journal of one configuration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub directory: PathBuf,
    /// The name of the configuration.
    pub name: String,
}

impl Place {
    /// The place of a configuration below the directory of Toolshelf's state.
    pub fn below(state: &Path, name: &str) -> Self {
        Self {
            directory: state.join("catalogs"),
            name: name.to_owned(),
        }
    }

    /// What changed since a revision, as far as it is kept; everything that is kept without one. Summaries are absent.
    ///
    /// Only what is on the disk counts, so that no revision is ever told that a restart could take back.
    ///
    /// # Errors
    /// [`ProblemKind::Usage`] when there can't have been such a revision, [`ProblemKind::Unreadable`] when the journal can't be read.
    pub fn changes(&self, since: Option<&Revision>) -> Result<ChangeList, Problem> {
        let held = lock(&self.directory, false);
        let path = self.journal_path();
        let content = Content::read(&path).map_err(|error| unusable(&path, &error))?;
        let known = self.known().unwrap_or_default();
        drop(held);
        changes::list(&content, &known, since)
    }

    fn journal_path(&self) -> PathBuf {
        self.directory.join(format!("{}.journal", self.name))
    }

    fn known_path(&self) -> PathBuf {
        self.directory.join(format!("{}.known.json", self.name))
    }

    /// What was known last; without it everything is first seen once more, which is what the journal then says.
    fn known(&self) -> Option<Known> {
        let json = fs::read(self.known_path()).ok()?;
        serde_json::from_slice(&json).ok()
    }
}

/// An append-only file of dated lines.
#[derive(Debug)]
pub struct Journal {
    place: Place,
    /// What the file was when this daemon read or wrote it last.
    mark: Option<Mark>,
    last: VecDeque<String>,
    known: Known,
    /// Whether what is known is on the disk.
    is_saved: bool,
    /// Whether every line is in the file; what is known may then still not be on the disk.
    is_written: bool,
    /// The lines that could not be written, which keep their times.
    unwritten: Vec<String>,
    /// Lines of others that wait for the next record.
    noted: Vec<String>,
    /// How many lines of the file can't be read.
    damaged: usize,
}

impl Journal {
    /// Opens `<name>.journal` in a directory, which is made where it is absent. A last line that was not written to its
    /// end is dropped.
    ///
    /// # Errors
    /// When the directory or the file can't be made or read.
    pub fn open(directory: &Path, name: &str) -> Result<Self, Problem> {
        make_private(directory).map_err(|error| unusable(directory, &error))?;
        let place = Place {
            directory: directory.to_owned(),
            name: name.to_owned(),
        };
        let path = place.journal_path();
        let held = lock(directory, true);
        let file = JournalFile::open(&path).map_err(|error| unusable(&path, &error))?;
        if let Ok(known) = File::open(place.known_path()) {
            touch(&known);
        }
        let mut journal = Self {
            mark: file.mark().ok(),
            last: VecDeque::with_capacity(REMEMBERED),
            known: place.known().unwrap_or_default(),
            place,
            is_saved: true,
            is_written: true,
            unwritten: Vec::new(),
            noted: Vec::new(),
            damaged: 0,
        };
        drop(held);
        journal.remember_all(&file.content);
        Ok(journal)
    }

    /// Takes lines, `<sign> <id>`, of what a comparison of definitions does not show: they are appended with the next record.
    pub fn note(&mut self, lines: Vec<String>) {
        self.noted.extend(lines);
    }

    /// Appends what changed since the snapshot that was recorded last, and says whether that was anything.
    ///
    /// `before` is that snapshot, if this daemon recorded one; without it the comparison is with what the last daemon
    /// knew, so the first snapshot to be recorded must be one in which every source has spoken.
    ///
    /// # Errors
    /// When a file can't be written. Then no line is on the disk: they are held in memory alone, and written with the next ones.
    pub fn record(&mut self, before: Option<&Snapshot>, after: &Snapshot) -> Result<bool, Problem> {
        let mut is_resumed = !self.known.is_empty();
        let mut lines = self.known.advance(before, after);
        if lines.is_empty() && self.noted.is_empty() && self.is_saved {
            return Ok(false);
        }
        let held = lock(&self.place.directory, true);
        let opened = JournalFile::open(&self.place.journal_path());
        if let Ok(file) = &opened
            && (!self.is_written || self.mark != file.mark().ok())
        {
            // Another daemon wrote meanwhile, which may have seen the same, or our own last lines are not on the disk.
            let known = self.place.known();
            let before = before.filter(|_| self.is_saved && known.is_some());
            self.known = known.unwrap_or_default();
            is_resumed = !self.known.is_empty();
            lines = self.known.advance(before, after);
            self.remember_all(&file.content);
        }
        lines.extend_from_slice(&self.noted);
        let lines = self.date(lines);
        for line in &lines {
            self.remember(line.clone());
        }
        self.is_saved = false;
        self.is_written = false;
        if opened.is_ok() {
            self.unwritten.clear();
        }
        self.unwritten.extend_from_slice(&lines);
        self.write(opened, &lines, is_resumed)?;
        drop(held);
        Ok(!lines.is_empty())
    }

    /// Writes lines and what is known with them. On a full disk the one without the other would be told again and again, so
    /// the room for what is known is taken before the lines are written, and what is known takes its place after that.
    fn write(
        &mut self,
        opened: io::Result<JournalFile>,
        lines: &[String],
        is_resumed: bool,
    ) -> Result<(), Problem> {
        let path = self.place.known_path();
        let json =
            serde_json::to_vec(&self.known).map_err(|error| unusable(&path, &error.into()))?;
        let known = prepare(&path, &json).map_err(|error| unusable(&path, &error))?;
        self.append_to(opened, lines, is_resumed)?;
        self.noted.clear();
        self.is_written = true;
        self.unwritten.clear();
        known
            .persist(&path)
            .map_err(|error| unusable(&path, &error.error))?;
        self.is_saved = true;
        Ok(())
    }

    /// Puts the time in front of each line: of one that could not be written before, the time of then.
    fn date(&self, lines: Vec<String>) -> Vec<String> {
        // Whole seconds: nobody reads a journal for less.
        let now = Timestamp::from_second(Timestamp::now().as_second())
            .expect("a time without its fraction is a time");
        let unwritten = self.unwritten.iter();
        let earlier: HashMap<&str, &String> = unwritten
            .filter_map(|dated| Some((dated.split_once(' ')?.1, dated)))
            .collect();
        let date = |line: String| match earlier.get(line.as_str()) {
            Some(dated) => (*dated).clone(),
            None => format!("{now} {line}"),
        };
        lines.into_iter().map(date).collect()
    }

    /// Appends dated lines, all of them or none. `is_resumed` says that something was known before them.
    fn append_to(
        &mut self,
        opened: io::Result<JournalFile>,
        lines: &[String],
        is_resumed: bool,
    ) -> Result<(), Problem> {
        let written = opened.and_then(|mut file| {
            file.append(lines, is_resumed)?;
            file.mark()
        });
        let mark = written.map_err(|error| unusable(&self.place.journal_path(), &error))?;
        self.mark = Some(mark);
        Ok(())
    }

    /// Whether everything that was recorded is on the disk; what is not is tried again when the next snapshot is recorded.
    pub fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// What is wrong with the file as it was read last.
    pub fn damage(&self) -> Option<Problem> {
        let damaged = self.damaged;
        let unit = if damaged == 1 { "line" } else { "lines" };
        (damaged > 0).then(|| {
            let message = format!("{damaged} {unit} of the journal can't be read");
            Problem::new(ProblemKind::Unreadable, message)
                .at_file(self.place.journal_path(), None)
                .hint("what they told of changes is lost; delete the file, and it is begun anew")
        })
    }

    /// The last lines, oldest first, at most [`REMEMBERED`].
    pub fn tail(&self, count: usize) -> Arc<[String]> {
        let first = self.last.len().saturating_sub(count);
        self.last.range(first..).cloned().collect()
    }

    fn remember_all(&mut self, content: &Content) {
        self.damaged = changes::damaged(content);
        self.last.clear();
        let first = content.lines.len().saturating_sub(REMEMBERED);
        for line in &content.lines[first..] {
            self.remember(line.text.clone());
        }
    }

    /// What is not trusted is in no file of the shelf.
    fn remember(&mut self, line: String) {
        if changes::is_held(&line) {
            return;
        }
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }
}

fn read_and_touch(mut file: File) -> io::Result<Vec<u8>> {
    touch(&file);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Says that a file is still of use, whether or not it is written.
fn touch(file: &File) {
    // Then it goes when it is old, which costs times and no more.
    let _ = file.set_modified(SystemTime::now());
}

/// Makes a directory that only its owner can enter; one that is there stays as it is.
fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Replaces a file by rename, so that a reader finds the old bytes or the new ones.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    prepare(path, bytes)?.persist(path)?;
    Ok(())
}

/// Writes the bytes of a file beside it, for it to be replaced by.
fn prepare(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn unusable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(ProblemKind::Unreadable, format!("can't be used: {error}"))
        .at_file(path, None)
        .hint("check its permissions and the space on its disk")
}
