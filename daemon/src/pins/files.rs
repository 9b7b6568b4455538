//! The files of a skill as one version: what the mount shows of them, by hash. Their bytes are in the store.
//!
//! The hash of a version is over paths, modes of files, bytes and the targets of links. Times, and modes of directories, are kept, and
//! are no part of it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use skills::skill::Skill;
use skills::tree::{Content, Directory, File, Node, SourceFile};

use super::hash::Hash;
use super::store::Store;
use crate::source_file::{OpenSource, SourceError};

/// How much of a skill is kept, in bytes. SKILL.md is kept whatever its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The largest file.
    file: u64,
    /// All files together.
    skill: u64,
}

impl Limits {
    /// Enough for the difference of texts to be shown.
    pub(super) const TEXTS: Self = Self {
        file: 256 * 1024,
        skill: 4 * 1024 * 1024,
    };
    /// Enough for nearly every skill to be served from what is kept.
    pub(super) const WHOLE: Self = Self {
        file: 32 * 1024 * 1024,
        skill: 64 * 1024 * 1024,
    };
}

/// One version of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The skill's real directory.
    #[serde(with = "skills::paths")]
    pub(super) directory: PathBuf,
    /// The path of its SKILL.md as found.
    #[serde(with = "skills::paths")]
    pub(super) file: PathBuf,
    pub(super) files: KeptDirectory,
}

/// A directory of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptDirectory {
    /// Nanoseconds since the epoch.
    modified: i64,
    /// The permission bits; `None` where an earlier version kept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<u32>,
    pub(super) children: Vec<KeptChild>,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptChild {
    #[serde(with = "skills::paths")]
    pub(super) name: PathBuf,
    pub(super) node: KeptNode,
}

/// What has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KeptNode {
    Directory(KeptDirectory),
    File(KeptFile),
    Link {
        #[serde(with = "skills::paths")]
        target: PathBuf,
        modified: i64,
    },
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptFile {
    pub(super) mode: u32,
    pub(super) size: u64,
    /// `None` when it could not be read.
    pub(super) hash: Option<Hash>,
    modified: i64,
}

impl Manifest {
    /// Reads a skill's files, keeps them as far as the limits allow, and this version, too.
    ///
    /// # Errors
    /// When a file is not (any more) what the skill's tree says, or nothing can be kept.
    pub(super) fn read(skill: &Skill, store: &Store, limits: Limits) -> io::Result<Hash> {
        let mut reading = Reading {
            store,
            limits,
            kept: 0,
        };
        let manifest = Self {
            directory: skill.directory.clone(),
            file: skill.file.clone(),
            files: reading.directory(&skill.tree)?,
        };
        let hash = manifest.hash();
        store.put(hash, &serde_json::to_vec(&manifest)?)?;
        Ok(hash)
    }

    /// The version that is kept under its hash.
    pub(super) fn load(store: &Store, hash: Hash) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(&store.get(hash)?).ok()?;
        (manifest.hash() == hash).then_some(manifest)
    }

    /// The hash of its SKILL.md.
    pub(super) fn own_hash(&self) -> Option<Hash> {
        let children = self.files.children.iter();
        let mut own = children.filter(|child| child.name.as_os_str() == self.own_name());
        match &own.next()?.node {
            KeptNode::File(file) => file.hash,
            KeptNode::Directory(_) | KeptNode::Link { .. } => None,
        }
    }

    /// The name of its SKILL.md, as it is spelt.
    pub(super) fn own_name(&self) -> &OsStr {
        self.file.file_name().unwrap_or_default()
    }

    /// Every path that is no directory, in order.
    pub(super) fn leaves(&self) -> Vec<(PathBuf, &KeptNode)> {
        let mut leaves = Vec::new();
        self.files.collect(Path::new(""), &mut leaves);
        leaves.sort_by(|one, other| one.0.cmp(&other.0));
        leaves
    }

    fn hash(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.own_name().as_bytes());
        self.files.hash_into(&mut hasher);
        hasher.finalize().into()
    }
}

impl KeptDirectory {
    fn collect<'a>(&'a self, below: &Path, leaves: &mut Vec<(PathBuf, &'a KeptNode)>) {
        for child in &self.children {
            let path = below.join(&child.name);
            match &child.node {
                KeptNode::Directory(directory) => directory.collect(&path, leaves),
                leaf => leaves.push((path, leaf)),
            }
        }
    }

    fn hash_into(&self, hasher: &mut blake3::Hasher) {
        hasher.update(&(self.children.len() as u64).to_le_bytes());
        for child in &self.children {
            put(hasher, child.name.as_os_str().as_bytes());
            match &child.node {
                KeptNode::Directory(directory) => {
                    hasher.update(b"d");
                    directory.hash_into(hasher);
                }
                KeptNode::File(file) => {
                    hasher.update(b"f").update(&file.mode.to_le_bytes());
                    match file.hash {
                        Some(hash) => hasher.update(b"+").update(&hash.0),
                        None => hasher.update(b"-"),
                    };
                }
                KeptNode::Link { target, .. } => {
                    hasher.update(b"l");
                    put(hasher, target.as_os_str().as_bytes());
                }
            }
        }
    }

    pub(super) fn modified(&self) -> SystemTime {
        time(self.modified)
    }
}

impl KeptFile {
    pub(super) fn modified(&self) -> SystemTime {
        time(self.modified)
    }
}

/// One reading of a skill.
struct Reading<'a> {
    store: &'a Store,
    limits: Limits,
    /// How many bytes were kept.
    kept: u64,
}

impl Reading<'_> {
    fn directory(&mut self, directory: &Directory) -> io::Result<KeptDirectory> {
        let mut children = Vec::with_capacity(directory.children().len());
        for (name, node) in directory.children() {
            let node = match node {
                Node::Directory(directory) => KeptNode::Directory(self.directory(directory)?),
                Node::File(file) => KeptNode::File(self.file(file)?),
                Node::Link(link) => KeptNode::Link {
                    target: OsStr::from_bytes(&link.target).into(),
                    modified: nanoseconds(link.modified),
                },
            };
            let name = OsStr::from_bytes(name).into();
            children.push(KeptChild { name, node });
        }
        Ok(KeptDirectory {
            modified: nanoseconds(directory.modified),
            mode: directory.mode,
            children,
        })
    }

    fn file(&mut self, file: &File) -> io::Result<KeptFile> {
        let hash = match &file.content {
            Content::Bytes(bytes) => {
                let hash = Hash::of(bytes);
                self.kept += bytes.len() as u64;
                self.store.put(hash, bytes)?;
                Some(hash)
            }
            Content::Source(source) => match self.source(source) {
                Ok(hash) => Some(hash),
                Err(SourceError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                    None
                }
                Err(SourceError::Io(error)) => return Err(error),
                Err(changed @ SourceError::Changed) => return Err(io::Error::other(changed)),
            },
        };
        Ok(KeptFile {
            mode: file.mode,
            size: file.size(),
            hash,
            modified: nanoseconds(file.modified),
        })
    }

    fn source(&mut self, source: &Arc<SourceFile>) -> Result<Hash, SourceError> {
        let size = source.stat.size;
        let open = OpenSource::open(source)?;
        if size <= self.limits.file && self.kept + size <= self.limits.skill {
            let bytes = open.read_whole()?;
            let hash = Hash::of(&bytes);
            self.store.put(hash, &bytes)?;
            self.kept += size;
            return Ok(hash);
        }
        let mut hasher = blake3::Hasher::new();
        open.copy(&mut hasher)?;
        Ok(hasher.finalize().into())
    }
}

/// Tells whether any file of a skill may have changed, from what `stat` said of them when the skill was scanned.
pub(super) fn stat(skill: &Skill) -> Hash {
    let mut hasher = blake3::Hasher::new();
    put(&mut hasher, skill.file.as_os_str().as_bytes());
    put(&mut hasher, skill.directory.as_os_str().as_bytes());
    stat_into(&skill.tree, &mut hasher);
    hasher.finalize().into()
}

fn stat_into(directory: &Directory, hasher: &mut blake3::Hasher) {
    hasher.update(&(directory.children().len() as u64).to_le_bytes());
    for (name, node) in directory.children() {
        put(hasher, name);
        match node {
            Node::Directory(directory) => {
                hasher.update(b"d");
                stat_into(directory, hasher);
            }
            Node::Link(link) => {
                hasher.update(b"l");
                put(hasher, &link.target);
            }
            Node::File(file) => {
                hasher.update(b"f").update(&file.mode.to_le_bytes());
                let source = match &file.content {
                    Content::Source(source) => Some(source),
                    Content::Bytes(_) => file.origin.as_ref(),
                };
                if let Some(source) = source {
                    let stat = source.stat;
                    put(hasher, source.root.as_os_str().as_bytes());
                    put(hasher, source.path.as_os_str().as_bytes());
                    for number in [stat.device, stat.inode, stat.size] {
                        hasher.update(&number.to_le_bytes());
                    }
                    hasher.update(&stat.modified_ns.to_le_bytes());
                    hasher.update(&stat.changed_ns.to_le_bytes());
                }
            }
        }
    }
}

/// Bytes with their length before them, so that no two lists hash alike.
fn put(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher
        .update(&(bytes.len() as u64).to_le_bytes())
        .update(bytes);
}

/// Nanoseconds since the epoch, for some centuries.
fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

pub(super) fn time(nanoseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(nanoseconds.try_into().unwrap_or_default())
}
