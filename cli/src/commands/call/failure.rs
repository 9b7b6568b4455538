//! A call that did not work, told to a model: with what it needs to call better.

use std::ffi::OsStr;

use daemon::client::Client;
use daemon::protocol::{Describe, Description};
use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::formats::{CallError, call_error};
use skills::problem::{Problem, ProblemKind};
use skills::tool::Tool;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::selection::target;
use crate::ui::Ui;

/// Shows a problem on stderr as `<tool-call-error>`: stdout is for results alone.
pub(super) fn show(
    problem: Problem,
    entry: &OsStr,
    connected: Option<Client>,
    environment: &Environment,
    ui: &Ui,
) -> CommandError {
    let described = connected
        .filter(|_| is_about_the_call(problem.kind))
        .and_then(|client| describe(client, entry, environment));
    let parameters = described.as_ref().and_then(parameters);
    let tool = match &described {
        Some(description) => description.id.to_string(),
        None => entry.to_string_lossy().into_owned(),
    };
    ui.note(&call_error(&CallError {
        tool: &tool,
        message: &problem.to_string(),
        hint: problem.hint.as_deref(),
        parameters: parameters.as_deref(),
    }));
    CommandError::Shown(problem.kind)
}

/// Whether other arguments might have worked; else the server or the daemon may not even answer.
const fn is_about_the_call(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::Usage
            | ProblemKind::Arguments
            | ProblemKind::ToolError
            | ProblemKind::ResultKind
    )
}

/// The tool, where there is one; that it isn't found is no second problem.
fn describe(mut client: Client, entry: &OsStr, environment: &Environment) -> Option<Description> {
    let asked = Describe {
        entry: target(entry, environment).ok()?.entry,
        shown: false,
        wait_ms: 0,
    };
    client.describe(&asked).ok()
}

fn parameters(description: &Description) -> Option<Box<RawValue>> {
    let tool = description.tool.as_ref()?;
    let server = ServerName::new(&tool.server);
    let tool = Tool::parse(&server, 0, tool.raw.clone().into()).ok()?;
    Some(tool.input_schema)
}
