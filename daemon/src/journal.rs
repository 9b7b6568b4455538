//! The journal: which definitions were added, changed and removed, and when. And beside it the memory that outlives a
//! daemon: what was known last, and when each version of a file was first seen.
//!
//! It must not know how a difference is found or where the journal is shown.

mod first_seen;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use skills::catalog::{Known, Snapshot};
use skills::problem::{Problem, ProblemKind};

pub use first_seen::SeenFile;

/// How many lines are held in memory: as many as CHANGES.md shows.
pub const REMEMBERED: usize = 200;

/// The size at which the older half of the file is dropped.
const MAX_BYTES: u64 = 1024 * 1024;

/// An append-only file of dated lines.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    size: u64,
    last: VecDeque<String>,
    known_path: PathBuf,
    known: Known,
}

impl Journal {
    /// Opens `<name>.journal` in a directory, which is made where it is absent. A last line that was not written to its
    /// end is dropped.
    ///
    /// # Errors
    /// When the directory or the file can't be made or read.
    pub fn open(directory: &Path, name: &str) -> Result<Self, Problem> {
        make_private(directory).map_err(|error| unusable(directory, &error))?;
        let path = directory.join(format!("{name}.journal"));
        let known_path = directory.join(format!("{name}.known.json"));
        let (file, text) = read_whole_lines(&path).map_err(|error| unusable(&path, &error))?;
        let mut journal = Self {
            size: text.len() as u64,
            path,
            file,
            last: VecDeque::with_capacity(REMEMBERED),
            // Without it everything is first seen once more, which is what the journal then says.
            known: File::open(&known_path)
                .and_then(read_and_touch)
                .ok()
                .and_then(|json| serde_json::from_slice(&json).ok())
                .unwrap_or_default(),
            known_path,
        };
        for line in String::from_utf8_lossy(&text).lines() {
            journal.remember(line.to_owned());
        }
        Ok(journal)
    }

    /// Appends what changed since the snapshot that was recorded last, and says whether that was anything.
    ///
    /// `before` is that snapshot, if this daemon recorded one; without it the comparison is with what the last daemon
    /// knew, so the first snapshot to be recorded must be one in which every source has spoken.
    ///
    /// # Errors
    /// When the file can't be written; the lines are then held in memory alone.
    pub fn record(&mut self, before: Option<&Snapshot>, after: &Snapshot) -> Result<bool, Problem> {
        let lines = self.known.advance(before, after);
        if lines.is_empty() {
            return Ok(false);
        }
        self.append(&lines)?;
        let json = serde_json::to_vec(&self.known)
            .map_err(|error| unusable(&self.known_path, &error.into()))?;
        replace(&self.known_path, &json).map_err(|error| unusable(&self.known_path, &error))?;
        Ok(true)
    }

    /// Appends lines, each with the time in front of it.
    ///
    /// # Errors
    /// When the file can't be written; the lines are then held in memory alone.
    pub fn append(&mut self, lines: &[String]) -> Result<(), Problem> {
        let mut text = String::new();
        // Whole seconds: nobody reads a journal for less.
        let now = Timestamp::from_second(Timestamp::now().as_second())
            .expect("a time without its fraction is a time");
        for line in lines {
            let line = format!("{now} {line}");
            text.push_str(&line);
            text.push('\n');
            self.remember(line);
        }
        self.write(text.as_bytes())
            .map_err(|error| unusable(&self.path, &error))
    }

    /// The last lines, oldest first, at most [`REMEMBERED`].
    pub fn tail(&self, count: usize) -> Arc<[String]> {
        let first = self.last.len().saturating_sub(count);
        self.last.range(first..).cloned().collect()
    }

    fn remember(&mut self, line: String) {
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)?;
        self.size += text.len() as u64;
        if self.size > MAX_BYTES {
            self.shrink()?;
        }
        Ok(())
    }

    /// Drops the older half.
    fn shrink(&mut self) -> io::Result<()> {
        let text = fs::read(&self.path)?;
        let half = &text[text.len() / 2..];
        let first_line = half.iter().position(|byte| *byte == b'\n');
        let kept = first_line.map_or(half, |end| &half[end + 1..]);
        replace(&self.path, kept)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.size = kept.len() as u64;
        Ok(())
    }
}

/// Opens a file for appending and reads it; what stands after its last line break is cut off.
fn read_whole_lines(path: &Path) -> io::Result<(File, Vec<u8>)> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    touch(&file);
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n');
    let whole = whole.map_or(0, |end| end + 1);
    if whole < text.len() {
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        text.truncate(whole);
    }
    Ok((file, text))
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
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

fn unusable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(ProblemKind::Unreadable, format!("can't be used: {error}"))
        .at_file(path, None)
        .hint("check its permissions and the space on its disk")
}
