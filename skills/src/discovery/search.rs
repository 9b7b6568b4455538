//! The search below one root: which directories hold a SKILL.md.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::{Limits, SkillRoot, Watch};
use crate::problem::{Problem, ProblemKind};
use crate::skill::{self, Place};

/// Directories that are never searched.
const SKIPPED: [&str; 2] = [".git", "node_modules"];

/// A search of one root after the other, which reads each real directory once.
pub(super) struct Search<'a> {
    limits: Limits,
    forbidden: &'a [PathBuf],
    problems: &'a mut Vec<Problem>,
    watch: &'a mut Watch,
    /// The real directories that were searched, each with how many levels below it were. One that was at the end of a
    /// root's depth is searched again by a root that has more left.
    searched: HashMap<PathBuf, usize>,
    /// The real directories of the skills found.
    skills: HashSet<PathBuf>,
}

/// What one root's walk has come to.
#[derive(Default)]
struct Walk {
    /// The real paths of searched directories that hold a SKILL.md, by the path they were found by, and the files' names.
    found: BTreeMap<PathBuf, (PathBuf, Vec<OsString>)>,
    /// The real path of each directory entered.
    real: HashMap<PathBuf, PathBuf>,
    /// Links that lead nowhere, and what is to be said of them.
    lost: Vec<(PathBuf, String)>,
    /// The first directory that lies too deep, and how many there are.
    too_deep: Option<(PathBuf, usize)>,
}

/// What became of a directory.
enum Entered {
    /// Its entries come next.
    Searched,
    /// It is passed over.
    Skipped,
    /// It would be one too many.
    Full,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        limits: Limits,
        forbidden: &'a [PathBuf],
        problems: &'a mut Vec<Problem>,
        watch: &'a mut Watch,
    ) -> Self {
        Self {
            limits,
            forbidden,
            problems,
            watch,
            searched: HashMap::new(),
            skills: HashSet::new(),
        }
    }

    /// The skills below a root that no earlier root has, in order of path.
    pub(super) fn root(&mut self, precedence: usize, root: &SkillRoot) -> Vec<Place> {
        let mut walk = Walk::default();
        let mut entries = WalkDir::new(&root.path)
            .follow_links(true)
            // A directory that a link beside it leads to is known by its own name.
            .sort_by_key(|entry| (entry.path_is_symlink(), entry.file_name().to_owned()))
            .into_iter();
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => match self.enter(&entry, &mut walk) {
                    Entered::Searched => {}
                    Entered::Skipped => entries.skip_current_dir(),
                    Entered::Full => {
                        self.report_count(&root.path);
                        break;
                    }
                },
                Ok(entry) => walk.file(entry.path()),
                Err(error) => self.fault(&error, &mut walk),
            }
        }
        for (link, message) in std::mem::take(&mut walk.lost) {
            if !walk.is_in_skill(&link) {
                self.warn(&link, message);
            }
        }
        if let Some((first, count)) = walk.too_deep.take() {
            self.report_depth(first, count);
        }
        walk.found
            .into_iter()
            .filter_map(|(found, (directory, names))| {
                if !self.skills.insert(directory.clone()) {
                    return None;
                }
                Some(Place {
                    source: root.source.clone(),
                    precedence,
                    file: found.join(self.choose(&found, names)),
                    found,
                    directory,
                })
            })
            .collect()
    }

    /// Decides whether a directory is searched.
    fn enter(&mut self, entry: &DirEntry, walk: &mut Walk) -> Entered {
        let path = entry.path();
        let inner = entry.depth() > 0;
        if inner && SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            return Entered::Skipped;
        }
        let Some(left) = self.limits.depth.checked_sub(entry.depth()) else {
            let (_, count) = walk.too_deep.get_or_insert_with(|| (path.to_owned(), 0));
            *count += 1;
            return Entered::Skipped;
        };
        let parent = path.parent().and_then(|parent| walk.real.get(parent));
        let real = match parent {
            // Asking the kernel for each would take longer than the rest of the search.
            Some(parent) if !entry.path_is_symlink() => parent.join(entry.file_name()),
            _ => {
                self.watch.link(path);
                match fs::canonicalize(path) {
                    Ok(real) => real,
                    Err(error) => {
                        self.problems.push(skill::unreadable(path, &error));
                        return Entered::Skipped;
                    }
                }
            }
        };
        if self.forbidden.iter().any(|mount| real.starts_with(mount)) {
            let message = "lies in a shelf mount and is not searched for skills";
            self.warn(path, message.to_owned());
            return Entered::Skipped;
        }
        if self
            .searched
            .get(&real)
            .is_some_and(|before| *before >= left)
        {
            return Entered::Skipped;
        }
        if walk.real.len() == self.limits.directories {
            return Entered::Full;
        }
        self.searched.insert(real.clone(), left);
        self.watch.everything(real.clone());
        walk.real.insert(path.to_owned(), real);
        Entered::Searched
    }

    /// One entry that could not be read; the walk goes on.
    fn fault(&mut self, error: &walkdir::Error, walk: &mut Walk) {
        // A cycle hides nothing: the directory it leads to is searched already.
        let (Some(path), Some(io)) = (error.path(), error.io_error()) else {
            return;
        };
        if !path.is_symlink() {
            if io.kind() != std::io::ErrorKind::NotFound {
                self.problems.push(skill::unreadable(path, io));
            }
            return;
        }
        self.watch.link(path);
        if path.file_name().is_some_and(skill::is_file_name) {
            // Loading it says what is wrong.
            walk.file(path);
        } else {
            let target = fs::read_link(path).unwrap_or_default();
            let message = format!(
                "a link to {} that can't be followed: {io}",
                target.display()
            );
            walk.lost.push((path.to_owned(), message));
        }
    }

    /// The exact name where it is there, else the first of the other spellings.
    fn choose(&mut self, found: &Path, mut names: Vec<OsString>) -> OsString {
        names.sort_by_key(|name| (name != skill::FILE_NAME, name.clone()));
        let chosen = names.swap_remove(0);
        if !names.is_empty() {
            let message = format!(
                "several spellings of {}; {} is used",
                skill::FILE_NAME,
                chosen.display()
            );
            self.warn(found, message);
        }
        chosen
    }

    fn report_depth(&mut self, first: PathBuf, count: usize) {
        let depth = self.limits.depth;
        let mut message = format!("more than {depth} levels below its root; not searched");
        if count > 1 {
            message += &format!(", nor are {} others", count - 1);
        }
        let problem = Problem::new(ProblemKind::SkillWarning, message).at_file(first, None);
        self.problems
            .push(problem.hint("add a root that is nearer, or raise the depth limit"));
    }

    fn report_count(&mut self, root: &Path) {
        let message = format!(
            "more than {} directories; the rest is not searched",
            self.limits.directories
        );
        let problem = Problem::new(ProblemKind::SkillSkipped, message).at_file(root, None);
        self.problems
            .push(problem.hint("name the directories of the skills as roots, or raise the limit"));
    }

    fn warn(&mut self, path: &Path, message: String) {
        self.problems
            .push(Problem::new(ProblemKind::SkillWarning, message).at_file(path, None));
    }
}

impl Walk {
    /// Notes a file when it makes its directory a skill.
    fn file(&mut self, path: &Path) {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        if let Some(real) = self.real.get(directory)
            && skill::is_file_name(name)
        {
            self.found
                .entry(directory.to_owned())
                .or_insert_with(|| (real.clone(), Vec::new()))
                .1
                .push(name.to_owned());
        }
    }

    /// Whether a skill's directory is above a path, so that the skill's own files report what is wrong with it.
    fn is_in_skill(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .any(|above| self.found.contains_key(above))
    }
}
