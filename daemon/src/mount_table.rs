//! The mount table (`/proc/self/mountinfo`): which shelf mounts there are, and in which mount a path lies.
//!
//! Nothing here touches a shelf mount: a path inside one is told by the table alone, so that a dead mount can neither
//! fail nor hang the question.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

#[cfg(test)]
mod tests;

const TABLE: &str = "/proc/self/mountinfo";
const SOURCE_PREFIX: &[u8] = b"shelf:";

/// As many symbolic links as the kernel follows in one path.
const MAX_LINKS: usize = 40;

/// A mount of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShelfMount {
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The daemon's instance id.
    pub instance: String,
    /// The directory of the shelf that is seen there: `/`, unless a part of the shelf was bound.
    pub root: PathBuf,
    /// Whose daemon it is, where the table says so.
    pub user: Option<u32>,
}

/// Every mount whose source is `shelf:<instance>`, in the order of the table.
pub fn shelf_mounts() -> Vec<ShelfMount> {
    MountTable::read().map_or_else(|_| Vec::new(), |table| table.shelf_mounts())
}

/// The shelf mount that a path lies in, binds included.
pub fn containing(path: &Path) -> Option<ShelfMount> {
    let table = MountTable::read().ok()?;
    let resolved = table.resolve(path).ok()?;
    table.mount_at(&resolved)?.shelf()
}

/// The shelf mount whose mount point is this path.
pub fn mounted_on(path: &Path) -> Option<ShelfMount> {
    let table = MountTable::read().ok()?;
    let resolved = table.resolve(path).ok()?;
    table.mounted_on(&resolved)?.shelf()
}

/// [`MountTable::resolve`] by the table as it is now.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    MountTable::read()?.resolve(path)
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    id: u64,
    parent: u64,
    /// `major:minor`, which tells one mounted file system from every other that is mounted now.
    pub(crate) device: String,
    root: PathBuf,
    pub(crate) mount_point: PathBuf,
    pub(crate) file_system: String,
    pub(crate) source: OsString,
    user: Option<u32>,
}

impl MountEntry {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let mut next = || fields.next();
        let id = number(next()?)?;
        let parent = number(next()?)?;
        let device = text(next()?)?;
        let root = unescape(next()?).into();
        let mount_point = unescape(next()?).into();
        // The mount options, then any number of optional fields, ended by a lone hyphen.
        while next()? != b"-" {}
        let file_system = text(next()?)?;
        let source = unescape(next()?);
        let user = next().and_then(user);
        Some(Self {
            id,
            parent,
            device,
            root,
            mount_point,
            file_system,
            source,
            user,
        })
    }

    /// The mount as one of ours, if it is one.
    pub(crate) fn shelf(&self) -> Option<ShelfMount> {
        if self.file_system != "fuse" && !self.file_system.starts_with("fuse.") {
            return None;
        }
        let instance = self.source.as_bytes().strip_prefix(SOURCE_PREFIX)?;
        Some(ShelfMount {
            mount_point: self.mount_point.clone(),
            instance: String::from_utf8_lossy(instance).into_owned(),
            root: self.root.clone(),
            user: self.user,
        })
    }
}

/// The table as it was at one moment.
#[derive(Clone, Debug)]
pub(crate) struct MountTable {
    entries: Vec<MountEntry>,
}

impl MountTable {
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self::parse(&fs::read(TABLE)?))
    }

    fn parse(table: &[u8]) -> Self {
        let entries = table
            .split(|byte| *byte == b'\n')
            .filter_map(MountEntry::parse)
            .collect();
        Self { entries }
    }

    fn shelf_mounts(&self) -> Vec<ShelfMount> {
        self.entries.iter().filter_map(MountEntry::shelf).collect()
    }

    /// The mount that a resolved path lies in.
    ///
    /// Goes down as the kernel does, from mount to mount along the path: a mount that another one covers, on the same
    /// directory or on one above, is passed over although the table still lists it.
    pub(crate) fn mount_at(&self, resolved: &Path) -> Option<&MountEntry> {
        let mut current: Option<&MountEntry> = None;
        // Every step goes to a child, and the table is a tree.
        for _ in 0..=self.entries.len() {
            let next = self
                .entries
                .iter()
                .filter(|entry| match current {
                    Some(mount) => entry.parent == mount.id && entry.id != mount.id,
                    None => self
                        .entries
                        .iter()
                        .all(|other| other.id != entry.parent || other.id == entry.id),
                })
                .filter(|entry| resolved.starts_with(&entry.mount_point))
                .min_by_key(|entry| entry.mount_point.as_os_str().len());
            match next {
                Some(mount) => current = Some(mount),
                None => break,
            }
        }
        current
    }

    /// The mount whose mount point is exactly this resolved path.
    pub(crate) fn mounted_on(&self, resolved: &Path) -> Option<&MountEntry> {
        self.mount_at(resolved)
            .filter(|mount| mount.mount_point == resolved)
    }

    /// The path with its symbolic links and `..` resolved, as far as it exists and no further than the first shelf mount on it.
    pub(crate) fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let absolute = std::path::absolute(path)?;
        let mut pending: VecDeque<OsString> = parts(&absolute).collect();
        let mut resolved = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = pending.pop_front() {
            if part == ".." {
                resolved.pop();
                continue;
            }
            resolved.push(&part);
            if self
                .mount_at(&resolved)
                .and_then(MountEntry::shelf)
                .is_some()
            {
                continue;
            }
            let Ok(target) = fs::read_link(&resolved) else {
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(rustix::io::Errno::LOOP.into());
            }
            resolved.pop();
            if target.is_absolute() {
                resolved = PathBuf::from("/");
            }
            for part in parts(&target).rev() {
                pending.push_front(part);
            }
        }
        Ok(resolved)
    }
}

/// The names of a path and its `..`.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

fn text(field: &[u8]) -> Option<String> {
    String::from_utf8(field.to_vec()).ok()
}

/// `user_id` of the options of a FUSE mount.
fn user(options: &[u8]) -> Option<u32> {
    let options = std::str::from_utf8(options).ok()?;
    let user = options
        .split(',')
        .find_map(|each| each.strip_prefix("user_id="));
    user?.parse().ok()
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Undoes the table's `\ooo` for space, tab, line feed and backslash.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        if first == b'\\'
            && let Some(byte) = after.get(..3).and_then(octal)
        {
            bytes.push(byte);
            rest = &after[3..];
            continue;
        }
        bytes.push(first);
        rest = after;
    }
    OsString::from_vec(bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}
