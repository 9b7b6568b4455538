//! `shelf servers import`.

mod report;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use daemon::config::Config;
use daemon::config::edit;
use daemon::config::import::{Client, Found, Import, look};
use skills::problem::{Problem, ProblemKind};

use self::report::{Row, Standing};
use super::target::Target;
use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::ui::Ui;

/// List the servers that other clients are configured with, and take them over with --write
///
/// Looked into are your own settings of each client, and those of the project that DIR lies in. Nothing is started, and their files are never written. A line begins with + for a server that is new, = for one whose name your configuration has already (yours stays), ! for one that can't be taken over, with the reason. The nearest settings win: the project's, then your own, then other projects' in ~/.claude.json; in each, clients in the order of --from. What several say alike is one server.
///
/// Values of variables and headers are shown only where they are references such as ${TOKEN}, others as ***. They are taken over as they are: a secret that is written there will stand in your shelf.toml, which is made readable for you alone.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf servers import\n  shelf servers import --from claude-code --from cursor --write\n  shelf servers import --json | jq -r '.servers[] | select(.standing == \"new\").name'"
)]
pub(super) struct Arguments {
    /// Look into the settings of this client alone; can be given several times
    #[arg(long = "from", value_enum, value_name = "CLIENT")]
    clients: Vec<ClientName>,

    /// Look for the settings of this project, in place of the working directory's
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Write what is new into your shelf.toml
    #[arg(long)]
    write: bool,

    /// Print what was found as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClientName {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
    Codex,
    Gemini,
    #[value(name = "opencode")]
    OpenCode,
    Windsurf,
    Zed,
}

impl ClientName {
    const fn client(self) -> Client {
        match self {
            Self::ClaudeCode => Client::ClaudeCode,
            Self::ClaudeDesktop => Client::ClaudeDesktop,
            Self::Cursor => Client::Cursor,
            Self::VsCode => Client::VsCode,
            Self::Codex => Client::Codex,
            Self::Gemini => Client::Gemini,
            Self::OpenCode => Client::OpenCode,
            Self::Windsurf => Client::Windsurf,
            Self::Zed => Client::Zed,
        }
    }
}

pub(super) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let directory = absolute(arguments.project.as_deref().unwrap_or(Path::new(".")))?;
    let given: Vec<_> = arguments.clients.iter().map(|name| name.client()).collect();
    let clients = match given.is_empty() {
        true => &Client::ALL[..],
        false => &given,
    };
    let path = target(arguments, environment)?;
    let known = match &path {
        Some(path) if path.exists() => Config::load(path)?,
        _ => Config::default(),
    };
    let import = look(clients, environment.variables(), &directory);
    let rows: Vec<_> = import
        .found
        .iter()
        .map(|found| Row {
            found,
            standing: standing(found, &known),
        })
        .collect();
    let new: Vec<_> = rows.iter().filter_map(Row::to_write).collect();
    if arguments.write
        && let (Some(path), false) = (&path, new.is_empty())
    {
        let holds_secrets = new
            .iter()
            .any(|(_, definition)| report::is_masked(definition));
        let target = &arguments.target;
        target.edit(path, holds_secrets, environment, ui, |source| {
            edit::add(path, source, &new)
        })?;
    }
    for problem in &import.problems {
        ui.warning(&problem.to_string());
    }
    if arguments.json {
        ui.json(&report::json(
            &rows,
            &import,
            path.as_deref(),
            arguments.write,
        ))?;
    } else {
        ui.text(&report::text(&rows))?;
    }
    if rows.is_empty() {
        return Err(nothing_found(&import).into());
    }
    conclusion(new.len(), path.as_deref(), arguments.write, ui);
    Ok(())
}

/// The configuration that is compared and written; only what is to be written has to be a file that can be edited.
fn target(arguments: &Arguments, environment: &Environment) -> Result<Option<PathBuf>, Problem> {
    match arguments.target.path(environment) {
        Ok(path) => Ok(Some(path)),
        Err(problem) if arguments.write => Err(problem),
        Err(_) => Ok(environment.default_config()),
    }
}

fn standing(found: &Found, known: &Config) -> Standing {
    match (&found.outcome, known.servers.get(&found.name)) {
        (Err(_), _) => Standing::Refused,
        (Ok(_), Some(server)) => Standing::Known { line: server.line },
        (Ok(_), None) => Standing::New,
    }
}

fn nothing_found(import: &Import) -> Problem {
    let message = match import.files.len() {
        0 => "no settings of other clients were found".to_owned(),
        1 => format!("no server was found in {}", import.files[0].display()),
        files => format!("no server was found in {files} files of settings"),
    };
    Problem::new(ProblemKind::NotFound, message)
        .hint("--project DIR looks for those of a project; shelf servers add adds one by hand")
}

fn conclusion(new: usize, path: Option<&Path>, written: bool, ui: &Ui) {
    let servers = match new {
        1 => "1 server".to_owned(),
        new => format!("{new} servers"),
    };
    let Some(path) = path else { return };
    match (new, written) {
        (0, _) => ui.note(&format!("nothing is new to {}", path.display())),
        (_, true) => ui.note(&format!("added {servers} to {}", path.display())),
        (_, false) if !edit::is_editable(path) => {
            ui.note(&format!("{servers} would be new to {}", path.display()));
            ui.hint("a configuration in JSON is not edited: name a shelf.toml with --config, or add them by hand");
        }
        (_, false) => {
            ui.note(&format!("{servers} would be added to {}", path.display()));
            ui.hint("run it again with --write");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use daemon::config::import::Client;

    use super::ClientName;

    #[test]
    fn a_client_is_named_as_the_library_names_it() {
        let names = ClientName::value_variants().iter();
        let clients: Vec<_> = names
            .map(|name| {
                let value = name.to_possible_value().unwrap();
                assert_eq!(value.get_name(), name.client().name());
                name.client()
            })
            .collect();
        assert_eq!(clients, Client::ALL);
    }
}
