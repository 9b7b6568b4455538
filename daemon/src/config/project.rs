//! The file of a project as a part of the user's configuration: it brings servers and nothing else, and never in place of the user's own.
//!
//! It must not know whether the project is trusted.

use std::path::Path;

use skills::problem::{Problem, ProblemKind};

use super::{Config, problem, reader, text};
use crate::gate::policy::Rules;

impl Config {
    /// Reads the bytes of a project's file at `path` (absolute).
    ///
    /// # Errors
    /// When they can't be parsed, or hold a `policy`: to drop it could let pass what it was meant to refuse.
    pub(crate) fn of_project(path: &Path, bytes: &[u8]) -> Result<Self, Problem> {
        let config = text(bytes).and_then(|source| reader::read_of_project(path, source));
        let config = config.map_err(|fault| problem(path, fault))?;
        Ok(Self {
            path: Some(path.to_owned()),
            ..config
        })
    }

    /// Adds the servers of a project's file. Where the user has one of the same name, theirs is meant, and the other is reported.
    pub(crate) fn add_project(&mut self, mut project: Self) {
        let path = project.path.unwrap_or_default();
        self.problems.extend(project.problems);
        for (name, server) in project.servers {
            if self.servers.contains_key(&name) {
                let message = format!(
                    "server `{name}` of the project is left out: your own configuration has one of this name"
                );
                let problem = Problem::new(ProblemKind::Configuration, message)
                    .at_file(&path, Some(server.line))
                    .hint("rename one of them");
                self.problems.push(problem);
                continue;
            }
            if let Some(rules) = project.policy.servers.remove(&name) {
                let rules = restricting(rules, &path, server.line);
                self.policy.servers.insert(name.clone(), rules);
            }
            self.files.insert(name.clone(), path.clone());
            self.servers.insert(name, server);
        }
    }
}

/// The rules of a project's server. An `allow` could let pass what the user's own list does not, so that it closes the section.
fn restricting(mut rules: Rules, path: &Path, line: u32) -> Rules {
    if rules.allow.is_some() {
        let message = "`allow` counts in your own configuration alone, not in a project's";
        let fault = Problem::new(ProblemKind::Configuration, message);
        rules.fault = Some(fault.at_file(path, Some(line)));
    }
    rules
}
