//! The sources of the catalog as one: the configuration, the servers, the skills.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills::discovery::SkillRoot;
use skills::problem::Problem;

use super::origin::Origin;
use super::{Options, Output};
use crate::cache::DefinitionCache;
use crate::catalog::{SourceUpdate, Updates};
use crate::config::{Config, Transport};
use crate::gate::Gate;
use crate::pins::Scope;
use crate::searching::Searcher;
use crate::servers::Servers;
use crate::skill_source::SkillSource;

/// The sources of one daemon.
pub(super) struct Sources {
    origin: Origin,
    /// The roots of the command line, which come before those of the configuration.
    given: Vec<SkillRoot>,
    updates: Updates,
    gate: Arc<Gate>,
    pub(super) servers: Servers,
    pub(super) skills: SkillSource,
}

impl Sources {
    /// Says everything that is known without starting anything: the skills, and the servers from the cache.
    pub(super) async fn start(
        options: &Options,
        (origin, config): (Origin, &Config),
        server_logs: PathBuf,
        cache: DefinitionCache,
        updates: Updates,
        gate: Arc<Gate>,
    ) -> Self {
        gate.set_policy(config.policy.clone());
        let (given, surroundings) = (options.skills.clone(), options.surroundings.clone());
        let roots = roots(&given, config);
        let own = match &options.output {
            Output::Mirror { target } | Output::MirrorOnce { target } => Some(target.clone()),
            // It stands in the mount table.
            Output::Mount { .. } | Output::None => None,
        };
        let (limits, to) = (config.limits, updates.clone());
        // The scan and the reading of the cache have nothing in common but the time they take.
        let scan = tokio::task::spawn_blocking(move || SkillSource::start(roots, own, limits, to));
        let servers = Servers::new(surroundings, server_logs, cache, updates.clone());
        servers.configure(config);
        let skills = scan
            .await
            .expect("the scan ends with what it found, whatever it meets");
        let sources = Self {
            origin,
            given,
            updates,
            gate,
            servers,
            skills,
        };
        sources.pin(config);
        sources.tell(config);
        sources
    }

    /// Says what is served only as it was trusted, and where skills may be.
    fn pin(&self, config: &Config) {
        let scope = scope(&self.given, config, self.origin.project());
        // A closed queue means that the daemon is ending.
        let _ = self.updates.send(SourceUpdate::Pinning(scope));
    }

    fn tell(&self, config: &Config) {
        // What is wrong with an entry is said by its server, too.
        let said = |problem: &&Problem| {
            config.servers.values().any(|server| {
                matches!(&server.transport, Transport::Invalid(invalid) if invalid == *problem)
            })
        };
        let problems = config
            .problems
            .iter()
            .filter(|p| !said(p))
            .cloned()
            .collect();
        // A closed queue means that the daemon is ending.
        let _ = self.updates.send(SourceUpdate::Configuration {
            problems,
            index: config.index,
            entries: Arc::clone(&config.entries),
        });
        let hidden = Arc::new(config.policy.hidden());
        let _ = self.updates.send(SourceUpdate::Hidden(hidden));
    }

    /// Reads the configuration again and takes over what changed. A file that can't be read is said, and what was
    /// configured before stays.
    pub(super) fn reload(&self, searcher: &Searcher) {
        let config = self.origin.load_again();
        // Before anything that it may refuse can be called.
        self.gate.set_policy(config.policy.clone());
        // Before anything that it may hold back is seen.
        self.pin(&config);
        self.servers.configure(&config);
        self.skills.set_roots(roots(&self.given, &config));
        self.tell(&config);
        searcher.set_options(config.search.clone());
        // Not waited for: a server that is slow to answer must not hold up the next edit.
        let servers = self.servers.clone();
        tokio::spawn(async move { servers.refresh().await });
    }
}

/// The skill roots in order of precedence: the command line's, then the configuration's.
pub(crate) fn roots(given: &[SkillRoot], config: &Config) -> Vec<SkillRoot> {
    given.iter().chain(&config.skills).cloned().collect()
}

/// What pins depend on.
pub(crate) fn scope(given: &[SkillRoot], config: &Config, project: Option<&Path>) -> Scope {
    let servers = || config.files.keys().cloned().collect();
    Scope {
        pinning: config.pinning.clone(),
        roots: roots(given, config),
        project: project.map(|directory| (directory.to_owned(), servers())),
    }
}
