//! Finds the skills below any number of roots.

mod search;
mod watch;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::parallel::side_by_side;
use crate::problem::{Problem, ProblemKind};
use crate::skill::{Extent, Place, Skill, Survey};
use search::Search;

pub use watch::Watch;

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
    pub watch: Watch,
}

/// Scans the roots, in order of precedence.
///
/// A skill of `previous` whose files did not change keeps its `Arc` (and so its tree).
pub fn discover(roots: &[SkillRoot], limits: Limits, previous: &[Arc<Skill>]) -> Discovered {
    discover_outside(roots, limits, &[], previous)
}

/// Like [`discover`], but goes into none of the directories `forbidden`, nor below them, whatever leads there: the mounts
/// of the daemon, which must not read itself.
pub fn discover_outside(
    roots: &[SkillRoot],
    limits: Limits,
    forbidden: &[PathBuf],
    previous: &[Arc<Skill>],
) -> Discovered {
    scan(roots, limits, forbidden, previous, Extent::Whole)
}

/// The skills of [`discover_outside`] without their other files: the `tree` of each holds its SKILL.md alone.
///
/// For who shows no file: to look at them all is most of the work of a scan.
pub fn discover_texts(roots: &[SkillRoot], limits: Limits, forbidden: &[PathBuf]) -> Discovered {
    scan(roots, limits, forbidden, &[], Extent::Text)
}

fn scan(
    roots: &[SkillRoot],
    limits: Limits,
    forbidden: &[PathBuf],
    previous: &[Arc<Skill>],
    extent: Extent,
) -> Discovered {
    let mut problems = Vec::new();
    let mut watch = Watch::default();
    let present: Vec<(usize, &SkillRoot, PathBuf)> = roots
        .iter()
        .enumerate()
        .filter_map(|(precedence, root)| {
            watch.path(&root.path);
            match real_root(root) {
                Ok(real) => Some((precedence, root, real?)),
                Err(problem) => {
                    problems.push(problem);
                    None
                }
            }
        })
        .collect();
    let real_roots: Vec<PathBuf> = present.iter().map(|(.., real)| real.clone()).collect();

    let mut search = Search::new(limits, forbidden, &mut problems, &mut watch);
    let mut places = Vec::new();
    for (precedence, root, _) in &present {
        places.extend(search.root(*precedence, root));
    }

    let known: HashMap<&Path, &Arc<Skill>> = previous
        .iter()
        .map(|skill| (skill.directory.as_path(), skill))
        .collect();
    let load = |place: &Place| {
        let previous = known.get(place.directory.as_path()).copied();
        let mut survey = Survey::default();
        let skill = Skill::load(place.clone(), &real_roots, extent, previous, &mut survey);
        (skill, survey)
    };
    let mut skills = Vec::with_capacity(places.len());
    for (place, (skill, survey)) in places.iter().zip(side_by_side(&places, load)) {
        watch.link(&place.file);
        for directory in survey.directories {
            watch.everything(directory);
        }
        problems.extend(survey.problems);
        match skill {
            Ok(skill) => skills.push(skill),
            Err(problem) => problems.push(problem),
        }
    }
    // The files of a nested skill are the outer skill's, too.
    let mut said = HashSet::new();
    problems.retain(|problem| said.insert(problem.clone()));
    Discovered {
        skills,
        problems,
        watch,
    }
}

/// The real directory of a root, `None` when it is absent and may be. Only `ENOENT` and `ENOTDIR` mean absent.
fn real_root(root: &SkillRoot) -> Result<Option<PathBuf>, Problem> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let problem =
        |message: String| Problem::new(ProblemKind::Unreadable, message).at_file(&root.path, None);
    match fs::canonicalize(&root.path) {
        Ok(real) if real.is_dir() => Ok(Some(real)),
        Ok(_) => Err(problem("the skills root is not a directory".to_owned())
            .hint("name the directory that the skills lie in")),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            if root.optional {
                return Ok(None);
            }
            Err(problem("the skills root does not exist".to_owned())
                .hint("create it, or name another directory"))
        }
        Err(error) => Err(problem(format!("the skills root can't be read: {error}"))),
    }
}

#[cfg(test)]
mod tests;
