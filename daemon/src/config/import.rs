//! The servers that other clients are configured with, in our own terms.
//!
//! Their settings are read and nothing else: nothing is started, connected to or written. Values may be secrets, so no message
//! repeats one.

mod formats;
mod places;
mod server;
#[cfg(test)]
mod tests;
mod variables;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use skills::entry_id::ServerName;
use skills::problem::Problem;

use self::places::Place;
use self::variables::Meaning;
use super::definition::{Definition, Way};
use super::node::{self, Fault, Node};
use super::{edit, file, jsonc};
use crate::project;
use crate::surroundings::Environment;

/// A program that has MCP servers in its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// VS Code, with its variants and GitHub Copilot's portable file.
    VsCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    OpenCode,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
}

/// A server that another client is configured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name there.
    pub name: ServerName,
    /// Where it is configured; more than one place when they all say the same.
    pub origins: Vec<Origin>,
    /// The server in our terms, or why it can't be taken over.
    pub outcome: Result<Definition, String>,
    /// What has to be known besides.
    pub notes: Vec<String>,
    /// Whether the working directory is just that of its project.
    directory_is_inferred: bool,
}

/// Where a server is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// For which client.
    pub client: Client,
    /// In which file.
    pub path: PathBuf,
    /// In which line, counted from 1.
    pub line: u32,
}

/// What was found in the settings of other clients.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The servers, by name.
    pub found: Vec<Found>,
    /// The files that exist.
    pub files: Vec<PathBuf>,
    /// The files that could not be read.
    pub problems: Vec<Problem>,
}

/// How near settings are to the directory that is asked about; the nearer win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Project(usize),
    User,
    Elsewhere,
}

impl Client {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 9] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::Gemini,
        Self::OpenCode,
        Self::Windsurf,
        Self::Zed,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
        }
    }
}

/// Looks into the settings of clients: the user's own, and those of the project that a directory (an absolute path) lies in.
pub fn look(clients: &[Client], environment: &Environment, directory: &Path) -> Import {
    let projects = project::levels(directory);
    let mut import = Import::default();
    let mut all = Vec::new();
    for client in clients {
        for place in places::places(*client, environment, &projects) {
            let read = match file::read(&place.path) {
                Ok(bytes) => read(&place, &bytes),
                Err(error) if is_absent(error.kind()) => continue,
                Err(error) => Err(Fault::new(1, format!("cannot be read: {error}"))),
            };
            match read {
                Ok(found) => all.extend(
                    found
                        .into_iter()
                        .map(|(project, found)| (nearness(project.as_deref(), &projects), found)),
                ),
                Err(fault) => import.problems.push(super::problem(&place.path, fault)),
            }
            import.files.push(place.path);
        }
    }
    // Stable: among the equally near the order of clients, files and lines stays.
    all.sort_by_key(|(nearness, _)| *nearness);
    import.found = merged(all.into_iter().map(|(_, found)| found));
    import
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn nearness(project: Option<&Path>, projects: &[PathBuf]) -> Nearness {
    match project {
        None => Nearness::User,
        Some(project) => projects
            .iter()
            .position(|near| near == project)
            .map_or(Nearness::Elsewhere, Nearness::Project),
    }
}

/// Reads a file's servers, each with the project that it belongs to.
fn read(place: &Place, bytes: &[u8]) -> Result<Vec<(Option<PathBuf>, Found)>, Fault> {
    let source = std::str::from_utf8(bytes).map_err(|_| Fault::new(1, "is not UTF-8"))?;
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if place.client == Client::Codex {
        let root = node::parse_toml(source)?;
        return found(place, Node::toml(source, &root));
    }
    let source = jsonc::plain(source);
    if source.trim().is_empty() {
        return Ok(Vec::new());
    }
    found(place, Node::json(&source)?)
}

fn found(place: &Place, root: Node<'_>) -> Result<Vec<(Option<PathBuf>, Found)>, Fault> {
    let mut all = Vec::new();
    for section in formats::sections(place, root)? {
        let meaning = Meaning {
            client: place.client,
            project: section.project.as_deref(),
            inputs: &section.inputs,
        };
        for (name, node) in section.servers {
            let mut notes = Vec::new();
            let mut taken = server::read(node, meaning, &mut notes);
            if let Ok(taken) = &mut taken {
                taken.definition.disabled |= section.switched_off.contains(&name);
            }
            let name = ServerName::new(name);
            let directory_is_inferred = taken.as_ref().is_ok_and(|it| it.directory_is_inferred);
            notes.dedup();
            let found = Found {
                outcome: taken.and_then(|taken| readable(&name, taken.definition)),
                origins: vec![Origin {
                    client: place.client,
                    path: place.path.clone(),
                    line: node.line(),
                }],
                name,
                notes,
                directory_is_inferred,
            };
            all.push((section.project.clone(), found));
        }
    }
    Ok(all)
}

/// The definition, if our own reader would take it as it is going to be written.
fn readable(name: &ServerName, definition: Definition) -> Result<Definition, String> {
    match edit::problems_of(name, &definition).into_iter().next() {
        None => Ok(definition),
        Some(problem) => Err(problem.message),
    }
}

/// Each server once: the same in several places is one, and of several under one name the nearest is taken.
fn merged(all: impl Iterator<Item = Found>) -> Vec<Found> {
    let mut merged: Vec<Found> = Vec::new();
    for mut found in all {
        let earlier = merged
            .iter_mut()
            .find(|earlier| earlier.name == found.name && earlier.outcome.is_ok());
        if let Some(earlier) = earlier {
            if found.is_like(earlier) {
                earlier.origins.append(&mut found.origins);
                found.notes.retain(|note| !earlier.notes.contains(note));
                earlier.notes.append(&mut found.notes);
                continue;
            }
            if found.outcome.is_ok() {
                found.outcome = Err(format!(
                    "another server of this name stands in {}",
                    earlier.origins[0]
                ));
            }
        }
        merged.push(found);
    }
    merged.sort_by(|a, b| a.name.cmp(&b.name));
    merged
}

impl Found {
    /// Whether both are the same server; a directory that nobody wrote makes no difference.
    fn is_like(&self, other: &Self) -> bool {
        let definition = |found: &Self| {
            let mut definition = found.outcome.clone().ok()?;
            if let (Way::Process(stdio), true) = (&mut definition.way, found.directory_is_inferred)
            {
                stdio.cwd = None;
            }
            Some(definition)
        };
        definition(self).is_some_and(|own| definition(other) == Some(own))
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}
