//! Remembers on disk when each version of a path of the tree was first seen, so that times outlive a daemon.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use skills::catalog::FirstSeen;
use skills::problem::Problem;
use skills::tree::Directory;

use super::{make_private, read_and_touch, replace, unusable};

/// Half of a hash: two versions of one path are told apart by far less.
type Digest = [u8; 16];

/// [`FirstSeen`] in a file: one line a path, `<hash> <nanoseconds since the epoch> <path>`.
#[derive(Debug)]
pub struct SeenFile {
    path: PathBuf,
    seen: HashMap<Box<str>, (Digest, SystemTime)>,
    is_saved: bool,
}

impl SeenFile {
    /// Loads `<name>.first-seen` from a directory, which is made where it is absent. A line that can't be read is passed
    /// over: its path counts as new.
    ///
    /// # Errors
    /// When the directory can't be made or the file is there and can't be read.
    pub fn open(directory: &Path, name: &str) -> Result<Self, Problem> {
        make_private(directory).map_err(|error| unusable(directory, &error))?;
        let path = directory.join(format!("{name}.first-seen"));
        let text = match File::open(&path).and_then(read_and_touch) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(unusable(&path, &error)),
        };
        let text = String::from_utf8_lossy(&text);
        Ok(Self {
            path,
            seen: text.lines().filter_map(parse).collect(),
            is_saved: true,
        })
    }

    /// Writes down what was seen, without the paths that the tree no longer has. Does nothing when nothing was new.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn save(&mut self, tree: &Directory) -> Result<(), Problem> {
        if self.is_saved {
            return Ok(());
        }
        self.seen
            .retain(|path, _| path.is_empty() || tree.find(path.as_bytes()).is_some());
        let mut text = String::new();
        for (path, (digest, time)) in &self.seen {
            let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH);
            let nanoseconds = since_epoch.unwrap_or_default().as_nanos();
            let digest = HEXLOWER.encode(digest);
            writeln!(text, "{digest} {nanoseconds} {path}")
                .expect("writing to a string can't fail");
        }
        replace(&self.path, text.as_bytes()).map_err(|error| unusable(&self.path, &error))?;
        self.is_saved = true;
        Ok(())
    }
}

impl FirstSeen for SeenFile {
    fn first_seen(&mut self, path: &str, hash: &[u8; 32]) -> SystemTime {
        let digest = half(hash);
        if let Some((seen, time)) = self.seen.get(path)
            && *seen == digest
        {
            return *time;
        }
        let now = SystemTime::now();
        self.seen.insert(path.into(), (digest, now));
        self.is_saved = false;
        now
    }
}

fn parse(line: &str) -> Option<(Box<str>, (Digest, SystemTime))> {
    let mut parts = line.splitn(3, ' ');
    let digest = HEXLOWER.decode(parts.next()?.as_bytes()).ok()?;
    let nanoseconds = parts.next()?.parse().ok()?;
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanoseconds))?;
    Some((parts.next()?.into(), (digest.try_into().ok()?, time)))
}

fn half(hash: &[u8; 32]) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&hash[..16]);
    digest
}
