//! What a command ends with when it does not work, and the exit code that follows.

use std::io;

use skills::problem::{Problem, ProblemKind};

/// Why a command did not work.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// Something went wrong that the user is told about.
    Problem(Problem),
    /// The tool reported an error, which has been shown.
    Tool,
    /// What was checked is not as it should be, which has been shown.
    Findings,
    /// Something of this kind went wrong, and has been shown in the form that was asked for.
    Shown(ProblemKind),
    /// Whoever read our output has had enough.
    BrokenPipe,
    /// A fault of ours, or of the machine.
    Other(anyhow::Error),
}

/// What a command ends with.
pub(crate) type CommandResult = Result<(), CommandError>;

impl CommandError {
    /// The process exit code.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Problem(problem) => problem.kind.exit_code(),
            Self::Shown(kind) => kind.exit_code(),
            Self::Tool | Self::Findings => ProblemKind::ToolError.exit_code(),
            Self::BrokenPipe => 0,
            Self::Other(_) => ProblemKind::Internal.exit_code(),
        }
    }
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Other(error.into())
        }
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

/// A wrong use of the command.
pub(crate) fn usage(message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Usage, message)
}
