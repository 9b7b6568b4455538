//! A skill: its SKILL.md as data, and its directory as a tree.

use std::path::PathBuf;
use std::sync::Arc;

use crate::frontmatter::Frontmatter;
use crate::tree::Directory;

/// One skill that was found, before names are given out.
#[derive(Clone, Debug)]
pub struct Skill {
    /// The directory's own name: the one identity of a skill.
    pub name: String,
    /// The named source it came from; its id is then `skills/<source>:<name>`.
    pub source: Option<String>,
    /// The position of its root in the order of precedence; 0 wins.
    pub precedence: usize,
    /// The path of its directory as found below the root.
    pub found: PathBuf,
    /// Its real directory.
    pub directory: PathBuf,
    /// The path of its SKILL.md as found (`skill.md` and other spellings load with a warning).
    pub file: PathBuf,
    /// What the frontmatter says, read leniently.
    pub frontmatter: Frontmatter,
    /// The description, as written; never empty.
    pub description: String,
    /// The headings of the body in order, as plain text.
    pub headings: Vec<String>,
    /// The whole SKILL.md, byte for byte.
    pub text: Arc<[u8]>,
    /// The directory as the mount shows it: every file, links by DESIGN's rule, `.git` left out.
    pub tree: Arc<Directory>,
}
