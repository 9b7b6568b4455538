//! What a project would start and show, as it reads before somebody trusts it: nothing in it is left out, and nothing deceives the eye.
//!
//! It must not know whether the project is trusted.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use daemon::config::{Config, ServerConfig, StdioConfig, Transport};
use daemon::mount_table;
use daemon::project::file::ServersFile;
use daemon::project::{Project, SERVERS};
use rustix::process::geteuid;
use serde_json::{Map, Value, json};
use skills::definition::quote;
use skills::discovery::{Limits, SkillRoot, discover_outside};
use skills::entry_id::ServerName;
use skills::paths::Paths;
use skills::problem::Problem;
use skills::summary::spelt_out;

use super::values;
use crate::commands::sources::count;
use crate::project::shown;

/// A project as it is shown.
pub(super) struct Listing<'a> {
    project: &'a Project,
    servers: Vec<Server<'a>>,
    skills: Vec<Skills<'a>>,
    problems: &'a [Problem],
    notes: Vec<String>,
}

/// A server that the project would start, or reach.
struct Server<'a> {
    name: &'a ServerName,
    config: &'a ServerConfig,
    /// Whether the user has one of this name, which is then meant.
    is_own: bool,
}

/// The skills in a directory of the project.
struct Skills<'a> {
    name: &'static str,
    real: &'a Path,
    /// By the names of their directories.
    skills: Vec<PathBuf>,
}

impl<'a> Listing<'a> {
    /// Looks at what was read of a project, and at the skills in it. `own` are the user's servers.
    pub(super) fn new(
        project: &'a Project,
        file: Option<&ServersFile>,
        servers: Option<&'a Config>,
        own: &BTreeSet<ServerName>,
    ) -> Self {
        let all = servers.iter().flat_map(|config| &config.servers);
        let all = all.map(|(name, config)| Server {
            name,
            config,
            is_own: own.contains(name),
        });
        let skills = project.skills.iter().map(|found| Skills {
            name: found.name,
            real: &found.real,
            skills: skill_names(&found.real),
        });
        Self {
            project,
            servers: all.collect(),
            skills: skills.collect(),
            problems: servers.map_or(&[], |config| &config.problems),
            notes: notes(project, file),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = format!("project {}\n", shown(&self.project.directory));
        let mut line = |line: String| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{line}");
        };
        if self.project.has_servers {
            let servers = count(self.servers.len(), "server", "servers");
            line(format!("{SERVERS} has {servers}:"));
        }
        for server in &self.servers {
            server.lines().into_iter().for_each(&mut line);
        }
        for skills in &self.skills {
            line(skills.line(&self.project.directory));
        }
        for problem in self.problems {
            line(format!("warning: {}", spelt_out(&problem.to_string())));
        }
        for note in &self.notes {
            line(format!("note: {note}"));
        }
        text
    }

    /// For scripts, as masked as the text; a path or a name that is not UTF-8 is an array of bytes.
    pub(super) fn json(&self, trusted: bool) -> Value {
        let skills = self.skills.iter().map(|skills| {
            json!({
                "name": skills.name,
                "path": skills.real.to_path_buf().to_form(),
                "skills": skills.skills.to_form(),
            })
        });
        json!({
            "directory": self.project.directory.to_form(),
            "trusted": trusted,
            "servers": self.servers.iter().map(Server::json).collect::<Vec<_>>(),
            "skills": skills.collect::<Vec<_>>(),
            "problems": self.problems,
            "notes": self.notes,
        })
    }
}

impl Server<'_> {
    fn lines(&self) -> Vec<String> {
        // In quotes, or a name could read as one with a command behind it.
        let name = spelt_out(&quote(self.name.as_str()));
        let mut lines = Vec::new();
        match &self.config.transport {
            Transport::Stdio(stdio) => {
                lines.push(format!("  {name}: {}", command_line(stdio)));
                if let Some(cwd) = &stdio.cwd {
                    lines.push(format!("    in {}", spelt_out(&quote(cwd))));
                }
                if !stdio.env.is_empty() {
                    lines.push(format!("    env {}", pairs(&shown_values(&stdio.env))));
                }
            }
            Transport::Http(http) => {
                let url = spelt_out(&values::address(&http.url));
                lines.push(format!("  {name}: connects to {url}"));
                if !http.headers.is_empty() {
                    lines.push(format!(
                        "    headers {}",
                        pairs(&shown_values(&http.headers))
                    ));
                }
            }
            Transport::Invalid(problem) => {
                let why = spelt_out(&problem.message);
                lines.push(format!("  {name}: can't be used: {why}"));
            }
        }
        if !self.config.roots.is_empty() {
            let roots = self.config.roots.iter();
            let roots: Vec<_> = roots.map(|root| spelt_out(&quote(root))).collect();
            lines.push(format!(
                "    is told of the directories {}",
                roots.join(" ")
            ));
        }
        if self.config.disabled {
            lines.push("    it is switched off".to_owned());
        }
        if self.is_own {
            lines.push("    left out: your own configuration has a server of this name".to_owned());
        }
        lines
    }

    fn json(&self) -> Value {
        let mut object = json!({
            "name": self.name,
            "line": self.config.line,
            "disabled": self.config.disabled,
            "roots": self.config.roots,
            "left_out": self.is_own,
        });
        match &self.config.transport {
            Transport::Stdio(stdio) => {
                object["command"] = json!(stdio.command);
                object["args"] = json!(stdio.args);
                object["env"] = map(shown_values(&stdio.env));
                object["cwd"] = json!(stdio.cwd);
            }
            Transport::Http(http) => {
                object["url"] = json!(values::address(&http.url));
                object["headers"] = map(shown_values(&http.headers));
            }
            Transport::Invalid(problem) => object["problem"] = json!(problem),
        }
        object
    }
}

impl Skills<'_> {
    fn line(&self, project: &Path) -> String {
        let number = count(self.skills.len(), "skill", "skills");
        let mut line = format!("{} has {number}", self.name);
        if !self.skills.is_empty() {
            let names = self.skills.iter().map(|name| shown(name));
            let names: Vec<_> = names.collect();
            let _ = write!(line, ": {}", names.join(", "));
        }
        if self.real != project.join(self.name) {
            let _ = write!(line, " (it leads to {})", shown(self.real));
        }
        line
    }
}

/// The whole command line, as a shell would read it: whatever were left out could be what matters.
fn command_line(stdio: &StdioConfig) -> String {
    let words = std::iter::once(&stdio.command).chain(&stdio.args);
    let words: Vec<_> = words.map(|word| spelt_out(&quote(word))).collect();
    words.join(" ")
}

/// Variables or headers with their values as they are shown.
fn shown_values(values: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let values = values.iter();
    values
        .map(|(name, value)| (name.as_str(), values::value(name, value)))
        .collect()
}

fn pairs(pairs: &BTreeMap<&str, &str>) -> String {
    let pairs = pairs
        .iter()
        .map(|(name, value)| spelt_out(&format!("{}={}", quote_plain(name), quote_plain(value))));
    pairs.collect::<Vec<_>>().join(" ")
}

/// A text in quotes where it could be read as several, or as quoted; a mask and a reference stay as they are.
fn quote_plain(text: &str) -> Cow<'_, str> {
    let may_mislead = |sign: char| sign.is_whitespace() || ['\'', '"', '\\'].contains(&sign);
    match text.contains(may_mislead) {
        true => quote(text),
        false => text.into(),
    }
}

fn map(pairs: BTreeMap<&str, &str>) -> Value {
    let pairs = pairs.into_iter();
    Value::Object(
        pairs
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect::<Map<_, _>>(),
    )
}

/// The names of the skills in a directory, as a shelf would find them.
fn skill_names(directory: &Path) -> Vec<PathBuf> {
    let root = SkillRoot {
        path: directory.to_owned(),
        source: None,
        optional: true,
    };
    let mounts = mount_table::shelf_mounts().into_iter();
    let mounts: Vec<_> = mounts.map(|mount| mount.mount_point).collect();
    let found = discover_outside(&[root], Limits::default(), &mounts, &[]);
    let names = found.skills.iter();
    names.map(|skill| PathBuf::from(&skill.name)).collect()
}

/// What has to be known besides.
fn notes(project: &Project, file: Option<&ServersFile>) -> Vec<String> {
    let mut notes = Vec::new();
    let skills = project.skills.iter().map(|skills| &skills.real);
    let places = std::iter::once(&project.directory)
        .chain(file.map(|file| &file.path))
        .chain(skills);
    notes.extend(places.filter_map(foreign));
    if file.is_some() {
        notes.push(
            "these command lines are trusted, in the project's directory where they name none, not what the programs do; variables are filled in when they are started".to_owned(),
        );
    }
    if !project.skills.is_empty() {
        notes.push("skills are trusted by their directory: what is in it may change".to_owned());
    }
    notes
}

/// A word about what belongs to somebody else, who can change it.
fn foreign(path: &PathBuf) -> Option<String> {
    let owner = fs::metadata(path).ok()?.uid();
    (owner != geteuid().as_raw()).then(|| format!("{} belongs to user {owner}", shown(path)))
}
