use super::*;

fn names(import: &Import) -> Vec<&str> {
    import
        .found
        .iter()
        .map(|found| found.name.as_str())
        .collect()
}

fn plain(section: &str, name: &str) -> String {
    format!(r#"{{"{section}": {{"{name}": {{"command": "{name}"}}}}}}"#)
}

#[test]
fn every_place_is_looked_into() {
    let machine = Machine::new();
    for (client, path, text) in [
        (Client::ClaudeCode, ".claude.json", plain("mcpServers", "x")),
        (
            Client::ClaudeCode,
            "src/project/.mcp.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::ClaudeDesktop,
            ".config/Claude/claude_desktop_config.json",
            plain("mcpServers", "x"),
        ),
        (Client::Cursor, ".cursor/mcp.json", plain("mcpServers", "x")),
        (
            Client::Cursor,
            "src/project/.cursor/mcp.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::VsCode,
            ".config/Code/User/mcp.json",
            plain("servers", "x"),
        ),
        (
            Client::VsCode,
            ".config/VSCodium/User/profiles/a1/mcp.json",
            plain("servers", "x"),
        ),
        (
            Client::VsCode,
            ".config/Code/User/settings.json",
            format!("{{\"mcp\": {}}}", plain("servers", "x")),
        ),
        (
            Client::VsCode,
            ".vscode-server/data/User/mcp.json",
            plain("servers", "x"),
        ),
        (
            Client::VsCode,
            ".copilot/mcp-config.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::VsCode,
            "src/project/.vscode/mcp.json",
            plain("servers", "x"),
        ),
        (
            Client::Codex,
            ".codex/config.toml",
            "[mcp_servers.x]\ncommand = \"x\"".into(),
        ),
        (
            Client::Codex,
            "src/project/.codex/config.toml",
            "[mcp_servers.x]\ncommand = \"x\"".into(),
        ),
        (
            Client::Gemini,
            ".gemini/settings.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::Gemini,
            "src/project/.gemini/settings.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::OpenCode,
            ".config/opencode/opencode.json",
            r#"{"mcp": {"x": {"type": "local", "command": ["x"]}}}"#.into(),
        ),
        (
            Client::OpenCode,
            ".config/opencode/opencode.jsonc",
            r#"{"mcp": {"x": {"type": "local", "command": ["x"]}}}"#.into(),
        ),
        (
            Client::OpenCode,
            "src/project/opencode.json",
            r#"{"mcp": {"x": {"type": "local", "command": ["x"]}}}"#.into(),
        ),
        (
            Client::OpenCode,
            "src/project/.opencode/opencode.json",
            r#"{"mcp": {"x": {"type": "local", "command": ["x"]}}}"#.into(),
        ),
        (
            Client::Windsurf,
            ".codeium/windsurf/mcp_config.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::Zed,
            ".config/zed/settings.json",
            plain("context_servers", "x"),
        ),
        (
            Client::Zed,
            "src/project/.zed/settings.json",
            plain("context_servers", "x"),
        ),
    ] {
        let machine = Machine::new();
        machine.write(path, &text);
        let import = machine.look(&[client]);
        assert_eq!(names(&import), ["x"], "{path}");
        assert!(
            import.found[0].outcome.is_ok(),
            "{path}: {:?}",
            import.found
        );
        // Nobody else looks there, but for what two clients share.
        let others: Vec<_> = Client::ALL
            .into_iter()
            .filter(|other| *other != client)
            .collect();
        assert_eq!(
            machine.look(&others).files,
            [""; 0].map(PathBuf::from),
            "{path}"
        );
    }
    assert_eq!(machine.look(&Client::ALL).files.len(), 0);
}

#[test]
fn variables_of_the_clients_are_respected() {
    for (client, variable, directory, path, text) in [
        (
            Client::ClaudeCode,
            "CLAUDE_CONFIG_DIR",
            "own",
            "own/.claude.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::Codex,
            "CODEX_HOME",
            "own",
            "own/config.toml",
            "[mcp_servers.x]\ncommand = \"x\"".into(),
        ),
        (
            Client::Gemini,
            "GEMINI_CLI_HOME",
            "own",
            "own/.gemini/settings.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::OpenCode,
            "OPENCODE_CONFIG",
            "own.json",
            "own.json",
            r#"{"mcp": {"x": {"command": ["x"]}}}"#.into(),
        ),
        (
            Client::OpenCode,
            "OPENCODE_CONFIG_DIR",
            "own",
            "own/opencode.json",
            r#"{"mcp": {"x": {"command": ["x"]}}}"#.into(),
        ),
        (
            Client::VsCode,
            "COPILOT_HOME",
            "own",
            "own/mcp-config.json",
            plain("mcpServers", "x"),
        ),
        (
            Client::Zed,
            "XDG_CONFIG_HOME",
            "own",
            "own/zed/settings.json",
            plain("context_servers", "x"),
        ),
    ] {
        let mut machine = Machine::new();
        machine.write(path, &text);
        assert_eq!(machine.look(&Client::ALL).files.len(), 0, "{path}");
        let value = machine.home.join(directory);
        machine.environment.insert(variable.into(), value.into());
        assert_eq!(names(&machine.look(&[client])), ["x"], "{path}");
    }
}

#[test]
fn a_project_reaches_up_to_its_repository() {
    let mut machine = Machine::new();
    machine
        .write("src/.mcp.json", &plain("mcpServers", "above"))
        .write("src/project/.mcp.json", &plain("mcpServers", "root"))
        .write("src/project/part/.mcp.json", &plain("mcpServers", "part"));
    machine.project.push("part");
    assert_eq!(names(&machine.look(&Client::ALL)), ["part", "root"]);
    // Without a repository nothing above is a part of it.
    fs::remove_dir(machine.home.join("src/project/.git")).unwrap();
    assert_eq!(names(&machine.look(&Client::ALL)), ["part"]);
}

#[test]
fn in_the_home_directory_the_settings_are_the_users() {
    let mut machine = Machine::new();
    machine.write(".cursor/mcp.json", &plain("mcpServers", "x"));
    machine.project = machine.home.clone();
    assert_eq!(
        machine.found(&[Client::Cursor]),
        ["[servers.x]\ncommand = \"x\"\n"]
    );
}

#[test]
fn the_nearest_settings_win() {
    let machine = Machine::new();
    let command = |text: &str| format!(r#"{{"a": {{"command": "{text}"}}}}"#);
    let project = machine.project.to_str().unwrap();
    machine
        .write(
            ".claude.json",
            &format!(
                r#"{{"mcpServers": {}, "projects": {{"/elsewhere": {{"mcpServers": {}}}, "{project}": {{"mcpServers": {}}}}}}}"#,
                command("user"),
                command("elsewhere"),
                command("local"),
            ),
        )
        .write("src/project/.codex/config.toml", "[mcp_servers.b]\ncommand = \"b\"\n");
    let import = machine.look(&Client::ALL);
    let taken: Vec<_> = import
        .found
        .iter()
        .filter_map(|found| found.outcome.as_ref().ok())
        .collect();
    let commands: Vec<_> = taken
        .iter()
        .map(|definition| match &definition.way {
            Way::Process(stdio) => stdio.command.as_str(),
            Way::Http { .. } => "",
        })
        .collect();
    assert_eq!(commands, ["local", "b"]);
    assert_eq!(import.found.len(), 4);
}
