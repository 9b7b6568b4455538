//! Finds the skills below any number of roots.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::problem::Problem;
use crate::skill::Skill;

/// A directory in which skills are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRoot {
    /// The directory.
    pub path: PathBuf,
    /// The source's name, where it has one.
    pub source: Option<String>,
    /// Whether it may be absent without a word (a default place), or must be there (named by the user).
    pub optional: bool,
}

/// How far discovery goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep below a root a skill may lie.
    pub depth: usize,
    /// How many directories are visited below one root.
    pub directories: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 6,
            directories: 2_000,
        }
    }
}

/// What a scan found.
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    /// The skills, in order of precedence and then of path.
    pub skills: Vec<Arc<Skill>>,
    /// What was skipped or warned about, each with its path.
    pub problems: Vec<Problem>,
    /// The directories whose changes can change the result: what a watcher watches, non-recursively.
    pub watch: BTreeSet<PathBuf>,
}

/// Scans the roots, in order of precedence.
///
/// A skill of `previous` whose files did not change keeps its `Arc` (and so its tree).
pub fn discover(roots: &[SkillRoot], limits: Limits, previous: &[Arc<Skill>]) -> Discovered {
    let _ = (roots, limits, previous);
    todo!()
}
