//! `shelf servers add`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use daemon::config::StdioConfig;
use daemon::config::definition::{Definition, Way};
use daemon::config::edit;
use skills::entry_id::ServerName;
use skills::problem::Problem;

use super::target::Target;
use crate::environment::{Environment, absolute};
use crate::error::{CommandResult, usage};
use crate::ui::Ui;

/// Add a server to your shelf.toml
///
/// Nothing is started: a running shelf takes it over by itself. What stands in the file stays as it is, comments included. Values are written as they are, so ${VAR} is a variable of the environment of `shelf mount`, and the place for a secret.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf servers add everything -- npx -y @modelcontextprotocol/server-everything\n  shelf servers add github --env 'TOKEN=${GITHUB_TOKEN}' -- npx -y @example/github-server\n  shelf servers add tracker --url https://tracker.example/mcp --header 'Authorization=Bearer ${TRACKER_TOKEN}'"
)]
pub(super) struct Arguments {
    /// What the server is called; its tools are NAME/TOOL
    #[arg(value_name = "NAME")]
    name: String,

    /// The program that is the server, with its arguments
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "url",
        conflicts_with = "url"
    )]
    command: Vec<String>,

    /// Give it this variable; can be given several times
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "url")]
    env: Vec<(String, String)>,

    /// Start it in this directory, in place of that of the file
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,

    /// Reach it over HTTP at this URL
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// Send this header with every request; can be given several times
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header, conflicts_with = "command")]
    headers: Vec<(String, String)>,

    #[command(flatten)]
    target: Target,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let name = ServerName::new(&arguments.name);
    if arguments.name.trim().is_empty() {
        return Err(usage("the name of the server is empty").into());
    }
    let definition = Definition::new(way(arguments)?);
    let path = arguments.target.path(environment)?;
    let is_secret = definition.has_literal_values();
    let servers = [(name, definition)];
    let target = &arguments.target;
    target.edit(&path, is_secret, environment, ui, |source| {
        edit::add(&path, source, &servers)
    })?;
    ui.note(&format!("added `{}` to {}", servers[0].0, path.display()));
    Ok(())
}

fn way(arguments: &Arguments) -> Result<Way, Problem> {
    if let Some(url) = &arguments.url {
        if !["http://", "https://", "${"]
            .iter()
            .any(|start| url.starts_with(start))
        {
            return Err(usage("the URL is neither http nor https"));
        }
        return Ok(Way::Http {
            url: url.clone(),
            headers: map("header", &arguments.headers)?,
        });
    }
    let mut words = arguments.command.iter().cloned();
    let program = words.next().unwrap_or_default();
    Ok(Way::Process(StdioConfig {
        // Relative to where the command is typed; in the file it would be relative to that.
        command: match program.starts_with("./") || program.starts_with("../") {
            true => whole(&program)?,
            false => program,
        },
        args: words.collect(),
        env: map("variable", &arguments.env)?,
        cwd: match &arguments.cwd {
            Some(cwd) if !cwd.starts_with(['/', '~', '$']) => Some(whole(cwd)?),
            cwd => cwd.clone(),
        },
    }))
}

/// A path as it reads from the root.
fn whole(path: &str) -> Result<String, Problem> {
    let whole = absolute(Path::new(path))?;
    let whole = whole.into_os_string().into_string();
    whole.map_err(|_| usage("the path of this directory is not UTF-8"))
}

fn map(what: &str, pairs: &[(String, String)]) -> Result<BTreeMap<String, String>, Problem> {
    let mut map = BTreeMap::new();
    for (name, value) in pairs {
        if map.insert(name.clone(), value.clone()).is_some() {
            return Err(usage(format!("the {what} {name} is given twice")));
        }
    }
    Ok(map)
}

fn pair(text: &str) -> Result<(String, String), String> {
    // The text is not repeated: it may be a secret.
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// As [`pair`], or as HTTP writes it.
fn header(text: &str) -> Result<(String, String), String> {
    let name = text.find(['=', ':']).map_or("", |end| &text[..end]);
    if name.trim().is_empty() {
        return Err("write NAME=VALUE or 'NAME: VALUE'".to_owned());
    }
    let value = &text[name.len() + 1..];
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{header, pair};

    #[test]
    fn pairs_are_split_at_the_first_sign() {
        let two = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(pair("A=b=c"), two("A", "b=c"));
        assert_eq!(pair("A="), two("A", ""));
        assert_eq!(
            header("Authorization: Bearer a=b"),
            two("Authorization", "Bearer a=b")
        );
        assert_eq!(header("X-Key=a:b"), two("X-Key", "a:b"));
    }

    #[test]
    fn what_is_refused_is_not_repeated() {
        for text in ["secret", "=secret"] {
            assert!(!pair(text).unwrap_err().contains("secret"));
            assert!(!header(text).unwrap_err().contains("secret"));
        }
    }
}
