//! What a pin is about. Names are those that the sources use: an id may change when another entry comes, these don't.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::skill::Skill;
use skills::tool::Tool;

/// A server as pins know it. The ledger is that of the user's own configuration, whatever stands beside it, so that a server of a
/// project is told from those of other projects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct PinnedServer {
    /// The directory of the project that brings it; `None` where the user's configuration does.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "project")]
    pub(super) project: Option<PathBuf>,
    pub(super) name: ServerName,
}

/// What a pin is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// What a server says of itself: title, version, instructions.
    Server(PinnedServer),
    /// A tool.
    Tool {
        /// Its server.
        server: PinnedServer,
        /// Its name as the server sent it.
        name: String,
    },
    /// A skill.
    Skill {
        /// The named source it came from.
        source: Option<String>,
        /// The path of its directory as found below the root.
        #[serde(with = "skills::paths")]
        found: PathBuf,
    },
}

impl Subject {
    pub(super) fn tool(server: &PinnedServer, tool: &Tool) -> Self {
        Self::Tool {
            server: server.clone(),
            name: tool.name.to_string(),
        }
    }

    pub(super) fn skill(skill: &Skill) -> Self {
        Self::Skill {
            source: skill.source.clone(),
            found: skill.found.clone(),
        }
    }

    /// The server it belongs to.
    pub(super) fn server(&self) -> Option<&PinnedServer> {
        match self {
            Self::Server(server) | Self::Tool { server, .. } => Some(server),
            Self::Skill { .. } => None,
        }
    }

    /// The problem at its place.
    pub(super) fn locate(&self, problem: Problem) -> Problem {
        match self {
            Self::Server(server) => problem.at_server(server.name.as_str(), None),
            Self::Tool { server, name } => problem.at_server(server.name.as_str(), Some(name)),
            Self::Skill { found, .. } => problem.at_file(found, None),
        }
    }
}

/// The directory of a project, which need not be UTF-8.
mod project {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Directory(#[serde(with = "skills::paths")] PathBuf);

    pub(super) fn serialize<S: Serializer>(
        project: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        project.clone().map(Directory).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let project = Option::<Directory>::deserialize(deserializer)?;
        Ok(project.map(|Directory(path)| path))
    }
}
