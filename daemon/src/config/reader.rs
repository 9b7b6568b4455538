//! Reads the model out of a parsed file. A fault is reported where it stands and takes nothing with it but its own entry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills::discovery::SkillRoot;
use skills::entry_id::ServerName;
use skills::problem::Problem;

use super::node::{Fault, Node};
use super::{Config, ServerConfig, StdioConfig, Transport, duration, jsonc, node};
use super::{IDLE, START_TIMEOUT, TIMEOUT};
use crate::access_log::Queries;

/// The keys of a whole file.
const SECTIONS: [&str; 6] = [
    "servers",
    "mcpServers",
    "skills",
    "discovery",
    "index",
    "log",
];

/// Reads a file's text.
pub(super) fn read(path: &Path, source: &str) -> Result<Config, Fault> {
    // What editors on Windows put first.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let is_toml = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let mut reader = Reader {
        path,
        config: Config::default(),
        first_lines: BTreeMap::new(),
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
    config: Config,
    /// Where each server was first configured.
    first_lines: BTreeMap<ServerName, u32>,
}

impl Reader<'_> {
    fn file(&mut self, root: Node<'_>, own_format: bool) -> Result<(), Fault> {
        let mut known = false;
        for (key, value) in root.table("the file")? {
            known |= SECTIONS.contains(&&*key);
            let done = match key.as_str() {
                "servers" | "mcpServers" => self.servers(&key, value),
                "skills" => self.skills(value),
                "discovery" => self.discovery(value),
                "index" => self.index(value),
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

    fn servers(&mut self, section: &str, node: Node<'_>) -> Result<(), Fault> {
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
                self.invalid(fault, first, false)
            } else {
                self.server(&name, node)
            };
            self.config.servers.insert(name, config);
        }
        Ok(())
    }

    fn invalid(&mut self, fault: Fault, line: u32, disabled: bool) -> ServerConfig {
        let problem = self.problem(fault);
        // Whoever switches a server off need not mend it.
        if !disabled {
            self.config.problems.push(problem.clone());
        }
        ServerConfig {
            disabled,
            ..ServerConfig::new(Transport::Invalid(problem), line)
        }
    }

    fn server(&mut self, name: &ServerName, node: Node<'_>) -> ServerConfig {
        let disabled = is_disabled(node);
        match server(name, node) {
            Ok((config, warnings)) => {
                for warning in warnings {
                    self.note(Err(warning));
                }
                ServerConfig { disabled, ..config }
            }
            Err(fault) => self.invalid(fault, node.line(), disabled),
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

fn unknown_key(key: &str, place: &str, known: &[&str], node: Node<'_>) -> Fault {
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

/// Whether an entry is switched off, however faulty the rest of it may be.
fn is_disabled(node: Node<'_>) -> bool {
    node.entries("a server")
        .into_iter()
        .flatten()
        .any(|(key, value)| match key.as_str() {
            "disabled" => value.boolean("").is_ok_and(|disabled| disabled),
            "enabled" => value.boolean("").is_ok_and(|enabled| !enabled),
            _ => false,
        })
}

/// Reads one server; what is odd but harmless is a warning. Unknown keys are the business of other clients.
fn server(name: &ServerName, node: Node<'_>) -> Result<(ServerConfig, Vec<Fault>), Fault> {
    let mut command = None;
    let mut url = None;
    let mut kind = None;
    let mut stdio = StdioConfig::default();
    let mut config = ServerConfig::new(Transport::Stdio(StdioConfig::default()), node.line());
    let mut warnings = Vec::new();
    for (key, value) in node.table(&format!("server `{name}`"))? {
        let what = format!("`{key}` of server `{name}`");
        match &*key.replace('_', "-") {
            "command" => command = Some((value.text(&what)?, value.line())),
            "args" => {
                let args = value.list(&what)?;
                let texts = args.iter().map(|argument| argument.loose_text(&what));
                stdio.args = texts.collect::<Result<_, _>>()?;
            }
            "env" => stdio.env = variables(value, &what)?,
            "cwd" => stdio.cwd = Some(value.text(&what)?),
            "url" | "serverUrl" | "httpUrl" => url = Some(value.text(&what)?),
            "type" => kind = Some(value.text(&what)?),
            "disabled" | "enabled" => {
                value.boolean(&what)?;
            }
            "start-timeout" => {
                set_limit(&mut config.start_timeout, value, &what, &mut warnings)?;
            }
            "timeout" => set_limit(&mut config.timeout, value, &what, &mut warnings)?,
            "idle" if value.text(&what).is_ok_and(|text| text == "never") => config.idle = None,
            "idle" => {
                let mut idle = IDLE;
                set_duration(&mut idle, value, &what, &mut warnings)?;
                config.idle = Some(idle);
            }
            _ => {}
        }
    }
    config.transport = match (command, url, kind.as_deref().and_then(is_http)) {
        (Some((command, line)), None, None | Some(false))
        | (Some((command, line)), Some(_), Some(false)) => {
            check_command(name, &command, &stdio.args, line)?;
            Transport::Stdio(StdioConfig { command, ..stdio })
        }
        (None, Some(url), None | Some(true)) | (Some(_), Some(url), Some(true)) => {
            Transport::Http { url }
        }
        (command, url, http) => {
            let (message, hint) = match (command.is_some(), url.is_some(), http) {
                (true, true, _) => (
                    "has both `command` and `url`",
                    "remove one, or say which with `type`: \"stdio\" or \"http\"",
                ),
                (_, _, Some(true)) => (
                    "is of a `type` that needs a `url`",
                    "write the `url`, or remove `type`",
                ),
                (_, _, Some(false)) => (
                    "is of a `type` that needs a `command`",
                    "write the `command`, or remove `type`",
                ),
                (..) => (
                    "has neither `command` nor `url`",
                    "write the program in `command` and its arguments in `args`",
                ),
            };
            return Err(Fault::new(node.line(), format!("server `{name}` {message}")).hint(hint));
        }
    };
    Ok((config, warnings))
}

/// Whether a `type` is one over HTTP; `None` for what this reader does not know.
fn is_http(kind: &str) -> Option<bool> {
    match kind {
        "stdio" => Some(false),
        "http" | "sse" | "streamable-http" | "streamableHttp" => Some(true),
        _ => None,
    }
}

fn variables(node: Node<'_>, what: &str) -> Result<BTreeMap<String, String>, Fault> {
    let mut variables = BTreeMap::new();
    for (name, value) in node.table(what)? {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Fault::new(
                value.line(),
                format!(
                    "{what} has a variable that can't be named `{}`",
                    name.escape_debug()
                ),
            ));
        }
        let text = value.loose_text(&format!("`{name}` in {what}"))?;
        variables.insert(name, text);
    }
    Ok(variables)
}

/// Refuses a whole command line in `command`: split or not, it would be a guess.
fn check_command(
    name: &ServerName,
    command: &str,
    args: &[String],
    line: u32,
) -> Result<(), Fault> {
    if command.trim().is_empty() {
        return Err(
            Fault::new(line, format!("server `{name}` has an empty `command`"))
                .hint("write the program, or switch the server off with \"disabled\": true"),
        );
    }
    let is_path = command.starts_with(['/', '.', '~', '$']);
    if args.is_empty() && !is_path && command.contains(char::is_whitespace) {
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        let rest: Vec<_> = words.map(|word| format!("\"{word}\"")).collect();
        let rest = rest.join(", ");
        return Err(Fault::new(
            line,
            format!("server `{name}` has a whole command line in `command`"),
        )
        .hint(format!(
            "write the program alone: command \"{program}\", args [{rest}]"
        )));
    }
    Ok(())
}

fn set_duration(
    target: &mut Duration,
    node: Node<'_>,
    what: &str,
    warnings: &mut Vec<Fault>,
) -> Result<(), Fault> {
    if let Some(number) = node.number() {
        // Cline means seconds, Gemini milliseconds: the server is used with our default instead.
        let warning = Fault::new(
            node.line(),
            format!("{what} has no unit and is passed over"),
        );
        warnings.push(warning.hint(format!("write \"{number}s\" or \"{number}ms\"")));
        return Ok(());
    }
    let text = node.text(what)?;
    *target = duration::parse(&text).ok_or_else(|| {
        Fault::new(node.line(), format!("{what} is no duration: `{text}`"))
            .hint("write a number with its unit, such as \"90s\" or \"10m\"")
    })?;
    Ok(())
}

/// As [`set_duration`], for what would let nothing pass if it were 0.
fn set_limit(
    target: &mut Duration,
    node: Node<'_>,
    what: &str,
    warnings: &mut Vec<Fault>,
) -> Result<(), Fault> {
    set_duration(target, node, what, warnings)?;
    if target.is_zero() {
        return Err(
            Fault::new(node.line(), format!("{what} is 0")).hint("leave it out for the default")
        );
    }
    Ok(())
}

impl ServerConfig {
    /// A server with the defaults.
    fn new(transport: Transport, line: u32) -> Self {
        Self {
            transport,
            disabled: false,
            start_timeout: START_TIMEOUT,
            timeout: TIMEOUT,
            idle: Some(IDLE),
            line,
        }
    }
}
