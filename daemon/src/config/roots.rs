//! Roots: the directories that a server is told of when it asks what it may work on.
//!
//! It reads and expands them, and knows nothing of how they are told.

use std::path::{Component, Path, PathBuf};

use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};

use super::entry::closed;
use super::expansion::Expansion;
use super::node::{Fault, Node};
use super::{Config, ServerConfig};
use crate::surroundings::Environment;

/// Reads a list of directories as it is written.
///
/// # Errors
/// The first of them that is no text.
pub(super) fn read(node: Node<'_>, what: &str) -> Result<Vec<String>, Fault> {
    let directory = |node: Node<'_>| {
        let text = node.text(what)?;
        if text.is_empty() {
            let fault = Fault::new(node.line(), format!("{what} has an empty directory"));
            return Err(fault.hint("write \".\" for the directory of this file"));
        }
        closed(node, what)
    };
    node.list(what)?.into_iter().map(directory).collect()
}

impl ServerConfig {
    /// The roots that it is told of, whole: variables and `~/` expanded, relative ones below the directory of `config`, the absolute
    /// path of the file; `.` and `..` are resolved by name.
    ///
    /// # Errors
    /// Every unresolved variable, named with the file and the line of the entry.
    pub fn roots(
        &self,
        name: &ServerName,
        config: &Path,
        environment: &Environment,
    ) -> Result<Vec<PathBuf>, Problem> {
        let mut expansion = Expansion::new(environment);
        let home = config.parent().unwrap_or(Path::new(""));
        let roots = self.roots.iter();
        let roots = roots.map(|root| resolved(&home.join(expansion.path("`roots`", root))));
        let roots = roots.collect();
        match expansion.into_fault() {
            None => Ok(roots),
            Some((message, hint)) => {
                let message = format!("server `{name}`: {message}");
                Err(Problem::new(ProblemKind::Configuration, message)
                    .at_file(config, Some(self.line))
                    .hint(hint))
            }
        }
    }
}

impl Config {
    /// The roots that are not there: a server is told of them all the same, since they may still come.
    pub fn absent_roots(&self, environment: &Environment) -> Vec<Problem> {
        let servers = self.servers.iter().filter(|(_, server)| !server.disabled);
        let mut problems = Vec::new();
        for (name, server) in servers {
            let path = self.file_of(name);
            let roots = server.roots(name, path, environment).unwrap_or_default();
            problems.extend(roots.iter().filter(|root| !root.is_dir()).map(|root| {
                let message = format!(
                    "the root {} of server `{name}` is no directory",
                    root.display()
                );
                Problem::new(ProblemKind::Configuration, message)
                    .at_file(path, Some(server.line))
                    .hint("it is told to the server all the same")
            }));
        }
        problems
    }
}

/// The path without `.` and `..`: servers compare roots with paths letter by letter.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}
