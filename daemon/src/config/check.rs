//! What is wrong with a configuration that can be read: it is looked at, and nothing of it is started.

use std::path::Path;

use skills::problem::{Problem, ProblemKind};

use super::Config;
use crate::surroundings::Environment;

impl Config {
    /// What will be wrong only when it is used, or is so here: variables that nothing resolves, directories that are not there.
    /// It is as of [`Config::expand_home`].
    pub fn warnings(&self, environment: &Environment) -> Vec<Problem> {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        let servers = self.servers.iter().filter(|(_, server)| !server.disabled);
        let unresolved = servers.filter_map(|(name, server)| {
            let path = self.file_of(name);
            let access = server.access(name, path, environment).map(drop);
            let roots = || server.roots(name, path, environment).map(drop);
            let problem = access.and_then(|()| roots()).err()?;
            // What can't be used at all is among the problems.
            let is_known = self
                .problems
                .iter()
                .any(|known| known.message == problem.message);
            (problem.kind == ProblemKind::Configuration && !is_known).then_some(problem)
        });
        let absent = self
            .skills
            .iter()
            .filter(|root| !root.optional && !root.path.is_dir());
        let absent = absent.map(|root| {
            let message = format!("the skills in {} are not there", root.path.display());
            Problem::new(ProblemKind::Configuration, message).at_file(path, None)
        });
        let mut warnings: Vec<_> = unresolved.chain(absent).collect();
        warnings.extend(self.absent_roots(environment));
        warnings.sort_by(|a, b| a.location.cmp(&b.location));
        warnings
    }
}
