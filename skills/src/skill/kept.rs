//! A skill from files that were kept: as it was when its own directory said so, whatever that says by now.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Skill, body, file_name};
use crate::frontmatter::{Document, Frontmatter};
use crate::problem::{Problem, ProblemKind};
use crate::tree::{Content, Directory, Node};

/// What is kept of a skill beside its files: the fields of [`Skill`] that say where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The directory's own name.
    pub name: OsString,
    /// The named source it came from.
    pub source: Option<String>,
    /// The position of its root in the order of precedence.
    pub precedence: usize,
    /// The path of its directory as found below the root.
    pub found: PathBuf,
    /// Its real directory.
    pub directory: PathBuf,
    /// The path of its SKILL.md as found.
    pub file: PathBuf,
}

impl Skill {
    /// Makes the skill of a tree in which SKILL.md, by the name of `kept.file`, is in memory. Its warnings are left out: they were
    /// said when it was found.
    ///
    /// # Errors
    /// [`ProblemKind::SkillSkipped`] when there is no SKILL.md in memory, or it says too little.
    pub fn from_kept(kept: Kept, tree: Arc<Directory>) -> Result<Self, Problem> {
        let text = match tree.get(file_name(&kept.file).as_bytes()) {
            Some(Node::File(file)) => match &file.content {
                Content::Bytes(bytes) => Some(Arc::clone(bytes)),
                Content::Source(_) => None,
            },
            Some(Node::Directory(_) | Node::Link(_)) | None => None,
        };
        let text = text.ok_or_else(|| {
            Problem::new(ProblemKind::SkillSkipped, "its SKILL.md was not kept")
                .at_file(&kept.file, None)
        })?;
        let document = Document::split(&text, &kept.file)?;
        let frontmatter = Frontmatter::read(&document, &kept.file)?;
        Ok(Self {
            name: kept.name,
            source: kept.source,
            precedence: kept.precedence,
            found: kept.found,
            directory: kept.directory,
            file: kept.file,
            description: frontmatter.description.clone().unwrap_or_default(),
            headings: body::headings(&document.body),
            frontmatter,
            text,
            tree,
        })
    }
}
