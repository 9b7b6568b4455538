//! One daemon's files as one stream of lines, across rotation.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::access_log::writer::{KEEP, rotated};

/// The longest line; more than the writer ever writes.
const LINE_BYTES: usize = 1 << 20;

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Raw {
    /// A line, without its line break.
    Line(Vec<u8>),
    /// Something too long to be one.
    TooLong,
}

/// The files of one daemon, oldest first.
#[derive(Debug)]
pub(super) struct Chain {
    path: PathBuf,
    files: VecDeque<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    reader: BufReader<File>,
    /// Device and inode: the one name of a file that rotation does not change.
    id: (u64, u64),
    /// The start of a line whose end is not written yet.
    partial: Vec<u8>,
    /// Whether the line was too long and its rest is to be passed over.
    skipping: bool,
}

impl Chain {
    /// Opens the files of the daemon that writes to `path`.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let mut chain = Self {
            path,
            files: VecDeque::new(),
        };
        chain.refresh()?;
        Ok(chain)
    }

    /// Opens the files that came since.
    ///
    /// The newest first, so that a rotation in the middle shows a file twice, which is noticed, and never not at all.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        let last = self.files.back().map(|file| file.id);
        let mut found: Vec<OpenFile> = Vec::new();
        for number in 0..=KEEP {
            let file = match File::open(rotated(&self.path, number)) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                continue;
            }
            let id = (metadata.dev(), metadata.ino());
            if Some(id) == last {
                break;
            }
            if found.iter().all(|known| known.id != id) {
                found.push(OpenFile {
                    reader: BufReader::with_capacity(64 * 1024, file),
                    id,
                    partial: Vec::new(),
                    skipping: false,
                });
            }
        }
        self.files.extend(found.into_iter().rev());
        Ok(())
    }

    /// The next line, `None` at the end of what is there. The last line may lack its line break when `finish` is set; without it
    /// its rest is waited for. A file that can't be read further is given up.
    pub(super) fn next(&mut self, finish: bool) -> io::Result<Option<Raw>> {
        while let Some(file) = self.files.front_mut() {
            match file.next() {
                Ok(Some(line)) => return Ok(Some(line)),
                Ok(None) => {}
                Err(error) => {
                    self.files.pop_front();
                    return Err(error);
                }
            }
            // Another file after it: it was rotated, and nothing is written to it any more.
            let complete = self.files.len() > 1;
            if !complete && !finish {
                return Ok(None);
            }
            let rest = self.files.front_mut().and_then(OpenFile::rest);
            if complete {
                self.files.pop_front();
            }
            if rest.is_some() || !complete {
                return Ok(rest);
            }
        }
        Ok(None)
    }
}

impl OpenFile {
    fn next(&mut self) -> io::Result<Option<Raw>> {
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.skipping || self.partial.len() + part.len() > LINE_BYTES {
                self.skipping = true;
                self.partial = Vec::new();
            } else {
                self.partial.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.partial);
                if std::mem::take(&mut self.skipping) {
                    return Ok(Some(Raw::TooLong));
                }
                if !line.is_empty() {
                    return Ok(Some(Raw::Line(line)));
                }
            }
        }
    }

    /// What stands after the last line break.
    fn rest(&mut self) -> Option<Raw> {
        let line = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.skipping) {
            return Some(Raw::TooLong);
        }
        (!line.is_empty()).then_some(Raw::Line(line))
    }
}
