//! A project's own servers and skills: found where somebody works, and used only once they are trusted.
//!
//! To find a project means to see that something lies there; nothing of it is read. What is trusted is in [`trust`], what a shelf takes
//! of it in [`trusted`].

pub mod file;
#[cfg(test)]
mod tests;
pub mod trust;
pub(crate) mod trusted;

use std::path::{Path, PathBuf};

use skills::problem::{Problem, ProblemKind};

use self::trust::Trust;
use crate::mount_table;

/// The file with a project's servers, as other clients have it.
pub const SERVERS: &str = ".mcp.json";

/// Where clients look for the skills of a project, below its directory. The common ground comes first.
pub const SKILLS: [&str; 2] = [".agents/skills", ".claude/skills"];

/// What lies in a directory that could be put on a shelf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The directory, its links resolved.
    pub directory: PathBuf,
    /// Whether something is called [`SERVERS`] there, whatever it is.
    pub has_servers: bool,
    /// The directories with skills that are there, of [`SKILLS`] and in that order.
    pub skills: Vec<Skills>,
}

/// A directory with the skills of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skills {
    /// Its name in the project.
    pub name: &'static str,
    /// Where that leads, links resolved.
    pub real: PathBuf,
}

impl Project {
    /// Finds the project that somebody works in: the nearest directory that has anything of one, from `working` (links resolved) up to
    /// the root of its repository. Where there is no repository that is `working` alone. The home directory and `/` are no projects, and
    /// neither is what a shelf shows.
    pub fn find(working: &Path, home: Option<&Path>) -> Option<Self> {
        // Before anything below it is looked at: its daemon may hang.
        if mount_table::containing(working).is_some() {
            return None;
        }
        let levels = levels(working).into_iter();
        levels
            .filter(|directory| !is_reserved(directory, home))
            .find_map(|directory| Self::at(&directory))
    }

    /// What is asked to be trusted: the project in exactly this directory.
    ///
    /// # Errors
    /// When there is none, or it is the home directory, `/`, or in a shelf.
    pub fn named(directory: &Path, home: Option<&Path>) -> Result<Self, Problem> {
        let refused = |kind, message: &str| Problem::new(kind, message).at_file(directory, None);
        if mount_table::containing(directory).is_some() {
            return Err(refused(ProblemKind::Usage, "this lies in a shelf"));
        }
        let real = directory.canonicalize().map_err(|error| {
            refused(
                ProblemKind::NotFound,
                &format!("the directory can't be looked at: {error}"),
            )
        })?;
        if is_reserved(&real, home) {
            let message = "the home directory and / are no projects";
            return Err(refused(ProblemKind::Usage, message).hint(
                "what is yours belongs into your own configuration: shelf servers import --write",
            ));
        }
        Self::at(&real).ok_or_else(|| {
            let problem = refused(
                ProblemKind::NotFound,
                &format!("neither {SERVERS} nor {} is there", SKILLS.join(" nor ")),
            );
            match Self::find(&real, home) {
                Some(above) => problem.hint(format!(
                    "the project that this belongs to is {}",
                    above.directory.display()
                )),
                None => problem,
            }
        })
    }

    fn at(directory: &Path) -> Option<Self> {
        let skills = SKILLS.iter().filter_map(|&name| {
            let real = directory.join(name).canonicalize().ok()?;
            real.is_dir().then_some(Skills { name, real })
        });
        let project = Self {
            directory: directory.to_owned(),
            has_servers: directory.join(SERVERS).symlink_metadata().is_ok(),
            skills: skills.collect(),
        };
        (project.has_servers || !project.skills.is_empty()).then_some(project)
    }

    /// The names of what is not trusted as it is now. Of the file with the servers no more is read than its hash needs, and that only
    /// when there is a hash to compare.
    pub fn untrusted(&self, trust: Option<&Trust>) -> Vec<&'static str> {
        let servers = self.has_servers && !trust.is_some_and(|trust| trust.is_of_servers(self));
        let skills = self
            .skills
            .iter()
            .filter(|skills| !trust.is_some_and(|trust| trust.skills.contains(&skills.real)));
        let servers = servers.then_some(SERVERS).into_iter();
        servers.chain(skills.map(|skills| skills.name)).collect()
    }
}

/// The directories that are a project's: from this one up to the root of its repository, the nearest first. Without a repository it
/// is this one alone, so that nothing above it is taken for a part of the project.
pub(crate) fn levels(directory: &Path) -> Vec<PathBuf> {
    let root = directory
        .ancestors()
        .find(|above| above.join(".git").exists())
        .unwrap_or(directory);
    directory
        .ancestors()
        .take_while(|above| above.starts_with(root))
        .map(Path::to_owned)
        .collect()
}

/// Whether it can't be a project: what lies there is the user's own, or everybody's.
fn is_reserved(directory: &Path, home: Option<&Path>) -> bool {
    let is_home = home.is_some_and(|home| {
        directory == home || home.canonicalize().is_ok_and(|home| directory == home)
    });
    is_home || directory.parent().is_none()
}
