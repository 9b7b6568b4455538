//! What a pin is about. Names are those that the sources use: an id may change when another entry comes, these don't.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::skill::Skill;
use skills::tool::Tool;

/// What a pin is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// What a server says of itself: title, version, instructions.
    Server(ServerName),
    /// A tool.
    Tool {
        /// Its server.
        server: ServerName,
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
    pub(super) fn tool(server: &ServerName, tool: &Tool) -> Self {
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
    pub(super) fn server(&self) -> Option<&ServerName> {
        match self {
            Self::Server(server) | Self::Tool { server, .. } => Some(server),
            Self::Skill { .. } => None,
        }
    }

    /// The problem at its place.
    pub(super) fn locate(&self, problem: Problem) -> Problem {
        match self {
            Self::Server(server) => problem.at_server(server.as_str(), None),
            Self::Tool { server, name } => problem.at_server(server.as_str(), Some(name)),
            Self::Skill { found, .. } => problem.at_file(found, None),
        }
    }
}
