//! Reads one entry of the servers.

mod times;

use std::collections::BTreeMap;

use skills::entry_id::ServerName;

use super::endpoint::{self, HttpConfig};
use super::life::{Restart, Share};
use super::node::{Fault, Node};
use super::reader::unknown_key;
use super::{IDLE, START_TIMEOUT, ServerConfig, StdioConfig, TIMEOUT, Transport, expansion, roots};

pub(super) use times::idle;
use times::set_limit;

/// Whether an entry is switched off, however faulty the rest of it may be.
pub(super) fn is_disabled(node: Node<'_>) -> bool {
    node.entries("a server")
        .into_iter()
        .flatten()
        .any(|(key, value)| match key.as_str() {
            "disabled" => value.boolean("").is_ok_and(|disabled| disabled),
            "enabled" => value.boolean("").is_ok_and(|enabled| !enabled),
            _ => false,
        })
}

/// The keys that say how a server is reached.
const WAY: [&str; 5] = ["command", "url", "serverUrl", "httpUrl", "type"];

/// The keys of a server.
const KEYS: [&str; 17] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "type",
    "disabled",
    "enabled",
    "start-timeout",
    "timeout",
    "idle",
    "share",
    "restart",
    "roots",
    "policy",
    "pin",
];

/// A server while it is read.
struct Entry<'a> {
    name: &'a ServerName,
    own_format: bool,
    config: ServerConfig,
    stdio: StdioConfig,
    command: Option<(String, u32)>,
    url: Option<(String, u32)>,
    headers: BTreeMap<String, String>,
    kind: Option<(String, u32)>,
    /// Keys that only a process has, with their lines.
    of_process: Vec<(String, u32)>,
    /// Whether a key is faulty that says how the server is reached.
    is_unclear: bool,
    warnings: Vec<Fault>,
    faults: Vec<Fault>,
}

/// Reads one server; what is odd but leaves it usable is a warning. Where a file is not of our own format, unknown keys are the
/// business of other clients. `roots` are those of a server that has none of its own.
///
/// # Errors
/// Every fault of the server, at least one, with what is odd besides.
pub(super) fn read(
    name: &ServerName,
    node: Node<'_>,
    own_format: bool,
    roots: &[String],
) -> Result<(ServerConfig, Vec<Fault>), Vec<Fault>> {
    let line = node.line();
    let mut entry = Entry {
        name,
        own_format,
        config: ServerConfig {
            roots: roots.to_vec(),
            ..ServerConfig::new(Transport::Stdio(StdioConfig::default()), line)
        },
        stdio: StdioConfig::default(),
        command: None,
        url: None,
        headers: BTreeMap::new(),
        kind: None,
        of_process: Vec::new(),
        is_unclear: false,
        warnings: Vec::new(),
        faults: Vec::new(),
    };
    let table = node.table(&format!("server `{name}`"));
    for (key, value) in table.map_err(|fault| vec![fault])? {
        let known = key.replace('_', "-");
        if let Err(fault) = entry.key(&key, &known, value) {
            entry.faults.push(fault);
            entry.is_unclear |= WAY.contains(&&*known);
        }
    }
    if name.as_str().trim().is_empty() {
        let fault = Fault::new(line, "a server has no name");
        entry
            .faults
            .push(fault.hint("its tools are NAME/TOOL: write [servers.NAME]"));
    }
    if !entry.is_unclear {
        match entry.transport(line) {
            Ok(transport) => entry.config.transport = transport,
            Err(fault) => entry.faults.push(fault),
        }
    }
    if entry.faults.is_empty() {
        return Ok((entry.config, entry.warnings));
    }
    entry.faults.append(&mut entry.warnings);
    Err(entry.faults)
}

impl Entry<'_> {
    fn key(&mut self, key: &str, known: &str, value: Node<'_>) -> Result<(), Fault> {
        let what = format!("`{key}` of server `{}`", self.name);
        match known {
            "args" | "cwd" => self.of_process.push((key.to_owned(), value.line())),
            "env" if value.table("").is_ok_and(|table| !table.is_empty()) => {
                self.of_process.push((key.to_owned(), value.line()));
            }
            _ => {}
        }
        match known {
            "command" => {
                value.text(&what)?;
                self.command = Some((closed(value, &what)?, value.line()));
            }
            "args" => {
                for argument in value.list(&what)? {
                    match closed(argument, &what) {
                        Ok(text) => self.stdio.args.push(text),
                        Err(fault) => self.faults.push(fault),
                    }
                }
            }
            "env" => self.stdio.env = variables(value, &what, &mut self.faults)?,
            "cwd" => {
                value.text(&what)?;
                self.stdio.cwd = Some(closed(value, &what)?);
            }
            "url" | "serverUrl" | "httpUrl" => {
                value.text(&what)?;
                self.url = Some((closed(value, &what)?, value.line()));
            }
            "headers" => self.headers = endpoint::headers(value, &what, &mut self.faults)?,
            "type" => self.kind = Some((value.text(&what)?, value.line())),
            "disabled" | "enabled" => {
                value.boolean(&what)?;
            }
            "start-timeout" => {
                let limit = &mut self.config.start_timeout;
                set_limit(limit, value, &what, &mut self.warnings)?;
            }
            "timeout" => {
                let limit = &mut self.config.timeout;
                set_limit(limit, value, &what, &mut self.warnings)?;
            }
            "idle" => {
                let (idle, warning) = self::idle(value, &what)?;
                self.config.idle = idle;
                self.warnings.extend(warning);
            }
            "share" => match Share::read(value, &what) {
                Ok(share) => self.config.share = share,
                Err(fault) => refuse(fault, self.own_format, &mut self.warnings)?,
            },
            "restart" => match Restart::read(value, &what) {
                Ok(restart) => self.config.restart = restart,
                Err(fault) => refuse(fault, self.own_format, &mut self.warnings)?,
            },
            "roots" => match roots::read(value, &what) {
                Ok(roots) => self.config.roots = roots,
                Err(fault) => refuse(fault, self.own_format, &mut self.warnings)?,
            },
            // Read by themselves: they are no settings of the server.
            "policy" | "pin" => {}
            _ if self.own_format => {
                let place = format!("server `{}`", self.name);
                self.warnings.push(unknown_key(key, &place, &KEYS, value));
            }
            _ => {}
        }
        Ok(())
    }

    /// How the server is reached.
    fn transport(&mut self, line: u32) -> Result<Transport, Fault> {
        let name = self.name;
        let kind = self.kind.take();
        if let Some((kind, line)) = &kind
            && kind == "sse"
        {
            let message = format!("server `{name}` is of `type` \"sse\", the old HTTP with SSE");
            return Err(Fault::new(*line, message).hint(
                "use the server's streamable HTTP: \"type\": \"http\" and its URL, which often ends in /mcp in place of /sse",
            ));
        }
        let http = kind.as_ref().and_then(|(kind, _)| is_http(kind));
        if let (Some((_, line)), None) = (&kind, http) {
            // What it is called is not repeated: it may be anything.
            let fault = Fault::new(*line, format!("server `{name}` is of an unknown `type`"));
            self.warnings
                .push(fault.hint("write \"stdio\" or \"http\", or remove `type`"));
        }
        match (self.command.take(), self.url.take(), http) {
            (Some((command, line)), None, None | Some(false))
            | (Some((command, line)), Some(_), Some(false)) => {
                check_command(name, &command, &self.stdio.args, line)?;
                let stdio = std::mem::take(&mut self.stdio);
                Ok(Transport::Stdio(StdioConfig { command, ..stdio }))
            }
            (command @ None, Some((url, line)), None | Some(true))
            | (command @ Some(_), Some((url, line)), Some(true)) => {
                if command.is_none() {
                    self.refuse_what_only_a_process_has();
                }
                endpoint::check_as_written(&url).map_err(|(message, hint)| {
                    Fault::new(line, format!("server `{name}`: {message}")).hint(hint)
                })?;
                let headers = std::mem::take(&mut self.headers);
                Ok(Transport::Http(HttpConfig { url, headers }))
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
                Err(Fault::new(line, format!("server `{name}` {message}")).hint(hint))
            }
        }
    }

    fn refuse_what_only_a_process_has(&mut self) {
        for (key, line) in std::mem::take(&mut self.of_process) {
            let message = format!(
                "server `{}` has a `url`, and `{key}` does nothing there",
                self.name
            );
            let fault = Fault::new(line, message);
            self.warnings
                .push(fault.hint("remove it, or the `url` for a `command`"));
        }
    }
}

/// Text, or what others write without quotes, whose variables are all closed.
pub(super) fn closed(node: Node<'_>, what: &str) -> Result<String, Fault> {
    let text = node.loose_text(what)?;
    match expansion::is_closed(&text) {
        true => Ok(text),
        false => Err(
            Fault::new(node.line(), format!("a variable in {what} is not closed"))
                .hint("write `}` behind its name, or $${ for a literal ${"),
        ),
    }
}

/// Refuses a value; in a file of another client's format its key may be that client's, and the value is passed over.
fn refuse(fault: Fault, own_format: bool, warnings: &mut Vec<Fault>) -> Result<(), Fault> {
    if own_format {
        return Err(fault);
    }
    warnings.push(fault);
    Ok(())
}

/// Whether a `type` is one over HTTP; `None` for what this reader does not know.
fn is_http(kind: &str) -> Option<bool> {
    match kind {
        "stdio" => Some(false),
        "http" | "streamable-http" | "streamableHttp" => Some(true),
        _ => None,
    }
}

fn variables(
    node: Node<'_>,
    what: &str,
    faults: &mut Vec<Fault>,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut variables = BTreeMap::new();
    for (name, value) in node.table(what)? {
        if name.is_empty() || name.contains(['=', '\0']) {
            faults.push(Fault::new(
                value.line(),
                format!(
                    "{what} has a variable that can't be named `{}`",
                    name.escape_debug()
                ),
            ));
            continue;
        }
        match closed(value, &format!("`{name}` in {what}")) {
            Ok(text) => drop(variables.insert(name, text)),
            Err(fault) => faults.push(fault),
        }
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
        let (program, _) = command.split_once(char::is_whitespace).unwrap_or_default();
        // The arguments are not repeated: they may hold a secret.
        return Err(Fault::new(
            line,
            format!("server `{name}` has a whole command line in `command`"),
        )
        .hint(format!(
            "write \"{program}\" in `command`, and each argument as a string of its own in `args`"
        )));
    }
    Ok(())
}

impl ServerConfig {
    /// A server with the defaults.
    pub(super) fn new(transport: Transport, line: u32) -> Self {
        Self {
            transport,
            disabled: false,
            start_timeout: START_TIMEOUT,
            timeout: TIMEOUT,
            idle: Some(IDLE),
            share: Share::default(),
            restart: Restart::default(),
            roots: Vec::new(),
            line,
        }
    }
}
