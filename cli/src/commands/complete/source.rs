//! What a shelf knows, for completion: asked of the running daemon, else of the cache. Nothing is started.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use daemon::client::Client;
use daemon::offline::OfflineNames;
use daemon::protocol::{Describe, EntryKind, ListFilter, ListOffers};
use skills::arguments::suggestions::{Suggestion, suggestions};
use skills::entry_id::ServerName;
use skills::offers::Kind;
use skills::tool::Tool;

use super::line::Source;
use crate::environment::Environment;
use crate::selection::{InUse, Target, Which, target};

/// Whoever types waits: a daemon that is slower than this has nothing to offer.
const PATIENCE: Duration = Duration::from_millis(500);

/// The shelf that the line is about.
pub(super) struct Shelf<'e> {
    environment: &'e Environment,
}

/// Where the answer comes from.
enum Known {
    Running(Box<Client>),
    Offline(Box<OfflineNames>),
}

impl<'e> Shelf<'e> {
    pub(super) fn new(environment: &'e Environment) -> Self {
        Self { environment }
    }

    fn known(&self, config: Option<&str>, path: Option<&Path>) -> Option<Known> {
        let which = config.map_or_else(Which::default, |config| Which::serving(Path::new(config)));
        let environment = self.environment;
        if let Some(client) = which.connect_if_running(environment, path, PATIENCE).ok()? {
            return Some(Known::Running(Box::new(client)));
        }
        let InUse {
            config,
            skills,
            project,
        } = which.configuration(environment).ok()?;
        let surroundings = environment.surroundings().ok()?;
        let (config, project) = (config.as_deref(), project.as_deref());
        let names = OfflineNames::read(&surroundings, config, &skills, project).ok()?;
        Some(Known::Offline(Box::new(names)))
    }

    fn tool(&self, entry: &str, config: Option<&str>) -> Option<Arc<Tool>> {
        let Target { entry, path } = target(OsStr::new(entry), self.environment).ok()?;
        match self.known(config, path.as_deref())? {
            Known::Running(mut client) => {
                let asked = Describe {
                    entry,
                    shown: false,
                    wait_ms: 0,
                };
                let tool = client.describe(&asked).ok()?.tool?;
                let server = ServerName::new(&tool.server);
                Tool::parse(&server, 0, tool.raw.into()).ok().map(Arc::new)
            }
            Known::Offline(names) => names.tool(&entry),
        }
    }
}

impl Source for Shelf<'_> {
    fn entries(
        &mut self,
        typed: &str,
        kind: Option<EntryKind>,
        config: Option<&str>,
    ) -> Vec<Suggestion> {
        // Paths are completed as files.
        if typed.starts_with(['/', '.', '~']) {
            return Vec::new();
        }
        match self.known(config, None) {
            Some(Known::Running(mut client)) => {
                let filter = ListFilter {
                    server: server_of(typed),
                    kind,
                };
                let entries = client.list(&filter).map(|listing| listing.entries);
                let entries = entries.unwrap_or_default().into_iter();
                entries
                    .filter(|entry| entry.id.as_str().starts_with(typed))
                    .map(|entry| Suggestion {
                        word: entry.id.to_string(),
                        about: entry.summary,
                    })
                    .collect()
            }
            Some(Known::Offline(names)) => {
                let mut ids = Vec::new();
                if kind != Some(EntryKind::Skill) {
                    ids.extend(names.tools(typed));
                }
                if kind != Some(EntryKind::Tool) {
                    ids.extend(names.skills(typed));
                }
                ids.iter().map(|id| alone(id.as_str())).collect()
            }
            None => Vec::new(),
        }
    }

    fn servers(&mut self, typed: &str, config: Option<&str>) -> Vec<Suggestion> {
        let names: Vec<String> = match self.known(config, None) {
            Some(Known::Running(mut client)) => {
                let servers = client.status().map(|status| status.servers);
                let servers = servers.unwrap_or_default().into_iter();
                servers.map(|server| server.name).collect()
            }
            Some(Known::Offline(names)) => names.servers().map(ToString::to_string).collect(),
            None => Vec::new(),
        };
        let fitting = names.iter().filter(|name| name.starts_with(typed));
        fitting.map(|name| alone(name)).collect()
    }

    fn offers(
        &mut self,
        server: &str,
        kind: Kind,
        typed: &str,
        config: Option<&str>,
    ) -> Vec<Suggestion> {
        let server = server.to_owned();
        let listed = match self.known(config, None) {
            Some(Known::Running(mut client)) => client.offers(&ListOffers { server }).ok(),
            Some(Known::Offline(names)) => Some(names.offers(&server)),
            None => None,
        };
        let listed = listed.unwrap_or_default();
        let of_kind = match kind {
            Kind::Resources => listed.resources,
            Kind::Prompts => listed.prompts,
        };
        of_kind
            .into_iter()
            .filter(|offer| offer.key.starts_with(typed))
            .map(|offer| Suggestion {
                word: offer.key,
                about: offer.summary,
            })
            .collect()
    }

    fn of_tool(
        &mut self,
        entry: &str,
        before: &[String],
        typed: &str,
        config: Option<&str>,
    ) -> Vec<Suggestion> {
        self.tool(entry, config)
            .map(|tool| suggestions(&tool, before, typed))
            .unwrap_or_default()
    }
}

/// The server whose tools alone can begin so.
fn server_of(typed: &str) -> Option<String> {
    let (server, _) = typed.split_once('/')?;
    (server != "skills").then(|| server.to_owned())
}

fn alone(word: &str) -> Suggestion {
    Suggestion {
        word: word.to_owned(),
        about: String::new(),
    }
}
