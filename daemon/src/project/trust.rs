//! Which projects are trusted, and with what in them, on disk: one private file of the user, never in a project.
//!
//! It fails closed: of a file that can't be used nothing is trusted.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skills::problem::Problem;

use super::Project;
use super::file::ServersFile;
use crate::state_file::{StateFile, Words};

/// What is trusted of one project: what somebody was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// The project, links resolved.
    #[serde(with = "skills::paths")]
    pub directory: PathBuf,
    /// The hash of the bytes of its file with servers ([`ServersFile::hash`]), if it had one.
    pub servers: Option<String>,
    /// Its directories with skills, links resolved. What lies in them may change.
    #[serde(with = "skills::paths")]
    pub skills: Vec<PathBuf>,
    /// Since when.
    pub since: jiff::Timestamp,
}

impl Trust {
    /// Trust, from now on, in a project with the file that was shown.
    pub fn of(project: &Project, servers: Option<&ServersFile>) -> Self {
        Self {
            directory: project.directory.clone(),
            servers: servers.map(|file| file.hash.clone()),
            skills: project.skills.iter().map(|it| it.real.clone()).collect(),
            since: jiff::Timestamp::now(),
        }
    }

    /// Whether the two trust the same in the same project.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.directory, &self.servers, &self.skills)
            == (&other.directory, &other.servers, &other.skills)
    }

    /// Whether the project's file with servers is the one that is trusted.
    pub(super) fn is_of_servers(&self, project: &Project) -> bool {
        self.servers.is_some()
            && ServersFile::read(&project.directory)
                .is_ok_and(|file| file.map(|file| file.hash) == self.servers)
    }
}

/// Everything that is trusted.
#[derive(Clone, Debug)]
pub struct Trusts(StateFile<Trust>);

impl Trusts {
    /// Those of the user whose state directory this is. Nothing is made before something is trusted.
    pub fn below(state: &Path) -> Self {
        let words = Words {
            what: "the list of trusted projects",
            remedy: "then no project is trusted until `shelf trust DIR`",
        };
        Self(StateFile::at(
            state.join("trust").join("projects.json"),
            words,
        ))
    }

    /// The file, which need not exist.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// All of them, in order of their directories.
    ///
    /// # Errors
    /// When there is a file that can't be used.
    pub fn all(&self) -> Result<Vec<Trust>, Problem> {
        self.0.all()
    }

    /// What is trusted of the project in this directory (links resolved).
    ///
    /// # Errors
    /// When there is a file that can't be used.
    pub fn find(&self, directory: &Path) -> Result<Option<Trust>, Problem> {
        let mut all = self.all()?.into_iter();
        Ok(all.find(|trust| trust.directory == directory))
    }

    /// Trusts a project, in place of what was trusted of it before.
    ///
    /// # Errors
    /// When the file can't be read or written.
    pub fn add(&self, trust: Trust) -> Result<(), Problem> {
        self.0.change(|all| {
            all.retain(|other| other.directory != trust.directory);
            all.push(trust);
            all.sort_by(|one, other| one.directory.cmp(&other.directory));
        })
    }

    /// Takes trust back; `None` when there was none.
    ///
    /// # Errors
    /// When the file can't be read or written.
    pub fn remove(&self, directory: &Path) -> Result<Option<Trust>, Problem> {
        // Nothing is made, nor locked, for what is not there.
        if self.find(directory)?.is_none() {
            return Ok(None);
        }
        self.0.change(|all| {
            let at = all.iter().position(|trust| trust.directory == directory)?;
            Some(all.remove(at))
        })
    }
}
