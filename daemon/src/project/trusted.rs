//! What a shelf takes of a trusted project: exactly what was trusted, however the project changes under it.
//!
//! It must not know who trusted it, nor how the project was found.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use skills::definition::quote;
use skills::discovery::SkillRoot;
use skills::problem::{Problem, ProblemKind};

use super::SERVERS;
use super::file::ServersFile;
use super::trust::{Trust, Trusts};
use crate::config::Config;

/// A project whose trusted part is read again whenever something changes.
#[derive(Debug)]
pub(crate) struct TrustedProject {
    directory: PathBuf,
    trusts: Trusts,
    /// The servers that were read last, with the hash of their file. An edited file must not take away what was trusted.
    last: Mutex<Option<(String, Config)>>,
}

impl TrustedProject {
    /// The project in a directory (links resolved), and what is trusted below the state directory.
    pub(crate) fn new(directory: &Path, state: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            trusts: Trusts::below(state),
            last: Mutex::default(),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The files whose changes may change what is taken.
    pub(crate) fn files(&self) -> [PathBuf; 2] {
        [self.directory.join(SERVERS), self.trusts.path().to_owned()]
    }

    /// Adds the trusted servers and skills to the user's own configuration, which comes first wherever the two have the same name.
    pub(crate) fn add_to(&self, config: &mut Config) {
        match self.trusts.find(&self.directory) {
            Ok(Some(trust)) => {
                self.add_skills(&trust, config);
                self.add_servers(&trust, config);
            }
            Ok(None) => {
                self.remember(None);
                config.problems.push(
                    self.problem("this project is no longer trusted, so nothing of it is used"),
                );
            }
            Err(problem) => {
                self.remember(None);
                config.problems.push(problem);
            }
        }
    }

    fn add_skills(&self, trust: &Trust, config: &mut Config) {
        for path in &trust.skills {
            match path.canonicalize() {
                Ok(real) if real != *path => config.problems.push(
                    self.problem(
                        "its skills are left out: this leads elsewhere since it was trusted",
                    )
                    .at_file(path, None),
                ),
                // What is absent may come back.
                Ok(_) | Err(_) => config.skills.push(SkillRoot {
                    path: path.clone(),
                    source: None,
                    optional: true,
                }),
            }
        }
    }

    fn add_servers(&self, trust: &Trust, config: &mut Config) {
        let trusted = match self.trusted_servers(trust) {
            Ok(trusted) => trusted,
            Err(problem) => {
                let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = last
                    .as_ref()
                    .filter(|(hash, _)| Some(hash) == trust.servers.as_ref());
                let consequence = match kept {
                    Some(_) => "what was trusted is still in use",
                    None => "its servers are left out",
                };
                let message = format!("{}; {consequence}", problem.message);
                config.problems.push(Problem { message, ..problem });
                if let Some((_, kept)) = kept {
                    config.add_project(kept.clone());
                }
                return;
            }
        };
        if let Some((_, servers)) = &trusted {
            config.add_project(servers.clone());
        }
        self.remember(trusted);
    }

    /// The servers of the file as it is now, if that is what is trusted; `None` when there is no file.
    fn trusted_servers(&self, trust: &Trust) -> Result<Option<(String, Config)>, Problem> {
        let Some(file) = ServersFile::read(&self.directory)? else {
            return Ok(None);
        };
        if trust.servers.as_ref() != Some(&file.hash) {
            let message = match trust.servers {
                Some(_) => "the file has changed since it was trusted",
                None => "the file is not trusted: it came after the project was",
            };
            return Err(self.problem(message).at_file(&file.path, None));
        }
        let servers = file.parse()?;
        Ok(Some((file.hash, servers)))
    }

    fn remember(&self, servers: Option<(String, Config)>) {
        // It is replaced whole, so a panic elsewhere does not spoil it.
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    fn problem(&self, message: &str) -> Problem {
        Problem::new(ProblemKind::Configuration, message)
            .at_file(&self.directory, None)
            .hint(format!(
                "`shelf trust {}` shows what it would start, and asks",
                quote(&self.directory.to_string_lossy())
            ))
    }
}
