//! All daemons' lines in the order of time.
//!
//! Each file is taken for ordered, which it is but for a clock that was set back.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use skills::problem::{Problem, ProblemKind};

use super::chain::{Chain, Raw};
use super::line::Line;

/// The ending of the file that a daemon writes; those that were rotated have a number after it.
const ENDING: &str = ".jsonl";

/// The streams of lines and the next line of each.
#[derive(Debug)]
pub(super) struct Merge {
    directory: PathBuf,
    streams: BTreeMap<PathBuf, Stream>,
    damaged: u64,
}

#[derive(Debug)]
struct Stream {
    chain: Chain,
    head: Option<Line>,
}

impl Merge {
    pub(super) fn open(directory: &Path) -> Result<Self, Problem> {
        let mut merge = Self {
            directory: directory.to_owned(),
            streams: BTreeMap::new(),
            damaged: 0,
        };
        merge.find_streams().map_err(|(path, error)| {
            Problem::new(
                ProblemKind::Unreadable,
                format!("the access log can't be read: {error}"),
            )
            .at_file(path, None)
        })?;
        Ok(merge)
    }

    /// Looks for new files; what can't be read now is tried again the next time.
    pub(super) fn refresh(&mut self) {
        for stream in self.streams.values_mut() {
            let _ = stream.chain.refresh();
        }
        let _ = self.find_streams();
    }

    /// The earliest line. With `until`, one that is not later than that, and a line without its end is left until it has one.
    pub(super) fn next(&mut self, until: Option<Timestamp>) -> Option<Line> {
        for stream in self.streams.values_mut() {
            stream.fill(until.is_none(), &mut self.damaged);
        }
        let (stream, time) = self
            .streams
            .values_mut()
            .filter_map(|stream| {
                let time = stream.head.as_ref()?.record.time;
                Some((stream, time))
            })
            .min_by_key(|(_, time)| *time)?;
        if until.is_some_and(|until| time > until) {
            return None;
        }
        stream.head.take()
    }

    /// How many lines could not be read as such.
    pub(super) fn damaged(&self) -> u64 {
        self.damaged
    }

    fn find_streams(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err((self.directory.clone(), error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| (self.directory.clone(), error))?;
            let Some(path) = written_path(&entry.path()) else {
                continue;
            };
            if let Entry::Vacant(place) = self.streams.entry(path.clone()) {
                let chain = Chain::open(path.clone()).map_err(|error| (path, error))?;
                place.insert(Stream { chain, head: None });
            }
        }
        Ok(())
    }
}

impl Stream {
    fn fill(&mut self, finish: bool, damaged: &mut u64) {
        while self.head.is_none() {
            match self.chain.next(finish) {
                Ok(Some(Raw::Line(bytes))) => match Line::parse(bytes) {
                    Some(line) => self.head = Some(line),
                    None => *damaged += 1,
                },
                Ok(Some(Raw::TooLong)) => *damaged += 1,
                Ok(None) => return,
                Err(_) => {
                    // The file that breaks off is given up, and the next one read.
                    *damaged += 1;
                }
            }
        }
    }
}

/// The file that a daemon writes, from the name of it or of one that was rotated.
fn written_path(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let stem = match name.rsplit_once('.') {
        Some((stem, number)) if number.parse::<u32>().is_ok() => stem,
        _ => name,
    };
    stem.ends_with(ENDING).then(|| path.with_file_name(stem))
}
