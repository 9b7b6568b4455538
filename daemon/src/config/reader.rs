//! Reads the model out of a parsed file. A fault is reported where it stands and takes nothing with it but its own entry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills::discovery::SkillRoot;
use skills::entry_id::ServerName;
use skills::problem::Problem;

use super::node::{Fault, Node};
use super::{Config, ServerConfig, Transport, entry, jsonc, node, pin, policy, roots, words};
use crate::access_log::Queries;

/// The keys of a whole file.
const SECTIONS: [&str; 12] = [
    "servers",
    "mcpServers",
    "roots",
    "skills",
    "discovery",
    "index",
    "search",
    "entries",
    "policy",
    "pin",
    "daemon",
    "log",
];

/// Reads a file's text.
pub(super) fn read(path: &Path, source: &str) -> Result<Config, Fault> {
    read_as(path, source, Whose::User)
}

/// Reads the text of a project's file: the servers in it. Settings beside them are not the project's to make.
pub(super) fn read_of_project(path: &Path, source: &str) -> Result<Config, Fault> {
    read_as(path, source, Whose::Project)
}

/// Whose file it is, from which it follows what it may say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    User,
    Project,
}

fn read_as(path: &Path, source: &str, whose: Whose) -> Result<Config, Fault> {
    // What editors on Windows put first.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let is_toml = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let mut reader = Reader {
        path,
        whose,
        config: Config::default(),
        first_lines: BTreeMap::new(),
        roots: Vec::new(),
    };
    if is_toml {
        let root = node::parse_toml(source)?;
        reader.file(Node::toml(source, &root), is_toml)?;
    } else {
        let source = jsonc::plain(source);
        reader.file(Node::json(&source)?, is_toml)?;
    }
    let mut config = reader.config;
    config.problems.sort_by(|a, b| a.location.cmp(&b.location));
    Ok(config)
}

struct Reader<'a> {
    path: &'a Path,
    whose: Whose,
    config: Config,
    /// Where each server was first configured.
    first_lines: BTreeMap<ServerName, u32>,
    /// Those of every server that has none of its own.
    roots: Vec<String>,
}

impl Reader<'_> {
    fn file(&mut self, root: Node<'_>, own_format: bool) -> Result<(), Fault> {
        let mut known = false;
        let mut has_policy = false;
        let entries = root.entries("the file")?.into_iter();
        let entries: Vec<_> = entries.filter(|(_, value)| !value.is_null()).collect();
        // Before the servers, which may stand above them. A project's count no more than its other settings.
        let is_roots = |key: &str| key == "roots" && self.whose == Whose::User;
        let roots: Vec<_> = entries.iter().filter(|(key, _)| is_roots(key)).collect();
        for (_, value) in roots {
            self.default_roots(*value, own_format);
        }
        for (key, value) in entries {
            known |= SECTIONS.contains(&&*key);
            let done = match key.as_str() {
                "servers" | "mcpServers" => self.servers(&key, value, own_format),
                _ if self.whose == Whose::Project && SECTIONS.contains(&&*key) => {
                    let message = format!(
                        "`{key}` counts in your own configuration alone, not in a project's"
                    );
                    let fault = Fault::new(value.line(), message).hint("move it there");
                    if key == "policy" {
                        return Err(fault);
                    }
                    Err(fault)
                }
                "roots" => Ok(()),
                "skills" => self.skills(value),
                "discovery" => self.discovery(value),
                "index" => self.index(value),
                "search" => self.search(value),
                "entries" => self.entries(value),
                "policy" if std::mem::replace(&mut has_policy, true) => {
                    Err(policy::twice(value, self.path, &mut self.config.policy))
                }
                "policy" => {
                    self.policy(value);
                    Ok(())
                }
                "pin" => pin::general(value, &mut self.config.pinning),
                "daemon" => self.daemon(value),
                "log" => self.log(value),
                // The file of another client may hold anything beside its servers.
                _ if !own_format => Ok(()),
                _ => Err(unknown_key(&key, "the file", &SECTIONS, value)),
            };
            self.note(done);
        }
        if !known && self.config.problems.is_empty() {
            let fault = Fault::new(1, "names neither servers nor skills").hint(if own_format {
                "write a table `[servers.NAME]` with `command` and `args`, or `skills = [\"DIRECTORY\"]`"
            } else {
                "write {\"mcpServers\": {\"NAME\": {\"command\": \"…\", \"args\": [\"…\"]}}}"
            });
            self.note(Err(fault));
        }
        Ok(())
    }

    fn note(&mut self, done: Result<(), Fault>) {
        if let Err(fault) = done {
            let problem = self.problem(fault);
            self.config.problems.push(problem);
        }
    }

    fn problem(&self, fault: Fault) -> Problem {
        super::problem(self.path, fault)
    }

    fn servers(&mut self, section: &str, node: Node<'_>, own_format: bool) -> Result<(), Fault> {
        for (name, node) in node.entries(&format!("`{section}`"))? {
            let name = ServerName::new(name);
            let line = node.line();
            let first = *self.first_lines.entry(name.clone()).or_insert(line);
            let again = self.config.servers.contains_key(&name);
            let config = if again {
                let fault = Fault::new(
                    line,
                    format!("server `{name}` is configured twice, first in line {first}"),
                )
                .hint("remove one: nothing says which of them is meant");
                self.invalid(vec![fault], first, false)
            } else {
                self.server(&name, node, own_format)
            };
            self.config.servers.insert(name, config);
        }
        Ok(())
    }

    /// A server with faults, of which there is at least one; the first is what is said of it when it is used.
    fn invalid(&mut self, faults: Vec<Fault>, line: u32, disabled: bool) -> ServerConfig {
        let problems = faults.into_iter().map(|fault| self.problem(fault));
        let problems: Vec<_> = problems.collect();
        let problem = problems[0].clone();
        // Whoever switches a server off need not mend it.
        if !disabled {
            self.config.problems.extend(problems);
        }
        ServerConfig {
            disabled,
            ..ServerConfig::new(Transport::Invalid(problem), line)
        }
    }

    fn server(&mut self, name: &ServerName, node: Node<'_>, own_format: bool) -> ServerConfig {
        let disabled = entry::is_disabled(node);
        let mut faults = Vec::new();
        policy::of_server(name, node, self.path, &mut self.config.policy, &mut faults);
        pin::of_server(name, node, &mut self.config.pinning, &mut faults);
        faults.into_iter().for_each(|fault| self.note(Err(fault)));
        match entry::read(name, node, own_format, &self.roots) {
            Ok((config, warnings)) => {
                for warning in warnings {
                    self.note(Err(warning));
                }
                ServerConfig { disabled, ..config }
            }
            Err(faults) => self.invalid(faults, node.line(), disabled),
        }
    }

    fn default_roots(&mut self, node: Node<'_>, own_format: bool) {
        match roots::read(node, "`roots`") {
            Ok(roots) => self.roots = roots,
            // Of another client's file it may be anything.
            Err(fault) if own_format => self.note(Err(fault)),
            Err(_) => {}
        }
    }

    fn skills(&mut self, node: Node<'_>) -> Result<(), Fault> {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        for node in node.list("`skills`")? {
            match skill_root(node, directory) {
                Ok(root) => self.config.skills.push(root),
                Err(fault) => self.note(Err(fault)),
            }
        }
        Ok(())
    }

    fn discovery(&mut self, node: Node<'_>) -> Result<(), Fault> {
        for (key, value) in node.table("`discovery`")? {
            let done = match &*key.replace('_', "-") {
                "depth" => count(value, "`depth`").map(|depth| self.config.limits.depth = depth),
                "directories" => count(value, "`directories`")
                    .map(|directories| self.config.limits.directories = directories),
                _ => Err(unknown_key(
                    &key,
                    "`discovery`",
                    &["depth", "directories"],
                    value,
                )),
            };
            self.note(done);
        }
        Ok(())
    }

    fn index(&mut self, node: Node<'_>) -> Result<(), Fault> {
        for (key, value) in node.table("`index`")? {
            let done = match &*key.replace('_', "-") {
                "max-tokens" => count(value, "`max_tokens`")
                    .map(|max_tokens| self.config.index.max_tokens = max_tokens),
                _ => Err(unknown_key(&key, "`index`", &["max_tokens"], value)),
            };
            self.note(done);
        }
        Ok(())
    }

    fn search(&mut self, node: Node<'_>) -> Result<(), Fault> {
        let mut faults = Vec::new();
        self.config.search = words::search(node, &mut faults)?;
        faults.into_iter().for_each(|fault| self.note(Err(fault)));
        Ok(())
    }

    fn entries(&mut self, node: Node<'_>) -> Result<(), Fault> {
        let mut faults = Vec::new();
        self.config.entries = words::entries(node, self.path, &mut faults)?.into();
        faults.into_iter().for_each(|fault| self.note(Err(fault)));
        Ok(())
    }

    fn policy(&mut self, node: Node<'_>) {
        let mut faults = Vec::new();
        policy::general(node, self.path, &mut self.config.policy, &mut faults);
        faults.into_iter().for_each(|fault| self.note(Err(fault)));
    }

    fn daemon(&mut self, node: Node<'_>) -> Result<(), Fault> {
        for (key, value) in node.table("`daemon`")? {
            let done = match key.as_str() {
                "idle" => entry::idle(value, "`idle`").map(|(idle, warning)| {
                    self.config.daemon.idle = idle;
                    self.note(warning.map_or(Ok(()), Err));
                }),
                _ => Err(unknown_key(&key, "`daemon`", &["idle"], value)),
            };
            self.note(done);
        }
        Ok(())
    }

    fn log(&mut self, node: Node<'_>) -> Result<(), Fault> {
        for (key, value) in node.table("`log`")? {
            let log = &mut self.config.log;
            let done = match &*key.replace('_', "-") {
                "queries" => queries(value).map(|queries| log.queries = queries),
                "values" => value.boolean("`values`").map(|values| log.values = values),
                "max-bytes" => value
                    .positive("`max_bytes`")
                    .map(|max_bytes| log.max_bytes = max_bytes),
                _ => Err(unknown_key(
                    &key,
                    "`log`",
                    &["queries", "values", "max_bytes"],
                    value,
                )),
            };
            self.note(done);
        }
        Ok(())
    }
}

pub(super) fn unknown_key(key: &str, place: &str, known: &[&str], node: Node<'_>) -> Fault {
    Fault::new(node.line(), format!("{place} has the unknown key `{key}`"))
        .hint(format!("it may have: {}", known.join(", ")))
}

fn count(node: Node<'_>, what: &str) -> Result<usize, Fault> {
    let count = node.positive(what)?;
    usize::try_from(count).map_err(|_| Fault::new(node.line(), format!("{what} is too large")))
}

fn queries(node: Node<'_>) -> Result<Queries, Fault> {
    match &*node.text("`queries`")? {
        "full" => Ok(Queries::Full),
        "hash" => Ok(Queries::Hash),
        "off" => Ok(Queries::Off),
        other => Err(Fault::new(node.line(), format!("`queries` is `{other}`"))
            .hint("write \"full\", \"hash\" or \"off\"")),
    }
}

fn skill_root(node: Node<'_>, directory: &Path) -> Result<SkillRoot, Fault> {
    let mut path = None;
    let mut source = None;
    if node.is_table() {
        for (key, value) in node.table("an element of `skills`")? {
            match key.as_str() {
                "path" => path = Some(value.text("`path`")?),
                "name" => source = Some(value.text("`name`")?),
                _ => {
                    return Err(unknown_key(
                        &key,
                        "an element of `skills`",
                        &["path", "name"],
                        value,
                    ));
                }
            }
        }
    } else {
        path = Some(node.text("an element of `skills`")?);
    }
    let path = path.filter(|path| !path.is_empty()).ok_or_else(|| {
        Fault::new(node.line(), "an element of `skills` has no path")
            .hint("write \"DIRECTORY\" or { path = \"DIRECTORY\", name = \"NAME\" }")
    })?;
    if path.contains("${") {
        return Err(Fault::new(
            node.line(),
            format!("variables are not expanded in `skills`: {path}"),
        )
        .hint("write the path; `~/` is the home directory"));
    }
    if source.as_deref() == Some("") {
        return Err(Fault::new(
            node.line(),
            "an element of `skills` has an empty name",
        ));
    }
    let in_home = path == "~" || path.starts_with("~/");
    Ok(SkillRoot {
        // Left for `Config::expand_home`, which is given the home directory.
        path: if in_home {
            PathBuf::from(path)
        } else {
            directory.join(path)
        },
        source,
        optional: false,
    })
}
