//! The writing thread: a buffer, the file, its rotation.
//!
//! A line is in the file at most half a second after it was queued, so that a killed daemon loses no more than that.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use skills::problem::{Problem, ProblemKind};

use super::record::Record;
use super::{Message, Shared};

/// The size at which a file is rotated when none is configured.
pub(crate) const DEFAULT_BYTES: u64 = 16 * 1024 * 1024;
/// How many rotated files are kept.
pub(super) const KEEP: u32 = 4;
/// The longest that a line stays in the buffer.
pub(super) const FLUSH_AFTER: Duration = Duration::from_millis(500);
/// How long the thread sleeps between two looks at the queue; when it finds nothing new, the buffer is written.
const NAP: Duration = Duration::from_millis(10);
/// The buffer that is written without waiting.
const BUFFER: usize = 64 * 1024;

/// One daemon's file and what is not in it yet.
pub(super) struct Writer {
    path: PathBuf,
    max_bytes: u64,
    shared: Arc<Shared>,
    file: File,
    size: u64,
    buffer: Vec<u8>,
    /// How many events the lines of the buffer stand for.
    events: u64,
    /// When the first line of the buffer came.
    oldest: Instant,
    /// Whether the file may end within a line.
    torn: bool,
}

/// The name of a file that was rotated `number` times; 0 is the one that is written.
pub(super) fn rotated(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

impl Writer {
    pub(super) fn open(
        directory: &Path,
        instance: &str,
        max_bytes: u64,
        shared: Arc<Shared>,
    ) -> Result<Self, Problem> {
        own_directory(directory).map_err(|error| unwritable(directory, &error))?;
        let path = directory.join(format!("{instance}.jsonl"));
        let (file, size, torn) = open_file(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(Self {
            path,
            max_bytes: if max_bytes == 0 {
                DEFAULT_BYTES
            } else {
                max_bytes
            },
            shared,
            file,
            size,
            buffer: Vec::new(),
            events: 0,
            oldest: Instant::now(),
            torn,
        })
    }

    /// Writes to another file than the one that was opened.
    #[cfg(test)]
    pub(super) fn write_to(&mut self, file: File) {
        self.file = file;
    }

    /// Writes until the log is closed or its last sender is gone.
    pub(super) fn run(mut self, records: &Receiver<Message>) {
        while let Ok(first) = records.recv() {
            let mut is_open = self.receive(first);
            let mut is_quiet = false;
            while is_open && !is_quiet {
                // A nap, not a wait: a receiver that waits for each record costs every open that is logged a wake-up,
                // which is most of what the log would cost.
                thread::sleep(NAP);
                let events = self.events;
                is_open = self.drain(records);
                is_quiet = self.events == events;
                if is_quiet || self.oldest.elapsed() >= FLUSH_AFTER {
                    self.flush();
                }
            }
            if !is_open {
                break;
            }
        }
        self.shared.room.close();
        while let Ok(message) = records.try_recv() {
            self.receive(message);
        }
        self.flush();
        if fs::metadata(&self.path).is_ok_and(|file| file.len() == 0) {
            // Nothing was logged, and nothing need remain.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Takes whatever is queued; false once the log is closed.
    fn drain(&mut self, records: &Receiver<Message>) -> bool {
        loop {
            match records.try_recv() {
                Ok(message) => {
                    if !self.receive(message) {
                        return false;
                    }
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Takes one message; false when it closes the log.
    fn receive(&mut self, message: Message) -> bool {
        match message {
            Message::Record(record) => self.take(&record),
            Message::Batch(records, done) => {
                for record in &records {
                    self.take(record);
                }
                self.flush();
                // Whoever waited may have gone.
                let _ = done.send(());
            }
            Message::Close => return false,
        }
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
        true
    }

    fn take(&mut self, record: &Record) {
        self.shared.room.add_permits(1);
        self.append(record, 1);
    }

    /// Appends the line that stands for so many events.
    fn append(&mut self, record: &Record, events: u64) {
        let start = self.buffer.len();
        if record.append_to(&mut self.buffer).is_err() {
            // Plain data always has a JSON form; a half line must not stay all the same.
            self.buffer.truncate(start);
            return;
        }
        if self.size + self.buffer.len() as u64 > self.max_bytes && self.size + start as u64 > 0 {
            let line = self.buffer.split_off(start);
            self.write_out();
            self.rotate();
            self.buffer.extend_from_slice(&line);
        }
        if self.events == 0 {
            self.oldest = Instant::now();
        }
        self.events += events;
    }

    fn flush(&mut self) {
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            self.append(&Record::dropped(dropped), dropped);
        }
        self.write_out();
    }

    fn write_out(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        match self.write_buffer() {
            Ok(()) => self.shared.set_problem(None),
            Err(error) => {
                self.torn = true;
                self.shared
                    .dropped
                    .fetch_add(self.events, Ordering::Relaxed);
                self.shared
                    .set_problem(Some(unwritable(&self.path, &error)));
            }
        }
        self.buffer.clear();
        self.events = 0;
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
            // Somebody removed the file: what is written to it would be lost.
            (self.file, self.size, self.torn) = open_file(&self.path)?;
        }
        if self.torn {
            self.buffer.insert(0, b'\n');
        }
        self.file.write_all(&self.buffer)?;
        self.torn = false;
        self.size += self.buffer.len() as u64;
        Ok(())
    }

    /// Moves the file out of the way; when that fails it is written on, and tried again a whole file later.
    fn rotate(&mut self) {
        self.size = 0;
        for number in (0..KEEP).rev() {
            let from = rotated(&self.path, number);
            let moved = fs::rename(&from, rotated(&self.path, number + 1));
            if let Err(error) = moved
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %from.display(), %error, "the access log can't be rotated");
                return;
            }
        }
        match open_file(&self.path) {
            Ok((file, size, torn)) => (self.file, self.size, self.torn) = (file, size, torn),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the access log can't be rotated");
            }
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        ProblemKind::Daemon,
        format!("the access log can't be written: {error}"),
    )
    .at_file(path, None)
    .hint(
        "make the state directory writable for this user, and room on its disk, or choose another",
    )
}

/// Makes the directory, and refuses one through which somebody else could read or redirect the log.
fn own_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let metadata = fs::symlink_metadata(directory)?;
    if !metadata.is_dir() {
        return Err(io::Error::other("it is a link, not a directory"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("the directory belongs to another user"));
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Opens a file to append to, with its size and whether it ends within a line.
fn open_file(path: &Path) -> io::Result<(File, u64, bool)> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    let size = file.metadata()?.len();
    let mut last = [b'\n'];
    if size > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok((file, size, last != [b'\n']))
}
