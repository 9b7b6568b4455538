//! The configuration that is edited. It must not know what is changed in it.

use std::path::{Path, PathBuf};

use clap::Args;
use daemon::config::edit::{self, Written};
use daemon::instance;
use skills::problem::{Problem, ProblemKind};

use crate::environment::{Environment, absolute};
use crate::ui::Ui;

/// Chooses the configuration to edit.
#[derive(Args, Clone, Debug)]
pub(super) struct Target {
    /// Edit this shelf.toml; by default it is your own, which is made where it is missing
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Target {
    /// The file, which need not exist.
    pub(super) fn path(&self, environment: &Environment) -> Result<PathBuf, Problem> {
        match &self.config {
            Some(file) => absolute(file),
            None => environment.own_config(),
        }
    }

    /// Changes the text of the file and warns where others could read what may be a secret.
    ///
    /// Without a configuration of one's own the skills that clients share are mounted. A new one has them in it: adding a server takes
    /// no skill away.
    pub(super) fn edit(
        &self,
        path: &Path,
        holds_secrets: bool,
        environment: &Environment,
        ui: &Ui,
        change: impl FnOnce(&str) -> Result<String, Problem>,
    ) -> Result<Written, Problem> {
        let skills = match self.config.is_none() && !path.exists() {
            true => shared_skills(environment),
            false => None,
        };
        let change = |source: &str| match &skills {
            Some(skills) if source.is_empty() => change(skills),
            _ => change(source),
        };
        let written = edit::edit(path, change).map_err(|problem| match problem.kind {
            // What is refused is the command, not the file.
            ProblemKind::Configuration if problem.hint.is_none() => {
                problem.hint("shelf config check says what is wrong with the whole file")
            }
            _ => problem,
        })?;
        if holds_secrets && written.readable_by_others {
            ui.warning(&format!(
                "{} can be read by others, and a value in it may be a secret",
                path.display()
            ));
            ui.hint(&format!("chmod 600 {}", path.display()));
        }
        if written.created && skills.is_some() {
            ui.note("the skills that clients share stand in it, too: without it they were mounted");
        }
        if written.created && self.config.is_none() {
            for place in mounted_without_configuration(environment) {
                ui.note(&format!(
                    "the shelf in {} was mounted without a configuration and does not take it over",
                    place.display()
                ));
                ui.hint("mount again to take it over: shelf unmount, then shelf mount");
            }
        }
        Ok(written)
    }
}

/// Where shelves are that began when there was no configuration: they look for none later.
fn mounted_without_configuration(environment: &Environment) -> Vec<PathBuf> {
    // It is said besides: what can't be found out is no fault of what was done.
    let running = instance::running(&environment.runtime()).unwrap_or_default();
    let without = running.into_iter().filter(|about| about.config.is_none());
    without.filter_map(|about| about.mount_point).collect()
}

/// The line that has those of the shared skills that are there.
fn shared_skills(environment: &Environment) -> Option<String> {
    let roots = environment.shared_skills().into_iter();
    let there = roots.filter(|root| root.path.is_dir());
    let paths: Vec<_> = there
        .filter_map(|root| Some(format!("\"~/{}\"", environment.below_home(&root.path)?)))
        .collect();
    let line = format!(
        "# The skills that clients share.\nskills = [{}]\n",
        paths.join(", ")
    );
    (!paths.is_empty()).then_some(line)
}
