//! Where each client keeps its settings, as its documentation says, for a user and for a project.
//!
//! It must not know what stands in them.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use super::Client;
use crate::surroundings::Environment;

/// A file that may hold settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) path: PathBuf,
    /// The project that it belongs to; none for a user's own.
    pub(super) project: Option<PathBuf>,
}

/// The editors that keep their settings as VS Code does, below the directory of configurations.
const CODE_EDITORS: [&str; 3] = ["Code", "Code - Insiders", "VSCodium"];

/// The places of a client, those of the projects first. None of them need exist.
pub(super) fn places(
    client: Client,
    environment: &Environment,
    projects: &[PathBuf],
) -> Vec<Place> {
    let own = of_user(client, environment);
    let names = of_project(client);
    let below = projects.iter().flat_map(|project| {
        names.iter().map(|name| Place {
            client,
            path: project.join(name),
            project: Some(project.clone()),
        })
    });
    // Where the project is the home directory, the files are the user's.
    let mut all: Vec<_> = below.filter(|place| !own.contains(&place.path)).collect();
    all.extend(own.into_iter().map(|path| Place {
        client,
        path,
        project: None,
    }));
    all
}

const fn of_project(client: Client) -> &'static [&'static str] {
    match client {
        Client::ClaudeCode => &[".mcp.json"],
        Client::ClaudeDesktop | Client::Windsurf => &[],
        Client::Cursor => &[".cursor/mcp.json"],
        Client::VsCode => &[".vscode/mcp.json"],
        Client::Codex => &[".codex/config.toml"],
        Client::Gemini => &[".gemini/settings.json"],
        Client::OpenCode => &[
            ".opencode/opencode.jsonc",
            ".opencode/opencode.json",
            "opencode.jsonc",
            "opencode.json",
        ],
        Client::Zed => &[".zed/settings.json"],
    }
}

fn of_user(client: Client, environment: &Environment) -> Vec<PathBuf> {
    let variable = |name: &str| {
        let value = environment.get(OsStr::new(name))?;
        Some(PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let home = variable("HOME");
    let in_home = |name: &str| home.as_ref().map(|home| home.join(name));
    let config = || variable("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
    let in_config = |name: &str| config().map(|config| config.join(name));
    let paths = match client {
        // With a directory of its own it stands in that, else in the home directory itself.
        Client::ClaudeCode => vec![
            variable("CLAUDE_CONFIG_DIR")
                .map(|directory| directory.join(".claude.json"))
                .or_else(|| in_home(".claude.json")),
        ],
        Client::ClaudeDesktop => vec![in_config("Claude/claude_desktop_config.json")],
        Client::Cursor => vec![in_home(".cursor/mcp.json")],
        Client::VsCode => return code_editors(config(), variable("COPILOT_HOME"), home),
        Client::Codex => vec![
            variable("CODEX_HOME")
                .map(|directory| directory.join("config.toml"))
                .or_else(|| in_home(".codex/config.toml")),
        ],
        Client::Gemini => vec![
            variable("GEMINI_CLI_HOME")
                .map(|directory| directory.join(".gemini/settings.json"))
                .or_else(|| in_home(".gemini/settings.json")),
        ],
        Client::OpenCode => {
            let directory = variable("OPENCODE_CONFIG_DIR");
            let given = |name: &str| directory.as_ref().map(|directory| directory.join(name));
            vec![
                variable("OPENCODE_CONFIG"),
                given("opencode.jsonc"),
                given("opencode.json"),
                in_config("opencode/opencode.jsonc"),
                in_config("opencode/opencode.json"),
                in_config("opencode/config.json"),
            ]
        }
        Client::Windsurf => vec![
            in_home(".codeium/windsurf/mcp_config.json"),
            in_home(".codeium/windsurf-next/mcp_config.json"),
            // That of its plugins for other editors.
            in_home(".codeium/mcp_config.json"),
        ],
        Client::Zed => vec![in_config("zed/settings.json")],
    };
    paths.into_iter().flatten().collect()
}

/// Each editor's `mcp.json`, those of its profiles, and `settings.json`, where servers stood before; then what they share with Copilot.
fn code_editors(
    config: Option<PathBuf>,
    copilot: Option<PathBuf>,
    home: Option<PathBuf>,
) -> Vec<PathBuf> {
    let editors = CODE_EDITORS
        .iter()
        .filter_map(|editor| Some(config.as_ref()?.join(editor).join("User")));
    let remote = home
        .as_ref()
        .map(|home| home.join(".vscode-server/data/User"));
    let mut paths = Vec::new();
    for user in editors.chain(remote) {
        paths.push(user.join("mcp.json"));
        paths.push(user.join("settings.json"));
        let profiles = fs::read_dir(user.join("profiles")).into_iter().flatten();
        let mut profiles: Vec<_> = profiles
            .flatten()
            .map(|profile| profile.path().join("mcp.json"))
            .collect();
        profiles.sort();
        paths.extend(profiles);
    }
    let copilot = copilot.or_else(|| Some(home?.join(".copilot")));
    paths.extend(copilot.map(|directory| directory.join("mcp-config.json")));
    paths
}
