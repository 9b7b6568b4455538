//! A skill: its SKILL.md as data, and its directory as a tree.
//!
//! It knows nothing of other skills or of names in the mount.

mod body;
mod files;
mod kept;
mod links;
mod source;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::frontmatter::{Document, Frontmatter};
use crate::problem::{Problem, ProblemKind};
use crate::tree::{Content, Directory, File, Node};
use files::Files;
pub use kept::Kept;
use source::Located;

/// The name of the file that makes a directory a skill.
pub(crate) const FILE_NAME: &str = "SKILL.md";

/// The largest SKILL.md that is read, in bytes. The largest that are seen have some hundred kilobytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// One skill that was found, before names are given out.
#[derive(Clone, Debug)]
pub struct Skill {
    /// The directory's own name: the one identity of a skill.
    pub name: OsString,
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
    /// The directory as the mount shows it: every file, links as SEMANTICS 13 says, `.git` left out.
    pub tree: Arc<Directory>,
}

/// Where a skill was found.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The named source of its root.
    pub(crate) source: Option<String>,
    /// The position of its root.
    pub(crate) precedence: usize,
    /// The path of its directory as found below the root.
    pub(crate) found: PathBuf,
    /// Its real directory.
    pub(crate) directory: PathBuf,
    /// The path of its SKILL.md as found.
    pub(crate) file: PathBuf,
}

/// How much of a skill is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Its whole directory.
    Whole,
    /// Its SKILL.md alone.
    Text,
}

/// What came up while skills were loaded.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Warnings, and what was left out.
    pub(crate) problems: Vec<Problem>,
    /// The directories whose changes would change a skill.
    pub(crate) directories: Vec<PathBuf>,
}

/// Whether a file of this name makes its directory a skill, in whatever case it is spelt.
pub(crate) fn is_file_name(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(FILE_NAME)
}

impl Skill {
    /// Loads a skill; what of `previous`, the same skill as it was before, did not change is shared.
    ///
    /// `roots` are the real directories of all roots: a SKILL.md may be a link to a file below any of them.
    ///
    /// # Errors
    /// [`ProblemKind::SkillSkipped`] or [`ProblemKind::Unreadable`], with the path.
    pub(crate) fn load(
        place: Place,
        roots: &[PathBuf],
        extent: Extent,
        previous: Option<&Arc<Self>>,
        survey: &mut Survey,
    ) -> Result<Arc<Self>, Problem> {
        let located = Located::find(&place.directory, file_name(&place.file).as_ref(), roots)
            .map_err(|error| error.problem(&place.file))?;
        let name = place.name();
        let unchanged = previous
            .filter(|previous| previous.name == name && previous.file == place.file)
            .and_then(|previous| Some((previous, previous.own_file()?)))
            .filter(|(_, file)| located.is_origin_of(file));
        let text = match unchanged {
            Some((previous, file)) => Text::of(previous, file),
            None => Text::read(&place, &name, located)?,
        };
        let own = (file_name(&place.file), &text.file);
        let tree = match extent {
            Extent::Whole => Files {
                root: &place.directory,
                shown: &place.found,
                roots,
                own,
                survey,
            }
            .read(previous.map(|previous| &previous.tree))
            .map_err(|error| unreadable(&place.found, &error))?,
            Extent::Text => {
                let own = (own.0.as_bytes().into(), Node::File(Arc::clone(own.1)));
                Arc::new(Directory::new(vec![own], text.file.modified))
            }
        };
        survey
            .problems
            .extend_from_slice(&text.frontmatter.warnings);
        let skill = Self {
            name,
            source: place.source,
            precedence: place.precedence,
            found: place.found,
            directory: place.directory,
            file: place.file,
            frontmatter: text.frontmatter,
            description: text.description,
            headings: text.headings,
            text: text.bytes,
            tree,
        };
        Ok(match previous {
            Some(previous) if skill.is_same(previous) => Arc::clone(previous),
            _ => Arc::new(skill),
        })
    }

    /// The node of its SKILL.md.
    fn own_file(&self) -> Option<&Arc<File>> {
        match self.tree.get(file_name(&self.file).as_bytes()) {
            Some(Node::File(file)) => Some(file),
            _ => None,
        }
    }

    /// Whether nothing changed. What was read from SKILL.md is the same when its node in the tree is.
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tree, &other.tree)
            && self.name == other.name
            && self.source == other.source
            && self.precedence == other.precedence
            && self.found == other.found
            && self.directory == other.directory
            && self.file == other.file
    }
}

/// What a SKILL.md says, and its node in the tree.
struct Text {
    frontmatter: Frontmatter,
    description: String,
    headings: Vec<String>,
    bytes: Arc<[u8]>,
    file: Arc<File>,
}

impl Text {
    fn of(skill: &Skill, file: &Arc<File>) -> Self {
        Self {
            frontmatter: skill.frontmatter.clone(),
            description: skill.description.clone(),
            headings: skill.headings.clone(),
            bytes: Arc::clone(&skill.text),
            file: Arc::clone(file),
        }
    }

    fn read(place: &Place, name: &OsStr, located: Located) -> Result<Self, Problem> {
        let (bytes, located) = located
            .read(MAX_FILE)
            .map_err(|error| error.problem(&place.file))?;
        let bytes: Arc<[u8]> = bytes.into();
        let document = Document::split(&bytes, &place.file)?;
        let mut frontmatter = Frontmatter::read(&document, &place.file)?;
        frontmatter
            .warnings
            .extend(place.warnings(name, &frontmatter));
        Ok(Self {
            description: frontmatter.description.clone().unwrap_or_default(),
            frontmatter,
            headings: body::headings(&document.body),
            file: Arc::new(File {
                content: Content::Bytes(Arc::clone(&bytes)),
                mode: located.mode,
                modified: located.modified,
                volatile: false,
                entry: None,
                origin: Some(Arc::new(located.source)),
            }),
            bytes,
        })
    }
}

impl Place {
    /// The name of the directory: the one it was found by, which for a link is the link's.
    fn name(&self) -> OsString {
        let name = self.found.file_name().or(self.directory.file_name());
        name.unwrap_or(OsStr::new("skill")).to_owned()
    }

    /// What is wrong with the names.
    fn warnings(&self, name: &OsStr, frontmatter: &Frontmatter) -> Vec<Problem> {
        let warning =
            |message| Problem::new(ProblemKind::SkillWarning, message).at_file(&self.file, None);
        let mut warnings = Vec::new();
        if let Some(other) = frontmatter
            .name
            .as_ref()
            .filter(|other| name != other.as_str())
        {
            warnings.push(warning(format!(
                "the name {other:?} is not the directory's, {name:?}, by which the skill is known"
            )));
        }
        if file_name(&self.file) != FILE_NAME {
            let message = format!("the file is not named {FILE_NAME}");
            warnings.push(warning(message).hint(format!("rename it to {FILE_NAME}")));
        }
        warnings
    }
}

/// The name of a SKILL.md, as it is spelt.
fn file_name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// A file or directory that could not be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(ProblemKind::Unreadable, format!("can't be read: {error}")).at_file(path, None)
}

#[cfg(test)]
mod tests;
