//! What was trusted, made from what is kept of it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::server::Definitions;
use skills::skill::{Kept, Skill};
use skills::tool::Tool;
use skills::tree::{Content, Directory, File, Link, Node};

use super::files::{KeptDirectory, KeptFile, KeptNode, Manifest, time};
use super::hash::Hash;
use super::store::Store;

/// What a server says of itself, as it is pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
    pub(super) instructions: Option<String>,
}

impl Said {
    pub(super) fn of(definitions: &Definitions) -> Self {
        Self {
            title: definitions.title.clone(),
            version: definitions.version.clone(),
            instructions: definitions.instructions.clone(),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("three texts are JSON")
    }

    pub(super) fn hash(&self) -> Hash {
        Hash::of(&self.to_bytes())
    }

    pub(super) fn load(store: &Store, hash: Hash) -> Option<Self> {
        serde_json::from_slice(&store.content(hash)?).ok()
    }
}

/// The JSON of a tool as its server sent it, by the hash of its canonical form.
pub(super) fn tool(store: &Store, server: &ServerName, hash: Hash) -> Option<Arc<Tool>> {
    let raw: Arc<RawValue> = serde_json::from_slice(&store.get(hash)?).ok()?;
    let tool = Tool::parse(server, 0, raw).ok()?;
    (tool.hash == hash.0).then(|| Arc::new(tool))
}

/// A skill that was found there, in a root of this precedence.
///
/// # Errors
/// Why it can't be made.
pub(super) fn skill(
    store: &Store,
    source: Option<String>,
    found: PathBuf,
    precedence: usize,
    hash: Hash,
) -> Result<Arc<Skill>, String> {
    let manifest = Manifest::load(store, hash).ok_or("what was trusted is not kept any more")?;
    let restoring = Restoring {
        store,
        own: &manifest,
    };
    let tree = restoring.directory(&manifest.files, true)?;
    let name = found.file_name().or(manifest.directory.file_name());
    let kept = Kept {
        name: name.unwrap_or_default().to_owned(),
        source,
        precedence,
        found,
        directory: manifest.directory.clone(),
        file: manifest.file.clone(),
    };
    let skill = Skill::from_kept(kept, tree).map_err(|problem| problem.message)?;
    Ok(Arc::new(skill))
}

struct Restoring<'a> {
    store: &'a Store,
    own: &'a Manifest,
}

impl Restoring<'_> {
    fn directory(&self, kept: &KeptDirectory, is_top: bool) -> Result<Arc<Directory>, String> {
        let mut children = Vec::with_capacity(kept.children.len());
        for child in &kept.children {
            let is_own = is_top && child.name.as_os_str() == self.own.own_name();
            let node = match &child.node {
                KeptNode::Directory(directory) => {
                    Node::Directory(self.directory(directory, false)?)
                }
                KeptNode::File(file) => {
                    let name = child.name.display();
                    let file = self.file(file, is_own).ok_or_else(|| {
                        format!("its file {name} is too large to be kept, or was lost")
                    })?;
                    Node::File(Arc::new(file))
                }
                KeptNode::Link { target, modified } => Node::Link(Arc::new(Link {
                    target: target.as_os_str().as_encoded_bytes().into(),
                    modified: time(*modified),
                })),
            };
            children.push((child.name.as_os_str().as_encoded_bytes().into(), node));
        }
        let mut directory = Directory::new(children, kept.modified());
        directory.mode = kept.mode;
        Ok(Arc::new(directory))
    }

    fn file(&self, kept: &KeptFile, is_own: bool) -> Option<File> {
        let hash = kept.hash?;
        // Where the store may not be written (without a daemon) the bytes may be in memory alone; nobody opens them there.
        let source = self.store.source(hash);
        let content = match &source {
            Some(source) if !is_own => Content::Source(Arc::clone(source)),
            _ => Content::Bytes(self.store.content(hash)?.into()),
        };
        Some(File {
            content,
            mode: kept.mode,
            modified: kept.modified(),
            volatile: false,
            entry: None,
            // Compared at open: what was tampered with in the store is not served.
            origin: source.filter(|_| is_own),
        })
    }
}
