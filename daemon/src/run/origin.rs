//! Where a shelf's settings come from: the user's configuration, and the trusted part of a project; read as one, and again.
//!
//! It starts nothing and tells nobody.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use skills::problem::{Problem, ProblemKind};

use crate::config::Config;
use crate::mount_table;
use crate::project::trusted::TrustedProject;
use crate::surroundings::{Environment, Surroundings};

/// The files of one shelf.
#[derive(Debug)]
pub(crate) struct Origin {
    config: Option<PathBuf>,
    project: Option<TrustedProject>,
    environment: Environment,
    /// The user's configuration as it could be read last.
    own: Mutex<Config>,
}

impl Origin {
    /// A configuration and a project (links resolved), each where there is one.
    pub(crate) fn new(
        config: Option<&Path>,
        project: Option<&Path>,
        surroundings: &Surroundings,
    ) -> Self {
        let state = &surroundings.directories.state;
        Self {
            config: config.map(Path::to_owned),
            project: project.map(|directory| TrustedProject::new(directory, state)),
            environment: surroundings.environment.clone(),
            own: Mutex::default(),
        }
    }

    /// The directory of the project (links resolved).
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_ref().map(TrustedProject::directory)
    }

    /// Reads all of it. What can't be used of a project is a problem among others.
    ///
    /// # Errors
    /// When the user's configuration can't be read, or lies in a shelf mount: the daemon must never read its own mount.
    pub(crate) fn load(&self) -> Result<Config, Problem> {
        let own = self.own()?;
        Ok(self.with_project(own))
    }

    /// Reads all of it again. Of a configuration that can't be read it is said, and what it said before stays; what is trusted of a project is
    /// as it is now all the same, or trust could not be taken back meanwhile.
    pub(super) fn load_again(&self) -> Config {
        let own = self.own().unwrap_or_else(|mut problem| {
            problem.message += "; the configuration from before is still in use";
            let before = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            Config {
                problems: vec![problem],
                ..before.clone()
            }
        });
        self.with_project(own)
    }

    fn own(&self) -> Result<Config, Problem> {
        let own = match &self.config {
            Some(path) => load(path, &self.environment)?,
            None => Config::default(),
        };
        // It is replaced whole, so a panic elsewhere does not spoil it.
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = own.clone();
        Ok(own)
    }

    fn with_project(&self, mut own: Config) -> Config {
        if let Some(project) = &self.project {
            project.add_to(&mut own);
        }
        let absent = own.absent_roots(&self.environment);
        own.problems.extend(absent);
        own
    }

    /// The files whose changes change it.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let of_project = self.project.iter().flat_map(TrustedProject::files);
        self.config.iter().cloned().chain(of_project).collect()
    }
}

fn load(path: &Path, environment: &Environment) -> Result<Config, Problem> {
    if let Some(mount) = mount_table::containing(path) {
        return Err(Problem::new(
            ProblemKind::Configuration,
            format!(
                "the configuration lies in the shelf mount {}",
                mount.mount_point.display()
            ),
        )
        .at_file(path, None)
        .hint("give a file outside every shelf mount"));
    }
    let mut config = Config::load(path)?;
    config.expand_home(environment);
    Ok(config)
}
