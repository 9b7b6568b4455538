//! Reads one entry of the servers.

use std::collections::BTreeMap;
use std::time::Duration;

use skills::entry_id::ServerName;

use super::endpoint::{self, HttpConfig};
use super::life::{Restart, Share};
use super::node::{Fault, Node};
use super::reader::unknown_key;
use super::{IDLE, START_TIMEOUT, ServerConfig, StdioConfig, TIMEOUT, Transport, duration};

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

/// The keys of a server.
const KEYS: [&str; 15] = [
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
    "policy",
];

/// Reads one server; what is odd but harmless is a warning. Where a file is not of our own format, unknown keys are the
/// business of other clients.
pub(super) fn read(
    name: &ServerName,
    node: Node<'_>,
    own_format: bool,
) -> Result<(ServerConfig, Vec<Fault>), Fault> {
    let mut command = None;
    let mut url = None;
    let mut headers = BTreeMap::new();
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
            "headers" => headers = endpoint::headers(value, &what)?,
            "type" => kind = Some(value.text(&what)?),
            "disabled" | "enabled" => {
                value.boolean(&what)?;
            }
            "start-timeout" => {
                set_limit(&mut config.start_timeout, value, &what, &mut warnings)?;
            }
            "timeout" => set_limit(&mut config.timeout, value, &what, &mut warnings)?,
            "idle" => {
                let (idle, warning) = self::idle(value, &what)?;
                config.idle = idle;
                warnings.extend(warning);
            }
            "share" => match Share::read(value, &what) {
                Ok(share) => config.share = share,
                Err(fault) => refuse(fault, own_format, &mut warnings)?,
            },
            "restart" => match Restart::read(value, &what) {
                Ok(restart) => config.restart = restart,
                Err(fault) => refuse(fault, own_format, &mut warnings)?,
            },
            // Read by itself: it is no setting of the server.
            "policy" => {}
            _ if own_format => {
                warnings.push(unknown_key(&key, &format!("server `{name}`"), &KEYS, value));
            }
            _ => {}
        }
    }
    if kind.as_deref() == Some("sse") {
        let message = format!("server `{name}` is of `type` \"sse\", the old HTTP with SSE");
        return Err(Fault::new(node.line(), message).hint(
            "use the server's streamable HTTP: \"type\": \"http\" and its URL, which often ends in /mcp in place of /sse",
        ));
    }
    config.transport = match (command, url, kind.as_deref().and_then(is_http)) {
        (Some((command, line)), None, None | Some(false))
        | (Some((command, line)), Some(_), Some(false)) => {
            check_command(name, &command, &stdio.args, line)?;
            Transport::Stdio(StdioConfig { command, ..stdio })
        }
        (None, Some(url), None | Some(true)) | (Some(_), Some(url), Some(true)) => {
            Transport::Http(HttpConfig { url, headers })
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

/// A length of time after which what is idle ends, or `never`; and what is odd about it.
pub(super) fn idle(node: Node<'_>, what: &str) -> Result<(Option<Duration>, Option<Fault>), Fault> {
    if node.text(what).is_ok_and(|text| text == "never") {
        return Ok((None, None));
    }
    let (mut idle, mut warnings) = (IDLE, Vec::new());
    set_duration(&mut idle, node, what, &mut warnings)?;
    Ok((Some(idle), warnings.pop()))
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
    pub(super) fn new(transport: Transport, line: u32) -> Self {
        Self {
            transport,
            disabled: false,
            start_timeout: START_TIMEOUT,
            timeout: TIMEOUT,
            idle: Some(IDLE),
            share: Share::default(),
            restart: Restart::default(),
            line,
        }
    }
}
