//! Where a shelf's settings come from: the user's configuration, and the trusted part of a project; read as one, and again.
//!
//! It starts nothing and tells nobody.

use std::path::{Path, PathBuf};

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
        }
    }

    /// Reads all of it. What can't be used of a project is a problem among others.
    ///
    /// # Errors
    /// When the user's configuration can't be read, or lies in a shelf mount: the daemon must never read its own mount.
    pub(crate) fn load(&self) -> Result<Config, Problem> {
        let mut config = match &self.config {
            Some(path) => load(path, &self.environment)?,
            None => Config::default(),
        };
        if let Some(project) = &self.project {
            project.add_to(&mut config);
        }
        let absent = config.absent_roots(&self.environment);
        config.problems.extend(absent);
        Ok(config)
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
