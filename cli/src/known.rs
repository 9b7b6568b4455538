//! What can be told without changing anything: by the daemon that is meant, and without one from the cache.

use std::path::{Path, PathBuf};

use daemon::client::{ANSWER, Client};
use daemon::offline::OfflineShelf;
use daemon::protocol::{
    Answer, Case, ChangeList, Changes, Describe, Description, Difference, Differences, Evaluate,
    Evaluation, ListFilter, Listing, Load, Search,
};
use skills::problem::Problem;

use crate::environment::Environment;
use crate::selection::{InUse, Which, elsewhere};
use crate::ui::Ui;

/// Where answers come from.
#[derive(Debug)]
pub(crate) enum Known {
    /// A daemon, which logs what it was asked.
    Running(Client),
    /// The cache: nothing is started, and nobody is told.
    Offline(Box<OfflineShelf>),
}

impl Known {
    /// Takes the daemon that is meant, else the configuration in use; a path in a shelf leads to its daemon alone.
    pub(crate) fn find(
        which: &Which,
        environment: &Environment,
        path: Option<&Path>,
    ) -> Result<Self, Problem> {
        if let Some(client) = which.connect_if_running(environment, path, ANSWER)? {
            return Ok(Self::Running(client));
        }
        let InUse {
            config,
            skills,
            project,
        } = which.configuration(environment)?;
        let surroundings = environment.surroundings()?;
        let (config, project) = (config.as_deref(), project.as_deref());
        let shelf = OfflineShelf::read(&surroundings, config, &skills, project)?;
        Ok(Self::Offline(Box::new(shelf)))
    }

    /// The same for who looks for entries: where there can be none, somebody meant a shelf that does not run.
    pub(crate) fn find_any(which: &Which, environment: &Environment) -> Result<Self, Problem> {
        let known = Self::find(which, environment, None)?;
        match &known {
            Self::Offline(shelf) if which.config().is_none() && shelf.is_empty() => Err(elsewhere(
                "no shelf runs, and nothing is configured that could be told without one",
                environment,
            )),
            _ => Ok(known),
        }
    }

    /// The entries that pass the filter.
    pub(crate) fn list(&mut self, filter: &ListFilter) -> Result<Listing, Problem> {
        match self {
            Self::Running(client) => client.list(filter),
            Self::Offline(shelf) => shelf.list(filter),
        }
    }

    /// What changed since a revision.
    pub(crate) fn changes(&mut self, changes: &Changes) -> Result<ChangeList, Problem> {
        match self {
            Self::Running(client) => client.changes(changes),
            Self::Offline(shelf) => shelf.changes(changes),
        }
    }

    /// How entries differ from what they were.
    pub(crate) fn differences(&mut self, asked: &Differences) -> Result<Vec<Difference>, Problem> {
        match self {
            Self::Running(client) => client.differences(asked),
            Self::Offline(shelf) => shelf.differences(asked),
        }
    }

    /// An entry that somebody reads.
    pub(crate) fn describe(&mut self, entry: &str) -> Result<Description, Problem> {
        self.look(entry, true)
    }

    /// An entry that nobody reads as a whole: to learn what it is.
    pub(crate) fn glance(&mut self, entry: &str) -> Result<Description, Problem> {
        self.look(entry, false)
    }

    fn look(&mut self, entry: &str, shown: bool) -> Result<Description, Problem> {
        match self {
            Self::Running(client) => client.describe(&Describe {
                entry: entry.to_owned(),
                shown,
                wait_ms: 0,
            }),
            Self::Offline(shelf) => shelf.describe(entry),
        }
    }

    /// Entries with their whole definitions, which are handed out to this session; a daemon remembers that.
    pub(crate) fn load(&mut self, entries: Vec<String>) -> Result<Vec<Description>, Problem> {
        match self {
            // Nobody is asked for nothing.
            _ if entries.is_empty() => Ok(Vec::new()),
            Self::Running(client) => client.load(&Load { entries }).map(|loaded| loaded.entries),
            Self::Offline(shelf) => entries.iter().map(|entry| shelf.describe(entry)).collect(),
        }
    }

    /// What answers some words.
    pub(crate) fn search(&mut self, search: &Search) -> Result<Answer, Problem> {
        match self {
            Self::Running(client) => client.search(search),
            Self::Offline(shelf) => shelf.search(search),
        }
    }

    /// How well search answers requests whose answers are known.
    pub(crate) fn evaluate(&mut self, cases: Vec<Case>) -> Result<Evaluation, Problem> {
        match self {
            Self::Running(client) => client.evaluate(&Evaluate { cases }),
            Self::Offline(shelf) => Ok(shelf.evaluate(&cases)),
        }
    }

    /// The overview in at most so many bytes.
    pub(crate) fn overview(&mut self, max_bytes: usize) -> Result<String, Problem> {
        match self {
            Self::Running(client) => client.overview(max_bytes),
            Self::Offline(shelf) => Ok(shelf.snapshot().overview_in_bytes(max_bytes)),
        }
    }

    /// Says what could not be read where nobody else would: a daemon tells it in its status.
    pub(crate) fn tell_unreadable(&self, ui: &Ui) {
        if let Self::Offline(shelf) = self {
            for problem in shelf.unreadable() {
                ui.warning(&problem.to_string());
            }
        }
    }

    /// Where the tree is shown, if it is.
    pub(crate) fn place(&mut self) -> Option<PathBuf> {
        match self {
            Self::Running(client) => match client.welcome() {
                // The whole state of a daemon takes longer than a search.
                welcome if !welcome.catalog.is_empty() => welcome.mount_point.clone(),
                _ => client.status().ok()?.about.mount_point,
            },
            Self::Offline(_) => None,
        }
    }

    /// Which catalog it is; `None` when a daemon does not say.
    pub(crate) fn catalog(&mut self) -> Option<String> {
        let catalog = match self {
            Self::Running(client) => client.welcome().catalog.clone(),
            Self::Offline(shelf) => shelf.catalog().to_owned(),
        };
        Some(catalog).filter(|catalog| !catalog.is_empty())
    }

    /// How a user learns what is not known yet.
    pub(crate) const fn remedy(&self) -> &'static str {
        match self {
            Self::Running(_) => "see shelf status",
            Self::Offline(_) => {
                "no shelf runs that would ask it; shelf call, mount or mirror start one"
            }
        }
    }
}
