//! Expands `${VAR}`, `${VAR:-default}` and `${env:VAR}` over a given environment.
//!
//! As in a shell, the default also stands for a variable that is set and empty, and may hold variables itself. A bare
//! `$VAR` is left alone, and `$${` is a literal `${`: both occur in the scripts of `sh -c`.

use std::ffi::OsStr;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};

use crate::surroundings::Environment;

/// One launch's expansion; faults are collected, so that all are reported at once.
pub(super) struct Expansion<'a> {
    environment: &'a Environment,
    faults: Vec<(String, String)>,
}

impl<'a> Expansion<'a> {
    pub(super) fn new(environment: &'a Environment) -> Self {
        Self {
            environment,
            faults: Vec::new(),
        }
    }

    /// What went wrong, as message and hint: all messages, the first hint.
    pub(super) fn into_fault(self) -> Option<(String, String)> {
        let hint = self.faults.first()?.1.clone();
        let messages: Vec<_> = self
            .faults
            .into_iter()
            .map(|(message, _)| message)
            .collect();
        Some((messages.join("; "), hint))
    }

    /// Expands the variables of a text; `place` says where it stands.
    pub(super) fn text(&mut self, place: &str, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            if rest[..start].ends_with('$') {
                expanded.push_str(&rest[..start - 1]);
                expanded.push_str("${");
                rest = &rest[start + 2..];
                continue;
            }
            expanded.push_str(&rest[..start]);
            let Some(end) = closing_brace(&rest[start..]) else {
                self.fault(
                    format!("a variable in {place} is not closed"),
                    "write `}` behind its name, or $${ for a literal ${",
                );
                return expanded;
            };
            let reference = &rest[start + 2..start + end];
            expanded.push_str(&self.variable(place, reference));
            rest = &rest[start + end + 1..];
        }
        expanded.push_str(rest);
        expanded
    }

    /// Expands the variables of a path, and `~/` at its start.
    pub(super) fn path(&mut self, place: &str, path: &str) -> String {
        let Some(below) = below_home(path) else {
            return self.text(place, path);
        };
        let below = self.text(place, below);
        match self
            .environment
            .get(OsStr::new("HOME"))
            .map(|home| home.to_str())
        {
            Some(Some(home)) if !home.is_empty() => {
                format!("{}{below}", home.trim_end_matches(MAIN_SEPARATOR_STR))
            }
            _ => {
                self.fault(
                    format!("`~` in {place} can't be expanded, since HOME is not set"),
                    "write the whole path",
                );
                String::new()
            }
        }
    }

    fn variable(&mut self, place: &str, reference: &str) -> String {
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        let variable = name.strip_prefix("env:").unwrap_or(name);
        if !is_name(variable) {
            self.fault(
                format!("`${{{name}}}` in {place} can't be resolved"),
                hint_for(name),
            );
            return String::new();
        }
        let value = self.environment.get(OsStr::new(variable));
        match (value.map(|value| value.to_str()), default) {
            (Some(None), _) => {
                self.fault(
                    format!("variable `{variable}` in {place} is not UTF-8"),
                    "set it to UTF-8 text",
                );
                String::new()
            }
            (None | Some(Some("")), Some(default)) => self.text(place, default),
            (Some(Some(value)), _) => value.to_owned(),
            (None, None) => {
                self.fault(
                    format!("variable `{variable}` in {place} is not set"),
                    hint_for(variable),
                );
                String::new()
            }
        }
    }

    fn fault(&mut self, message: String, hint: impl Into<String>) {
        self.faults.push((message, hint.into()));
    }
}

/// Whether every variable in a text is closed.
pub(super) fn is_closed(text: &str) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let end = match rest[..start].ends_with('$') {
            true => Some(start + 1),
            false => closing_brace(&rest[start..]).map(|end| start + end),
        };
        let Some(end) = end else { return false };
        rest = &rest[end + 1..];
    }
    true
}

/// The text with the same in place of every variable.
pub(super) fn replaced(text: &str, by: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(end) = closing_brace(&rest[start..]) else {
            break;
        };
        replaced.push_str(&rest[..start]);
        replaced.push_str(by);
        rest = &rest[start + end + 1..];
    }
    replaced + rest
}

/// What to write in place of a reference that nothing resolves, those of other clients first.
fn hint_for(name: &str) -> String {
    match name.split_once(':').map_or(name, |(kind, _)| kind) {
        "workspaceFolder" | "workspaceRoot" | "workspaceFolderBasename" | "cwd" => {
            "there is no workspace here; write the path: a server is started in the directory of the configuration file".into()
        }
        "userHome" => "write ${HOME}".into(),
        "pathSeparator" | "/" => "write /".into(),
        "input" => "nobody is asked for input here; write ${env:NAME} and set that variable".into(),
        _ if is_name(name) => format!(
            "set {name} in the environment that `shelf mount` is started in, or write ${{{name}:-default}}"
        ),
        _ => "write ${NAME}, ${NAME:-default} or ${env:NAME}, and $${ for a literal ${".into(),
    }
}

/// A path with `~/` expanded; `None` when there is no home directory.
pub(super) fn in_home(path: &Path, environment: &Environment) -> Option<PathBuf> {
    let Ok(below) = path.strip_prefix("~") else {
        return Some(path.to_owned());
    };
    let home = environment
        .get(OsStr::new("HOME"))
        .filter(|home| !home.is_empty())?;
    Some(Path::new(home).join(below))
}

/// What follows `~`, when that stands for the home directory.
fn below_home(path: &str) -> Option<&str> {
    path.strip_prefix('~')
        .filter(|below| below.is_empty() || below.starts_with('/'))
}

/// The place of the brace that closes the `${` at the start. Braces are counted, for a default that is JSON or holds variables.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(place, character)| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => return None,
        }
        (depth == 0).then_some(place)
    })
}

pub(super) fn is_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
