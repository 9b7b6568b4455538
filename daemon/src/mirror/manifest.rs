//! The manifest: what the mirror wrote, so that it can tell its own files from a user's.
//!
//! One record a path, ended by NUL: `<hash> <source> <path>`. It is written ahead: a record is in the file before its
//! path is, so that a mirror that was killed still knows its own. The last record of a path says what it should be now,
//! an earlier one what it may still be.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use blake3::Hash;
use skills::tree::SourceStat;

/// What was written to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// A directory.
    Directory,
    /// A link with a target of this hash.
    Link(Hash),
    /// A file with bytes of this hash, copied from a source that had this digest.
    File(Hash, Option<Hash>),
}

/// What the mirror wrote, by path.
#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    records: BTreeMap<Vec<u8>, Vec<Written>>,
    file: File,
}

impl Manifest {
    /// Reads the manifest; there is none before the first time.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let mut records: BTreeMap<Vec<u8>, Vec<Written>> = BTreeMap::new();
        for record in bytes.split_inclusive(|byte| *byte == 0) {
            if let Some((path, written)) = parse(record) {
                records.entry(path).or_default().push(written);
            }
        }
        let mut manifest = Self {
            file: append_to(path)?,
            path: path.to_owned(),
            records,
        };
        // A torn record at the end must not swallow the next one.
        manifest.finish()?;
        Ok(manifest)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Every path that was written.
    pub(super) fn paths(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.records.keys().map(Vec::as_slice)
    }

    /// What may stand at a path if nobody else touched it, the likeliest last.
    pub(super) fn of(&self, path: &[u8]) -> &[Written] {
        self.records.get(path).map_or(&[], Vec::as_slice)
    }

    /// Says what is going to be written to a path.
    pub(super) fn announce(&mut self, path: &[u8], written: Written) -> io::Result<()> {
        if self.of(path).last() != Some(&written) {
            self.file.write_all(&format_record(path, written))?;
            self.records
                .entry(path.to_owned())
                .or_default()
                .push(written);
        }
        Ok(())
    }

    /// Says that what was announced last now stands at the path, so that nothing older can.
    pub(super) fn settle(&mut self, path: &[u8]) {
        if let Some(records) = self.records.get_mut(path) {
            records.drain(..records.len().saturating_sub(1));
        }
    }

    /// Says that a path is no longer the mirror's.
    pub(super) fn forget(&mut self, path: &[u8]) {
        self.records.remove(path);
    }

    /// Writes it down whole, without what is no longer so.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let mut whole = tempfile::NamedTempFile::new_in(directory)?;
        let mut bytes = Vec::new();
        for (path, records) in &self.records {
            for written in records {
                bytes.extend(format_record(path, *written));
            }
        }
        whole.write_all(&bytes)?;
        whole.persist(&self.path)?;
        self.file = append_to(&self.path)?;
        Ok(())
    }
}

/// The digest of what tells one version of a source from another.
pub(super) fn digest(stat: &SourceStat) -> Hash {
    let SourceStat {
        device,
        inode,
        size,
        modified_ns,
        changed_ns,
        // It changes with the change time.
        owner: _,
    } = stat;
    let mut hasher = blake3::Hasher::new();
    for number in [device, inode, size] {
        hasher.update(&number.to_le_bytes());
    }
    for time in [modified_ns, changed_ns] {
        hasher.update(&time.to_le_bytes());
    }
    hasher.finalize()
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

fn format_record(path: &[u8], written: Written) -> Vec<u8> {
    let head = match written {
        Written::Directory => "directory - ".to_owned(),
        Written::Link(target) => format!("{target} link "),
        Written::File(bytes, None) => format!("{bytes} rendered "),
        Written::File(bytes, Some(source)) => format!("{bytes} {source} "),
    };
    let mut record = head.into_bytes();
    record.extend_from_slice(path);
    record.push(0);
    record
}

/// Reads one record with its NUL; one that is not whole is none.
fn parse(record: &[u8]) -> Option<(Vec<u8>, Written)> {
    let mut parts = record.strip_suffix(b"\0")?.splitn(3, |byte| *byte == b' ');
    let (hash, source, path) = (parts.next()?, parts.next()?, parts.next()?);
    let written = match (hash, source) {
        (b"directory", _) => Written::Directory,
        (hash, b"link") => Written::Link(Hash::from_hex(hash).ok()?),
        (hash, b"rendered") => Written::File(Hash::from_hex(hash).ok()?, None),
        (hash, source) => {
            let source = Hash::from_hex(source).ok()?;
            Written::File(Hash::from_hex(hash).ok()?, Some(source))
        }
    };
    let is_relative = path
        .split(|byte| *byte == b'/')
        .all(|name| !matches!(name, b"" | b"." | b".."));
    is_relative.then(|| (path.to_owned(), written))
}
