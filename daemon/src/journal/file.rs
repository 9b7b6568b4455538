//! The journal's file: a head that names the journal, then lines, each with a number that only grows.
//!
//! It must not know what a line says. A file of an earlier version has neither head nor numbers: it is read as if it had, and
//! written so with the next line.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use data_encoding::BASE32_NOPAD;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use super::{replace, touch};

/// The size at which the older half of the file is dropped.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;

/// What the head begins with.
const HEAD: &str = "journal ";

/// How many letters the name of a journal has.
const NAME: usize = 8;

/// How often, and how far apart, the lock is tried before the work is done without it.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// One line without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) number: u64,
    pub(super) text: String,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The name of the journal; there is none before the first line.
    pub(super) journal: Option<String>,
    /// The lines that are kept, in order.
    pub(super) lines: Vec<Numbered>,
}

impl Content {
    /// Reads a file that may be absent. What stands after its last line break was not written to its end, and does not count.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(text) => Ok(Self::parse(&text[..whole_lines(&text)])),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let (head, body) = match text.split_once('\n') {
            Some((head, body)) if head.starts_with(HEAD) => (Some(&head[HEAD.len()..]), body),
            _ => (None, &*text),
        };
        let first = body.lines().next();
        let mut last = 0_u64;
        let lines = body.lines().map(|line| {
            let numbered = line
                .split_once(' ')
                .and_then(|(number, text)| Some((number.parse::<u64>().ok()?, text)));
            let next = last.saturating_add(1);
            let (number, text) = numbered.unwrap_or((next, line));
            last = number.max(next);
            Numbered {
                number: last,
                text: text.to_owned(),
            }
        });
        let lines = lines.collect();
        Self {
            // One without a head is named after its first line, so that it has that name also when it gets a head.
            journal: head
                .map(str::to_owned)
                .or_else(|| first.map(|line| name_of(line.as_bytes()))),
            lines,
        }
    }

    /// The number of the last line.
    pub(super) fn last(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.number)
    }

    fn render(&self) -> String {
        let mut text = format!("{HEAD}{}\n", self.journal.as_deref().unwrap_or_default());
        render_lines(&mut text, &self.lines);
        text
    }
}

fn render_lines(text: &mut String, lines: &[Numbered]) {
    for Numbered { number, text: line } in lines {
        writeln!(text, "{number} {line}").expect("writing to a string can't fail");
    }
}

fn name_of(bytes: &[u8]) -> String {
    let mut name = BASE32_NOPAD.encode(blake3::hash(bytes).as_bytes());
    name.truncate(NAME);
    name.to_ascii_lowercase()
}

/// The name of a journal that begins now.
fn new_name(first_line: &str) -> String {
    let now = jiff::Timestamp::now().as_nanosecond();
    name_of(format!("{now} {} {first_line}", std::process::id()).as_bytes())
}

/// How much of a text are whole lines.
fn whole_lines(text: &[u8]) -> usize {
    let end = text.iter().rposition(|byte| *byte == b'\n');
    end.map_or(0, |end| end + 1)
}

/// A file that is open for appending, by one who holds the lock.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    file: File,
    size: u64,
    has_head: bool,
    pub(super) content: Content,
}

/// By which it is told whether somebody else has written: a file is appended to or replaced.
pub(super) type Mark = (u64, u64);

impl JournalFile {
    /// Opens a file, which is made where it is absent. A last line that was not written to its end is cut off.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        touch(&file);
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let whole = whole_lines(&text);
        if whole < text.len() {
            file.set_len(whole as u64)?;
            text.truncate(whole);
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            size: text.len() as u64,
            has_head: text.starts_with(HEAD.as_bytes()),
            content: Content::parse(&text),
        })
    }

    /// Appends lines, which get the next numbers: all of them, or after an error none.
    ///
    /// A journal that is begun while something is known already (`is_resumed`) begins with the number 2: the first stands for what
    /// is not told any more, so that no answer passes for a whole one.
    pub(super) fn append(&mut self, lines: &[String], is_resumed: bool) -> io::Result<()> {
        let Some(first) = lines.first() else {
            return Ok(());
        };
        let content = &mut self.content;
        content.journal.get_or_insert_with(|| new_name(first));
        let old = content.lines.len();
        let before_first = u64::from(is_resumed);
        for line in lines {
            let number = content.last().max(before_first).saturating_add(1);
            let text = line.clone();
            content.lines.push(Numbered { number, text });
        }
        if self.has_head {
            let mut text = String::new();
            render_lines(&mut text, &content.lines[old..]);
            if let Err(error) = self.file.write_all(text.as_bytes()) {
                // A part of them may be there, of which nobody would know that it is a part.
                self.file.set_len(self.size)?;
                return Err(error);
            }
            self.size += text.len() as u64;
        } else {
            self.rewrite()?;
        }
        if self.size > MAX_BYTES {
            // The lines are there; a file that is too large is made smaller after the next ones.
            if let Err(error) = self.drop_older_half() {
                tracing::warn!(path = %self.path.display(), %error, "the journal can't be shortened");
            }
        }
        Ok(())
    }

    /// What the file is by now.
    pub(super) fn mark(&self) -> io::Result<Mark> {
        Ok((self.file.metadata()?.ino(), self.size))
    }

    fn drop_older_half(&mut self) -> io::Result<()> {
        let mut left = 0;
        let sizes = self.content.lines.iter().rev().map(|line| {
            left += line.text.len() as u64;
            left
        });
        // The last line stays whatever its size: it holds the number.
        let kept = sizes
            .take_while(|left| *left <= MAX_BYTES / 2)
            .count()
            .max(1);
        let dropped = self.content.lines.len().saturating_sub(kept);
        self.content.lines.drain(..dropped);
        self.rewrite()
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let text = self.content.render();
        replace(&self.path, text.as_bytes())?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.size = text.len() as u64;
        self.has_head = true;
        Ok(())
    }
}

/// Keeps other daemons and commands off what a directory holds, for as long as the answer lives.
///
/// `None` when the file system knows no locks, or somebody who was stopped holds it: a journal that might count a change twice is
/// better than a catalog that waits.
pub(crate) fn lock(directory: &Path, for_writing: bool) -> Option<OwnedFd> {
    let operation = if for_writing {
        FlockOperation::NonBlockingLockExclusive
    } else {
        FlockOperation::NonBlockingLockShared
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(directory, flags, Mode::empty()).ok()?;
    for _ in 0..ATTEMPTS {
        match flock(&directory, operation) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK) => sleep(PAUSE),
            Err(_) => return None,
        }
    }
    None
}
