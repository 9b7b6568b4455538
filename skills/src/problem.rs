//! The one shape of everything that can go wrong, from a skipped skill to a refused call.
//!
//! It knows nothing of how a problem is shown.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a [`Problem`] is, from which the exit code follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// A skill was left out.
    SkillSkipped,
    /// A skill was loaded, and something about it is wrong.
    SkillWarning,
    /// A tool that a server sent is wrong: it was left out, or its arguments can't be checked. The server's other tools can be used.
    MalformedTool,
    /// A resource or a prompt that a server sent is wrong and was left out. What else it has can be used.
    MalformedOffer,
    /// Two entries wanted one name; both stay.
    Collision,
    /// A file or directory could not be read.
    Unreadable,
    /// The configuration, or one entry of it, is wrong.
    Configuration,
    /// The command was used wrongly.
    Usage,
    /// The arguments don't fit the tool's schema; nothing was sent.
    Arguments,
    /// There is no such entry.
    NotFound,
    /// The tool ran and reported an error (`isError`).
    ToolError,
    /// The server could not be started or reached, or broke off.
    Server,
    /// Refused by policy.
    Refused,
    /// It changed, and under `pin = "strict"` nobody has trusted that yet.
    NotTrusted,
    /// There is no daemon, or it could not be started.
    Daemon,
    /// Mounting failed.
    Mount,
    /// The result is not of the kind that was asked for.
    ResultKind,
    /// The call took too long and was cancelled.
    TimedOut,
    /// The call was interrupted and cancelled.
    Interrupted,
    /// A fault of Toolshelf itself.
    Internal,
}

impl ProblemKind {
    /// The process exit code (the table in README, "The command").
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::ToolError => 1,
            Self::Usage | Self::Arguments | Self::Configuration => 2,
            Self::NotFound => 3,
            Self::Server | Self::MalformedTool | Self::MalformedOffer => 4,
            Self::Refused | Self::NotTrusted => 5,
            Self::Daemon | Self::Mount => 6,
            Self::ResultKind => 65,
            Self::SkillSkipped
            | Self::SkillWarning
            | Self::Collision
            | Self::Unreadable
            | Self::Internal => 70,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
        }
    }
}

/// Where a [`Problem`] is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// A file or directory, with the line (counted from 1) where one is known.
    File {
        /// The path as the user would write it.
        #[serde(with = "crate::paths")]
        path: PathBuf,
        /// The line, counted from 1.
        line: Option<u32>,
    },
    /// A server, with the tool where it is about one.
    Server {
        /// The server's configured name.
        server: String,
        /// The tool's name as the server sent it.
        tool: Option<String>,
    },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Server {
                server,
                tool: Some(tool),
            } => write!(f, "{server}/{tool}"),
            Self::Server { server, tool: None } => f.write_str(server),
        }
    }
}

/// Something that went wrong: what, where, and what to do about it.
///
/// Displayed as `location: message`; the hint is a line of its own and up to the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("{}{message}", .location.as_ref().map(|l| format!("{l}: ")).unwrap_or_default())]
pub struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What was wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// Makes a problem without a location or a hint.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            location: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds the file, and the line where one is known.
    #[must_use]
    pub fn at_file(mut self, path: impl Into<PathBuf>, line: Option<u32>) -> Self {
        self.location = Some(Location::File {
            path: path.into(),
            line,
        });
        self
    }

    /// Adds the server, and the tool where it is about one.
    #[must_use]
    pub fn at_server(mut self, server: impl Into<String>, tool: Option<&str>) -> Self {
        self.location = Some(Location::Server {
            server: server.into(),
            tool: tool.map(str::to_owned),
        });
        self
    }

    /// It with its hint, on a line of its own.
    pub fn told(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{self}\n{hint}"),
            None => self.to_string(),
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
