//! What went wrong with a server, in words: for callers in full, for `STATUS` on one line.

use std::path::Path;
use std::time::Duration;

use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};

use super::connection::RequestError;
use super::far_end::Ending;
use super::ticket::{Lost, ServerError};

/// The longest reason that `STATUS` shows, in characters.
const MAX_SUMMARY: usize = 300;
/// The longest account of an ending, or message of a server's error, that is shown, in characters.
const MAX_MESSAGE: usize = 2_000;
/// The longest `data` of a server's error that is shown, in characters: it is for programs, and comes after the message.
const MAX_DATA: usize = 500;

/// A problem of a server.
pub(super) fn server(server: &ServerName, message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Server, message).at_server(server.as_str(), None)
}

/// A server that ended or could not be started, with the end of its standard error.
pub(super) fn of_ending(name: &ServerName, prefix: &str, ending: &Ending, log: &Path) -> Problem {
    let what = cut(&ending.what, MAX_MESSAGE);
    let Some(stderr) = &ending.stderr else {
        let problem = server(name, format!("{prefix}{what}"));
        return match &ending.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        };
    };
    let message = if stderr.is_empty() {
        format!("{prefix}{what}; it wrote nothing to standard error")
    } else {
        format!("{prefix}{what}; its standard error ends:\n{stderr}")
    };
    server(name, message).hint(format!("all that it wrote is in {}", log.display()))
}

/// A request of which the reply alone is lost.
fn of_lost(name: &ServerName, lost: &Lost) -> Problem {
    let problem = server(name, format!("the server {}", cut(&lost.what, MAX_MESSAGE)));
    match &lost.hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// The one line for `STATUS`.
pub(super) fn summary(ending: &Ending) -> String {
    let stderr = ending.stderr.as_deref().unwrap_or_default();
    let lines: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    let text = if last.is_empty() {
        ending.what.clone()
    } else {
        format!("{}: {last}", ending.what)
    };
    cut(&text, MAX_SUMMARY)
}

/// A list of `what` that could not be had.
pub(super) fn of_listing(name: &ServerName, what: &str, error: RequestError) -> Problem {
    if let RequestError::Lost(lost) = &error {
        return of_lost(name, lost);
    }
    server(
        name,
        match error {
            RequestError::NotSent => format!("ended before its {what} could be listed"),
            RequestError::BrokeOff(ending) => {
                format!("{} while it listed its {what}", summary(&ending))
            }
            RequestError::Lost(lost) => lost.what,
            RequestError::Refused(error) => {
                format!("refused to list its {what}: {}", of_server(&error))
            }
            RequestError::TooLong { bytes } => {
                format!("its list of {what} is too long ({bytes} bytes in one line)")
            }
            RequestError::TimedOut => format!("did not list its {what} in time"),
            RequestError::Interrupted => format!("was stopped while it listed its {what}"),
        },
    )
}

/// A call that has no result.
pub(super) fn of_call(name: &ServerName, tool: &str, error: RequestError, log: &Path) -> Problem {
    let at_tool = |problem: Problem| problem.at_server(name.as_str(), Some(tool));
    match error {
        RequestError::NotSent => at_tool(server(
            name,
            "the server ended twice before the call could be sent",
        )),
        RequestError::BrokeOff(ending) => {
            at_tool(of_ending(name, "the server broke off: ", &ending, log))
        }
        RequestError::Lost(lost) => at_tool(of_lost(name, &lost)),
        RequestError::Refused(error) => at_tool(Problem::new(
            ProblemKind::ToolError,
            format!("the server says: {}", of_server(&error)),
        )),
        RequestError::TooLong { bytes } => at_tool(server(
            name,
            format!("the result is too long ({bytes} bytes in one line)"),
        )),
        // Both are made by the caller, who knows how long it waited.
        RequestError::TimedOut => timed_out(name, tool, None),
        RequestError::Interrupted => interrupted(name, tool),
    }
}

/// A call whose time is up.
pub(super) fn timed_out(name: &ServerName, tool: &str, after: Option<Duration>) -> Problem {
    let after = after.map_or_else(String::new, |after| format!(" after {after:?}"));
    Problem::new(
        ProblemKind::TimedOut,
        format!("timed out{after}; the call was cancelled"),
    )
    .at_server(name.as_str(), Some(tool))
    .hint("give it longer with --timeout")
}

/// A call that its caller gave up.
pub(super) fn interrupted(name: &ServerName, tool: &str) -> Problem {
    Problem::new(
        ProblemKind::Interrupted,
        "interrupted; the call was cancelled",
    )
    .at_server(name.as_str(), Some(tool))
}

/// What a server says in a protocol error.
pub(super) fn of_server(error: &ServerError) -> String {
    let mut text = format!("{} (code {})", cut(&error.message, MAX_MESSAGE), error.code);
    if let Some(data) = &error.data {
        text.push_str("; data: ");
        text.push_str(&cut(data.get(), MAX_DATA));
    }
    text
}

/// The first characters of a text.
pub(super) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::of_server;
    use crate::servers::ticket::ServerError;

    #[test]
    fn what_a_server_adds_to_its_error_does_not_fill_the_screen() {
        let data = format!("{:?}", "v".repeat(100_000));
        let text = of_server(&ServerError {
            code: -1,
            message: "bad".to_owned(),
            data: Some(RawValue::from_string(data).unwrap()),
        });
        assert!(text.starts_with("bad (code -1); data: \"vvv"), "{text}");
        assert!(text.chars().count() < 600, "{}", text.chars().count());
    }
}
