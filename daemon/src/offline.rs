//! What is known of a configuration without a daemon: skills scanned now, definitions as they were listed last.
//!
//! Nothing is started and nothing is logged, and nothing is written but the search index that had to be built, into the cache.

mod configured;
mod names;
mod searched;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use skills::catalog::{Entry, FirstSeen, Outline, Shown, Snapshot, Sources};
use skills::discovery::SkillRoot;
use skills::entry_id::EntryId;
use skills::lint::Lint;
use skills::problem::Problem;
use skills::search::{Answer, Case, Evaluation, evaluate};

use self::configured::Configured;
use self::searched::Searched;
use crate::cache::{IndexCache, TokenCounts};
use crate::control::{changes, methods, search};
use crate::journal;
use crate::protocol::{
    ChangeList, Changes, Description, Difference, Differences, ListFilter, Listing, Search,
};
use crate::run::catalog_name;
use crate::surroundings::Surroundings;

pub use names::OfflineNames;

/// A shelf that nobody serves. What a question needs is read when it is asked.
#[derive(Debug)]
pub struct OfflineShelf {
    configured: Configured,
    /// Where definitions, counts and the index were left.
    cache: PathBuf,
    journal: journal::Place,
    searched: OnceLock<Searched>,
    sources: OnceLock<Sources>,
    snapshot: OnceLock<Snapshot>,
}

/// Times are not shown, so none is remembered.
struct NeverSeen;

impl FirstSeen for NeverSeen {
    fn first_seen(&mut self, _path: &str, _hash: &[u8; 32]) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

impl OfflineShelf {
    /// Reads the configuration; what a daemon with it, these skill roots and this project would know before it started anything is read
    /// later.
    ///
    /// # Errors
    /// When the configuration can't be read, or under strict pins what is trusted.
    pub fn read(
        surroundings: &Surroundings,
        config: Option<&Path>,
        skills: &[SkillRoot],
        project: Option<&Path>,
    ) -> Result<Self, Problem> {
        let directories = &surroundings.directories;
        let catalog = catalog_name(config, skills, project);
        Ok(Self {
            configured: Configured::read(surroundings, config, skills, project)?,
            cache: directories.cache.clone(),
            journal: journal::Place::below(&directories.state, &catalog),
            searched: OnceLock::new(),
            sources: OnceLock::new(),
            snapshot: OnceLock::new(),
        })
    }

    /// Whether it has neither a server nor a skill.
    pub fn is_empty(&self) -> bool {
        self.configured.config.servers.is_empty() && self.configured.skills().is_empty()
    }

    /// What could not be read, and so is not there: an answer without it is not that there is nothing.
    pub fn unreadable(&self) -> Vec<Problem> {
        self.configured.unreadable().cloned().collect()
    }

    /// Which catalog it is, as a daemon of this configuration without further skills would call it.
    pub fn catalog(&self) -> &str {
        &self.journal.name
    }

    /// All that a mount would show. To render it takes longer than most questions.
    pub fn snapshot(&self) -> &Snapshot {
        self.snapshot.get_or_init(|| {
            // A tokenizer is never loaded here: what is not in the cache is an estimate.
            let counts = TokenCounts::read(&self.cache, &self.configured.name);
            let sources = Sources {
                skills: self.configured.whole_skills(),
                ..self.sources().clone()
            };
            let index = self.configured.config.index;
            Snapshot::build_counted(None, sources, index, &counts, &mut NeverSeen)
        })
    }

    /// What the specification and loading find wrong with the skills as they are now, trusted and shown or not.
    pub fn lint(&self) -> Lint {
        self.configured.lint()
    }

    /// The entries that pass the filter, as a daemon would list them.
    ///
    /// # Errors
    /// When the filter names a server that is not configured.
    pub fn list(&self, filter: &ListFilter) -> Result<Listing, Problem> {
        if let Some(searched) = Searched::kept(&self.configured, &self.index_cache()) {
            return methods::list(&searched.servers, searched.index.lines(), filter);
        }
        let outline = self.outline();
        methods::list(&outline, methods::lines(&outline), filter)
    }

    /// What daemons have seen to change since a revision, as one would tell it: what changed since the last one ended is not
    /// in the journal yet.
    ///
    /// # Errors
    /// When there was no such revision, or the journal can't be read.
    pub fn changes(&self, asked: &Changes) -> Result<ChangeList, Problem> {
        let list = self.journal.changes(asked.since.as_ref())?;
        Ok(changes::described(list, &self.outline()))
    }

    /// How entries differ from what daemons remember of them; what there is now is not remembered by that.
    ///
    /// # Errors
    /// When one that is asked for is not there.
    pub fn differences(&self, asked: &Differences) -> Result<Vec<Difference>, Problem> {
        self.configured.pins().differences(self.snapshot(), asked)
    }

    /// What answers some words, as a daemon would answer. There is no waiting here: nobody asks a server.
    ///
    /// # Errors
    /// When the search is about a server that is not configured.
    pub fn search(&self, asked: &Search) -> Result<Answer, Problem> {
        let searched = self.searched();
        search::search(&searched.index, &searched.servers, asked)
    }

    /// How well search answers requests whose answers are known, as a daemon would measure it.
    pub fn evaluate(&self, cases: &[Case]) -> Evaluation {
        evaluate(&self.searched().index, cases)
    }

    /// An entry in full, as a daemon would describe it. Of an id only that entry's server, or the skills, are read.
    ///
    /// # Errors
    /// When there is no such entry, or its server is not known.
    pub fn describe(&self, id_or_path: &str) -> Result<Description, Problem> {
        if let Some((id, entry)) = self.entry(id_or_path) {
            return Ok(self.description(id, entry));
        }
        if may_be_a_file(id_or_path) {
            let described = methods::describe(self.snapshot(), id_or_path);
            return described
                .map_err(|problem| without_daemon(problem, self.snapshot(), id_or_path));
        }
        let outline = self.outline();
        match outline.find(id_or_path) {
            Ok((id, entry)) => Ok(self.description(id, entry)),
            Err(problem) => {
                let problem = methods::explained(problem, &outline, id_or_path);
                Err(without_daemon(problem, &outline, id_or_path))
            }
        }
    }

    fn description(&self, id: EntryId, entry: Entry) -> Description {
        let said = self.configured.config.entries.get(&id);
        let pinned = said.is_some_and(|said| said.pin);
        methods::description(id, entry, pinned)
    }

    /// The entry with this id, or with the path of a definition that says its id.
    fn entry(&self, id_or_path: &str) -> Option<(EntryId, Entry)> {
        let by_path = || {
            let inside = |start, end| id_or_path.strip_prefix(start)?.strip_suffix(end);
            let id = inside("mcp/", ".md").or_else(|| inside(".schemas/", ".json"));
            self.configured.entry(id?)
        };
        self.configured.entry(id_or_path).or_else(by_path)
    }

    fn index_cache(&self) -> IndexCache {
        IndexCache::new(&self.cache, &self.configured.name)
    }

    /// What is searched.
    fn searched(&self) -> &Searched {
        self.searched.get_or_init(|| {
            let cache = self.index_cache();
            Searched::warm(&self.configured, || {
                let kept = Searched::kept(&self.configured, &cache);
                kept.unwrap_or_else(|| Searched::build(self.outline(), &self.configured, &cache))
            })
        })
    }

    fn outline(&self) -> Outline {
        Outline::new(self.sources().clone())
    }

    /// Everything that is known, the skills without their other files.
    fn sources(&self) -> &Sources {
        self.sources.get_or_init(|| {
            let configured = &self.configured;
            // The two have nothing in common but the time they take.
            let servers = std::thread::scope(|scope| {
                scope.spawn(|| configured.skills());
                configured.servers()
            });
            searched::sources(configured, servers, configured.skills().to_owned())
        })
    }
}

/// Whether only the whole tree can tell what is meant, where [`OfflineShelf::entry`] can't: a program, or what lies below a skill.
fn may_be_a_file(id_or_path: &str) -> bool {
    let path = id_or_path.strip_prefix("./").unwrap_or(id_or_path);
    let path = path.trim_matches('/');
    match path.split_once('/') {
        Some(("bin", _)) => true,
        Some(("skills", below)) => below.contains('/') || path != id_or_path,
        Some(("mcp" | ".schemas", _)) => path != id_or_path,
        _ => false,
    }
}

/// Says how a server would be asked that may have what was not found.
fn without_daemon(problem: Problem, shown: &dyn Shown, id_or_path: &str) -> Problem {
    match methods::unknown_server(shown, id_or_path) {
        Some((_, state)) if state.may_answer() => problem
            .hint("no shelf runs that would ask it; `shelf call`, `mount` or `mirror` start one"),
        _ => problem,
    }
}

#[cfg(test)]
mod tests;
