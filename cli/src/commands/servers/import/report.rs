//! How what was found in other clients' settings reads. Values that may be secrets are not shown.

use std::fmt::Write as _;
use std::path::Path;

use daemon::config::definition::{Definition, Way};
use daemon::config::import::{Found, Import};
use serde_json::{Map, Value, json};
use skills::entry_id::ServerName;
use skills::summary::one_line;

use crate::masking::{MASK, address, arguments, shown, word};

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
                    object["command"] = json!(word(&stdio.command));
                    object["args"] = json!(arguments(&stdio.args));
                    object["env"] = Value::Object(values);
                    object["cwd"] = json!(stdio.cwd.as_deref().map(word));
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
            std::iter::once(word(&stdio.command))
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
            details.extend(stdio.cwd.as_ref().map(|cwd| format!("cwd {}", word(cwd))));
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
