//! Turns one entry of another client's settings into a server of ours. It must not know where in the file the entry stands.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::Client;
use super::formats::get;
use super::variables::Meaning;
use crate::config::StdioConfig;
use crate::config::definition::{Definition, Way};
use crate::config::node::Node;

/// What an entry became.
pub(super) struct Taken {
    pub(super) definition: Definition,
    /// Whether the working directory is not the entry's own, but that of its project.
    pub(super) directory_is_inferred: bool,
}

/// Keys that only describe a server.
const DESCRIPTIVE: [&str; 8] = [
    "$schema",
    "name",
    "title",
    "description",
    "icon",
    "gallery",
    "version",
    "source",
];

/// What has been read so far, in our syntax.
#[derive(Default)]
struct Parts {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<(String, String)>,
    headers: BTreeMap<String, String>,
    kind: Option<String>,
    disabled: bool,
    start_timeout: Option<Duration>,
    timeout: Option<Duration>,
    is_extension: bool,
    left_out: Vec<String>,
}

struct Reader<'n, 'm> {
    meaning: Meaning<'m>,
    notes: &'n mut Vec<String>,
}

/// Reads an entry; `notes` takes what the user has to know of it.
///
/// # Errors
/// Why it can't be taken over.
pub(super) fn read(
    node: Node<'_>,
    meaning: Meaning<'_>,
    notes: &mut Vec<String>,
) -> Result<Taken, String> {
    let mut reader = Reader { meaning, notes };
    let mut parts = Parts::default();
    for (key, value) in node.table("the server").map_err(|fault| fault.message)? {
        reader.key(&mut parts, &key, value)?;
    }
    if !parts.left_out.is_empty() {
        let keys: Vec<_> = parts
            .left_out
            .iter()
            .map(|key| format!("`{key}`"))
            .collect();
        reader.notes.push(format!("left out: {}", keys.join(", ")));
    }
    reader.taken(parts)
}

impl Reader<'_, '_> {
    fn key(&mut self, parts: &mut Parts, key: &str, value: Node<'_>) -> Result<(), String> {
        let client = self.meaning.client;
        match key {
            "command" => self.command(parts, value)?,
            "args" => {
                let args = self.list(value, "`args`")?;
                parts.args.extend(args);
            }
            "env" | "environment" => {
                let variables = self.map(value, &format!("`{key}`"))?;
                parts.env.extend(variables);
            }
            "cwd" => parts.cwd = Some(self.text(value, "`cwd`")?),
            "url" | "serverUrl" | "httpUrl" => {
                // The newer of Gemini's two ways.
                if key == "httpUrl" || parts.url.is_none() {
                    parts.url = Some((key.to_owned(), self.text(value, &format!("`{key}`"))?));
                }
            }
            "headers" | "http_headers" => {
                let headers = self.map(value, &format!("`{key}`"))?;
                parts.headers.extend(headers);
            }
            "env_http_headers" => {
                for (header, variable) in self.map(value, "`env_http_headers`")? {
                    parts.headers.insert(header, format!("${{{variable}}}"));
                }
            }
            "bearer_token_env_var" => {
                let variable = self.text(value, "`bearer_token_env_var`")?;
                let header = format!("Bearer ${{{variable}}}");
                parts.headers.insert("Authorization".to_owned(), header);
            }
            "type" | "transport" => parts.kind = Some(plain(value, "`type`")?),
            "disabled" => parts.disabled |= boolean(value, "`disabled`")?,
            "enabled" => parts.disabled |= !boolean(value, "`enabled`")?,
            // Every server has the whole environment of `shelf mount`.
            "env_vars" => {}
            "envFile" => self.notes.push(
                "`envFile` is not read: write its variables into `env`, or set them for `shelf mount`"
                    .to_owned(),
            ),
            "source" if client == Client::Zed => {
                parts.is_extension |= plain(value, "`source`")? == "extension";
            }
            "settings" if client == Client::Zed => parts.is_extension |= parts.command.is_none(),
            _ if DESCRIPTIVE.contains(&key) => {}
            _ if limit(parts, client, key, value) => {}
            _ => parts.left_out.push(key.to_owned()),
        }
        Ok(())
    }

    /// A program; opencode writes its arguments behind it, Zed wrote a table.
    fn command(&mut self, parts: &mut Parts, node: Node<'_>) -> Result<(), String> {
        match self.meaning.client {
            Client::OpenCode => {
                let mut words = self.list(node, "`command`")?.into_iter();
                parts.command = words.next();
                parts.args.splice(0..0, words);
            }
            Client::Zed if node.is_table() => {
                if let Some(path) = get(node, "path") {
                    parts.command = Some(self.text(path, "`command.path`")?);
                }
                if let Some(args) = get(node, "args") {
                    parts.args = self.list(args, "`command.args`")?;
                }
                if let Some(env) = get(node, "env") {
                    parts.env = self.map(env, "`command.env`")?;
                }
            }
            _ => parts.command = Some(self.text(node, "`command`")?),
        }
        Ok(())
    }

    fn taken(&mut self, parts: Parts) -> Result<Taken, String> {
        let kind = parts.kind.as_deref();
        let by_http = match kind {
            Some("stdio" | "local") => Some(false),
            Some("http" | "streamable-http" | "streamableHttp" | "remote") => Some(true),
            Some("sse") => return Err("the old HTTP with SSE is not supported".to_owned()),
            Some(other) => return Err(format!("its type `{other}` is not known here")),
            None => None,
        };
        let mut directory_is_inferred = false;
        let way = match (parts.command, parts.url, by_http) {
            (Some(_), Some(_), None) => return Err("it has both a command and a URL".to_owned()),
            (Some(command), _, None | Some(false)) => {
                let (cwd, inferred) = self.directory(parts.cwd)?;
                directory_is_inferred = inferred;
                Way::Process(StdioConfig {
                    command,
                    args: parts.args,
                    env: parts.env,
                    cwd,
                })
            }
            (_, Some((key, url)), None | Some(true)) => {
                self.check_url(&key, &url, kind)?;
                Way::Http {
                    url,
                    headers: parts.headers,
                }
            }
            _ if parts.is_extension => {
                return Err("it is an extension of Zed, which alone knows its command".to_owned());
            }
            _ => return Err("it has neither a command nor a URL".to_owned()),
        };
        Ok(Taken {
            definition: Definition {
                way,
                disabled: parts.disabled,
                start_timeout: parts.start_timeout,
                timeout: parts.timeout,
            },
            directory_is_inferred,
        })
    }

    /// The working directory, and whether it was not said: a client starts the servers of a project in that project.
    fn directory(&self, cwd: Option<String>) -> Result<(Option<String>, bool), String> {
        let is_whole = |cwd: &String| cwd.starts_with(['/', '~', '$']);
        let Some(project) = self.meaning.project else {
            return match cwd {
                Some(cwd) if !is_whole(&cwd) => Err(format!(
                    "its `cwd` {cwd} is relative to the project that is open, and these settings belong to none"
                )),
                cwd => Ok((cwd, false)),
            };
        };
        let inferred = cwd.is_none();
        let directory = match cwd {
            Some(cwd) if is_whole(&cwd) => cwd,
            cwd => {
                let relative = cwd.unwrap_or_default();
                let path = project.join(Path::new(relative.trim_start_matches("./")));
                let path = path.to_str().map(|path| path.trim_end_matches('/'));
                path.ok_or("the path of its project is not UTF-8")?
                    .to_owned()
            }
        };
        Ok((Some(directory), inferred))
    }

    fn check_url(&mut self, key: &str, url: &str, kind: Option<&str>) -> Result<(), String> {
        let known = ["http://", "https://", "${"];
        if !known.iter().any(|start| url.starts_with(start)) {
            return Err("its URL is neither http nor https".to_owned());
        }
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let may_be_old = self.meaning.client == Client::Gemini && key == "url" && kind.is_none();
        if may_be_old || path.trim_end_matches('/').ends_with("/sse") {
            self.notes.push(
                "the URL may be for the old HTTP with SSE, which is not supported: that of streamable HTTP often ends in /mcp"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn text(&mut self, node: Node<'_>, what: &str) -> Result<String, String> {
        let text = node.loose_text(what).map_err(|fault| fault.message)?;
        let translated = self.meaning.translate(&text, self.notes);
        translated.map_err(|reason| format!("{what}: {reason}"))
    }

    fn list(&mut self, node: Node<'_>, what: &str) -> Result<Vec<String>, String> {
        let list = node.list(what).map_err(|fault| fault.message)?;
        list.into_iter().map(|node| self.text(node, what)).collect()
    }

    fn map(&mut self, node: Node<'_>, what: &str) -> Result<BTreeMap<String, String>, String> {
        let entries = node.table(what).map_err(|fault| fault.message)?;
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            let text = self.text(value, &format!("`{key}` in {what}"))?;
            map.insert(key, text);
        }
        Ok(map)
    }
}

fn plain(node: Node<'_>, what: &str) -> Result<String, String> {
    node.text(what).map_err(|fault| fault.message)
}

fn boolean(node: Node<'_>, what: &str) -> Result<bool, String> {
    node.boolean(what).map_err(|fault| fault.message)
}

/// Takes a limit whose unit that client documents; whether it was one.
fn limit(parts: &mut Parts, client: Client, key: &str, node: Node<'_>) -> bool {
    let number = |node: Node<'_>| node.number().and_then(|number| number.parse::<f64>().ok());
    let seconds = |node| number(node).and_then(|number| Duration::try_from_secs_f64(number).ok());
    let milliseconds = |node| {
        let number = number(node)?;
        Duration::try_from_secs_f64(number / 1000.0).ok()
    };
    let (start, call) = match (client, key) {
        (Client::Codex, "startup_timeout_sec") => (seconds(node), None),
        (Client::Codex, "startup_timeout_ms") => (milliseconds(node), None),
        (Client::Codex, "tool_timeout_sec") | (Client::Zed, "timeout") => (None, seconds(node)),
        (Client::Gemini, "timeout") => (None, milliseconds(node)),
        (Client::OpenCode, "timeout") if node.is_table() => (
            get(node, "startup").and_then(milliseconds),
            get(node, "request").and_then(milliseconds),
        ),
        // Until its version 2: how long the listing of its tools may take.
        (Client::OpenCode, "timeout") => (milliseconds(node), None),
        _ => return false,
    };
    let (start, call) = (some_time(start), some_time(call));
    parts.start_timeout = start.or(parts.start_timeout);
    parts.timeout = call.or(parts.timeout);
    start.is_some() || call.is_some()
}

/// To the millisecond, and not nothing.
fn some_time(duration: Option<Duration>) -> Option<Duration> {
    let milliseconds = u64::try_from(duration?.as_millis()).ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}
