//! Where the servers stand in each client's settings. It must not know what an entry may hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Client;
use super::places::Place;
use super::variables::Input;
use crate::config::node::{Fault, Node};

/// The servers of one place in a file.
pub(super) struct Section<'a> {
    /// The servers by name, in the file's order.
    pub(super) servers: Vec<(String, Node<'a>)>,
    /// The project that they belong to.
    pub(super) project: Option<PathBuf>,
    /// The values that the client asks for.
    pub(super) inputs: BTreeMap<String, Input>,
    /// The servers that are switched off elsewhere in the file.
    pub(super) switched_off: Vec<String>,
}

/// The sections of a file.
///
/// # Errors
/// When what should hold servers does not, in the first such place.
pub(super) fn sections<'a>(place: &Place, root: Node<'a>) -> Result<Vec<Section<'a>>, Fault> {
    let mut sections = Vec::new();
    let mut add = |holder: Option<Node<'a>>, key: &str, project: Option<PathBuf>| {
        let Some(servers) = holder.and_then(|holder| get(holder, key)) else {
            return Ok(());
        };
        sections.push(Section {
            servers: servers.entries(&format!("`{key}`"))?,
            project,
            inputs: holder.map_or_else(BTreeMap::new, inputs),
            switched_off: Vec::new(),
        });
        Ok(())
    };
    let project = || place.project.clone();
    match place.client {
        Client::ClaudeCode => {
            let projects = get(root, "projects").map(|node| node.entries("`projects`"));
            for (path, settings) in projects.transpose()?.unwrap_or_default() {
                add(Some(settings), "mcpServers", Some(PathBuf::from(path)))?;
            }
            add(Some(root), "mcpServers", project())?;
        }
        Client::ClaudeDesktop | Client::Cursor | Client::Windsurf => {
            add(Some(root), "mcpServers", project())?;
        }
        Client::VsCode => {
            let is_settings = place.path.ends_with("settings.json");
            let holder = if is_settings {
                get(root, "mcp")
            } else {
                Some(root)
            };
            add(holder, "servers", project())?;
            add(holder, "mcpServers", project())?;
        }
        Client::Codex => add(Some(root), "mcp_servers", project())?,
        Client::Gemini => {
            add(Some(root), "mcpServers", project())?;
            let excluded = get(root, "mcp").and_then(|mcp| get(mcp, "excluded"));
            if let (Some(section), Some(excluded)) = (sections.last_mut(), excluded) {
                let names = excluded.list("`mcp.excluded`")?.into_iter();
                let names = names.map(|name| name.text("a name in `mcp.excluded`"));
                section.switched_off = names.collect::<Result<_, _>>()?;
            }
        }
        Client::OpenCode => {
            let mcp = get(root, "mcp");
            // Since its version 2 they stand below `servers`; before that a server may have been called so.
            match mcp.filter(|mcp| get(*mcp, "servers").is_some_and(|it| get(it, "type").is_none()))
            {
                Some(mcp) => add(Some(mcp), "servers", project())?,
                None => add(Some(root), "mcp", project())?,
            }
        }
        Client::Zed => add(Some(root), "context_servers", project())?,
    }
    Ok(sections)
}

/// The value of a key, where there is one.
pub(super) fn get<'a>(node: Node<'a>, key: &str) -> Option<Node<'a>> {
    if !node.is_table() {
        return None;
    }
    let entries = node.entries("").ok()?.into_iter();
    let mut values = entries.filter(|(name, value)| name == key && !value.is_null());
    values.next().map(|(_, value)| value)
}

/// The `inputs` of VS Code; one that can't be read is one without a description.
fn inputs(holder: Node<'_>) -> BTreeMap<String, Input> {
    let list = get(holder, "inputs").and_then(|inputs| inputs.list("").ok());
    let inputs = list.into_iter().flatten().filter_map(|input| {
        let text = |key| get(input, key)?.loose_text("").ok();
        let is_secret = get(input, "password").is_some_and(|it| it.boolean("").unwrap_or(true));
        let about = Input {
            description: text("description"),
            default: text("default").filter(|_| !is_secret),
        };
        Some((text("id")?, about))
    });
    inputs.collect()
}
