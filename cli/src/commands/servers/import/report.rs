//! How what was found in other clients' settings reads. Values that may be secrets are not shown.

use std::fmt::Write as _;
use std::path::Path;

use daemon::config::definition::{Definition, Way, is_reference};
use daemon::config::import::{Found, Import};
use serde_json::{Map, Value, json};
use skills::entry_id::ServerName;
use skills::summary::one_line;

/// What stands in place of a value.
const MASK: &str = "***";

/// Parts of the names of options and variables whose value is a secret.
const SECRET: [&str; 9] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "auth",
    "header",
    "bearer",
];

/// Where a server stands in respect of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    New,
    Known { line: u32 },
    Refused,
}

/// A server that was found.
pub(super) struct Row<'a> {
    pub(super) found: &'a Found,
    pub(super) standing: Standing,
}

impl Row<'_> {
    /// What is to be written, if it is new.
    pub(super) fn to_write(&self) -> Option<(ServerName, Definition)> {
        let definition = self.found.outcome.as_ref().ok()?;
        (self.standing == Standing::New).then(|| (self.found.name.clone(), definition.clone()))
    }
}

/// Whether a server has what may be a secret.
pub(super) fn is_masked(definition: &Definition) -> bool {
    definition.has_literal_values() || reached(definition).contains(MASK)
}

/// The rows for people.
pub(super) fn text(rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    for row in rows {
        let found = row.found;
        let sign = match row.standing {
            Standing::New => '+',
            Standing::Known { .. } => '=',
            Standing::Refused => '!',
        };
        let _ = write!(text, "{sign} {}", one_line(found.name.as_str()));
        if let Ok(definition) = &found.outcome {
            let _ = write!(text, " — {}", one_line(&reached(definition)));
        }
        text.push('\n');
        let mut line = |line: String| {
            let _ = writeln!(text, "    {}", one_line(&line));
        };
        for origin in &found.origins {
            line(format!("{} {origin}", origin.client.name()));
        }
        match &found.outcome {
            Ok(definition) => details(definition).into_iter().for_each(&mut line),
            Err(reason) => line(format!("not taken over: {reason}")),
        }
        if let Standing::Known { line: known } = row.standing {
            line(format!("your own stays (line {known})"));
        }
        for note in &found.notes {
            line(format!("note: {note}"));
        }
    }
    text
}

/// The rows for scripts, as masked as the text.
pub(super) fn json(rows: &[Row<'_>], import: &Import, path: Option<&Path>, written: bool) -> Value {
    let servers: Vec<_> = rows.iter().map(|row| server(row, written)).collect();
    json!({
        "config": path.map(Path::to_string_lossy),
        "servers": servers,
        "problems": import.problems,
    })
}

fn server(row: &Row<'_>, written: bool) -> Value {
    let found = row.found;
    let origins = found.origins.iter().map(|origin| {
        json!({
            "client": origin.client.name(),
            "path": origin.path.to_string_lossy(),
            "line": origin.line,
        })
    });
    let mut object = json!({
        "name": found.name,
        "standing": match row.standing {
            Standing::New if written => "added",
            Standing::New => "new",
            Standing::Known { .. } => "known",
            Standing::Refused => "refused",
        },
        "origins": origins.collect::<Vec<_>>(),
    });
    match &found.outcome {
        Err(reason) => object["reason"] = json!(reason),
        Ok(definition) => {
            let values = definition.values().iter();
            let values: Map<_, _> = values
                .map(|(name, value)| (name.clone(), Value::from(shown(value))))
                .collect();
            match &definition.way {
                Way::Process(stdio) => {
                    object["command"] = json!(stdio.command);
                    object["args"] = json!(arguments(&stdio.args));
                    object["env"] = Value::Object(values);
                    object["cwd"] = json!(stdio.cwd);
                }
                Way::Http { url, .. } => {
                    object["url"] = json!(address(url));
                    object["headers"] = Value::Object(values);
                }
            }
            object["disabled"] = json!(definition.disabled);
        }
    }
    object["notes"] = json!(found.notes);
    object
}

fn reached(definition: &Definition) -> String {
    match &definition.way {
        Way::Process(stdio) => {
            let words = arguments(&stdio.args);
            let words = words.iter().map(|word| {
                match word.contains(char::is_whitespace) || word.is_empty() {
                    true => format!("'{word}'"),
                    false => word.clone(),
                }
            });
            std::iter::once(stdio.command.clone())
                .chain(words)
                .collect::<Vec<_>>()
                .join(" ")
        }
        Way::Http { url, .. } => address(url),
    }
}

fn details(definition: &Definition) -> Vec<String> {
    let mut details = Vec::new();
    let values = definition.values();
    let kind = match &definition.way {
        Way::Process(stdio) => {
            details.extend(stdio.cwd.as_ref().map(|cwd| format!("cwd {cwd}")));
            "env"
        }
        Way::Http { .. } => "headers",
    };
    if !values.is_empty() {
        let pairs = values
            .iter()
            .map(|(name, value)| format!("{name}={}", shown(value)));
        details.push(format!("{kind} {}", pairs.collect::<Vec<_>>().join(" ")));
    }
    if is_masked(definition) {
        details.push("note: what is shown as *** is taken over as it is written there".to_owned());
    }
    if definition.disabled {
        details.push("note: it is switched off".to_owned());
    }
    details
}

/// A value, if it says no more than where the value comes from.
fn shown(value: &str) -> String {
    match is_reference(value) {
        true => value.to_owned(),
        false => MASK.to_owned(),
    }
}

/// Arguments without the secrets that an option's or a variable's name gives away.
fn arguments(args: &[String]) -> Vec<String> {
    let mut after_secret = false;
    let shown = args.iter().map(|argument| {
        let is_value = std::mem::take(&mut after_secret) && !argument.starts_with("--");
        match argument.split_once('=') {
            _ if is_value => shown_or_named(argument),
            Some((name, value)) if is_secret(name) => format!("{name}={}", shown(value)),
            Some(_) => address(argument),
            None if argument.starts_with('-') => {
                after_secret = is_secret(argument) || argument == "-H";
                argument.clone()
            }
            None if argument.contains("Bearer ") => MASK.to_owned(),
            None => address(argument),
        }
    });
    shown.collect()
}

/// The value of an option; of a header its name is shown.
fn shown_or_named(value: &str) -> String {
    match value.split_once(':') {
        Some((name, rest)) if !name.contains(['$', ' ', '/']) => {
            format!(
                "{name}:{}{}",
                if rest.starts_with(' ') { " " } else { "" },
                shown(rest.trim_start())
            )
        }
        _ => shown(value),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// A URL without its query and without who signs in; any other text as it is.
fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (place, query) = match rest.find(['?', '#']) {
        Some(end) => (&rest[..end], true),
        None => (rest, false),
    };
    let host_end = place.find('/').unwrap_or(place.len());
    let (host, path) = place.split_at(host_end);
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => host.to_owned(),
    };
    let query = if query {
        format!("?{MASK}")
    } else {
        String::new()
    };
    format!("{scheme}://{host}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::{address, arguments, shown};

    #[test]
    fn only_references_are_shown() {
        for reference in ["${TOKEN}", "Bearer ${TOKEN}", ""] {
            assert_eq!(shown(reference), reference);
        }
        for value in [
            "s3cret",
            "Bearer s3cret",
            "${TOKEN}s3cret",
            "${TOKEN:-s3cret}",
        ] {
            assert_eq!(shown(value), "***");
        }
    }

    #[test]
    fn secrets_in_arguments_are_not_shown() {
        let args = [
            "-y",
            "mcp-remote",
            "--api-key",
            "s3cret",
            "--token=s3cret",
            "--port",
            "80",
            "API_KEY=s3cret",
            "--header",
            "Authorization: Bearer s3cret",
            "-H",
            "X-Key:s3cret",
            "--token",
            "${TOKEN}",
            "https://me:s3cret@x.example/mcp?k=s3cret",
            "Bearer s3cret",
            "postgres://u:s3cret@db/x",
        ];
        let shown = arguments(&args.map(str::to_owned)).join(" ");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(
            shown,
            "-y mcp-remote --api-key *** --token=*** --port 80 API_KEY=*** --header Authorization: *** -H X-Key:*** \
             --token ${TOKEN} https://***@x.example/mcp?*** *** postgres://***@db/x"
        );
    }

    #[test]
    fn a_url_keeps_what_tells_the_server() {
        assert_eq!(address("https://x.example/mcp"), "https://x.example/mcp");
        assert_eq!(address("https://x.example?key=s"), "https://x.example?***");
        assert_eq!(address("plain"), "plain");
    }
}
