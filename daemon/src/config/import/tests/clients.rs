use super::*;

/// What one file of a client gives.
fn given(client: Client, name: &str, text: &str) -> Vec<String> {
    Machine::new().write(name, text).found(&[client])
}

#[test]
fn claude_code() {
    let found = given(
        Client::ClaudeCode,
        "src/project/.mcp.json",
        r#"{"mcpServers": {
            "stdio": {"type": "stdio", "command": "${BIN:-npx}", "args": ["${CLAUDE_PROJECT_DIR:-.}/x", "$HOME"], "env": {"A": "${A}"}},
            "http": {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${T}"}, "headersHelper": "x"},
            "sse": {"type": "sse", "url": "https://x.example/sse"}
        }}"#,
    );
    assert_eq!(
        found,
        [
            "[servers.http]\nurl = \"https://x.example/mcp\"\nheaders = { Authorization = \"Bearer ${T}\" }\n# left out: `headersHelper`\n",
            "! sse: the old HTTP with SSE is not supported\n",
            "[servers.stdio]\ncommand = \"${BIN:-npx}\"\nargs = [\"HOME/src/project/x\", \"$HOME\"]\nenv = { A = \"${A}\" }\n\
             cwd = \"HOME/src/project\"\n",
        ]
    );
}

#[test]
fn claude_desktop_expands_nothing() {
    let found = given(
        Client::ClaudeDesktop,
        ".config/Claude/claude_desktop_config.json",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "echo ${X} $${Y} $Z"], "env": {"PORT": 80}}}}"#,
    );
    assert_eq!(
        found,
        [
            "[servers.a]\ncommand = \"sh\"\nargs = [\"-c\", \"echo $${X} $$${Y} $Z\"]\nenv = { PORT = \"80\" }\n"
        ]
    );
}

#[test]
fn cursor() {
    let found = given(
        Client::Cursor,
        "src/project/.cursor/mcp.json",
        r#"{"mcpServers": {
            // As people write it.
            "a": {"command": "${workspaceFolder}${/}run", "args": ["${userHome}", "${workspaceFolderBasename}", "${other}"],
                  "env": {"T": "${env:TOKEN}"}, "envFile": ".env", "disabled": true,},
            "b": {"url": "https://x.example/sse"}
        }}"#,
    );
    assert_eq!(
        found,
        [
            "[servers.a]\ncommand = \"HOME/src/project/run\"\nargs = [\"${HOME}\", \"project\", \"$${other}\"]\nenv = { T = \"${TOKEN}\" }\n\
             cwd = \"HOME/src/project\"\ndisabled = true\n\
             # `envFile` is not read: write its variables into `env`, or set them for `shelf mount`\n",
            "[servers.b]\nurl = \"https://x.example/sse\"\n\
             # the URL may be for the old HTTP with SSE, which is not supported: that of streamable HTTP often ends in /mcp\n",
        ]
    );
}

#[test]
fn vscode() {
    let found = given(
        Client::VsCode,
        ".config/Code/User/mcp.json",
        r#"{
            "inputs": [
                {"type": "promptString", "id": "github-token", "description": "GitHub token", "password": true, "default": "s3cret"},
                {"type": "pickString", "id": "level", "default": "info"}
            ],
            "servers": {
                "a": {"command": "npx", "env": {"T": "${input:github-token}", "L": "${input:level}", "M": "${input:level}", "GONE": null}},
                "b": {"type": "http", "url": "https://x.example/mcp", "headers": {"K": "${input:2nd}"}},
                "c": {"command": "${config:python.path}"},
                "d": {"url": "unix:///run/x.sock"},
                "e": {"command": "x", "cwd": "sub"},
                "f": {"command": "x", "args": ["$${env:X}"]}
            }
        }"#,
    );
    assert_eq!(
        found,
        [
            "[servers.a]\ncommand = \"npx\"\nenv = { L = \"${LEVEL:-info}\", M = \"${LEVEL:-info}\", T = \"${GITHUB_TOKEN}\" }\n\
             # asks for `github-token` (GitHub token): set GITHUB_TOKEN in the environment of `shelf mount`\n\
             # asks for `level`: set LEVEL in the environment of `shelf mount`\n",
            "[servers.b]\nurl = \"https://x.example/mcp\"\nheaders = { K = \"${INPUT_2ND}\" }\n\
             # asks for `2nd`: set INPUT_2ND in the environment of `shelf mount`\n",
            "! c: `command`: `${config:python.path}` has no equal here\n",
            "! d: its URL is neither http nor https\n",
            "! e: its `cwd` sub is relative to the project that is open, and these settings belong to none\n",
            "! f: `args`: a `$` right before `${X}` can't be written\n",
        ]
    );
}

#[test]
fn codex() {
    let found = given(
        Client::Codex,
        ".codex/config.toml",
        "model = \"x\"\n[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"a\"]\nenv_vars = [\"T\"]\nstartup_timeout_sec = 20\n\
         tool_timeout_sec = 0.5\nenabled = false\nenabled_tools = [\"x\"]\n[mcp_servers.a.env]\nK = \"${v}\"\n\
         [mcp_servers.b]\nurl = \"https://x.example/mcp\"\nbearer_token_env_var = \"TOKEN\"\nstartup_timeout_ms = 1500\n\
         http_headers = { \"X-A\" = \"a\" }\nenv_http_headers = { \"X-B\" = \"B_VAR\" }\n",
    );
    assert_eq!(
        found,
        [
            "[servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"a\"]\nenv = { K = \"$${v}\" }\ndisabled = true\nstart-timeout = \"20s\"\n\
             timeout = \"500ms\"\n# left out: `enabled_tools`\n",
            "[servers.b]\nurl = \"https://x.example/mcp\"\n\
             headers = { Authorization = \"Bearer ${TOKEN}\", X-A = \"a\", X-B = \"${B_VAR}\" }\nstart-timeout = \"1500ms\"\n",
        ]
    );
}

#[test]
fn gemini() {
    let found = given(
        Client::Gemini,
        ".gemini/settings.json",
        r#"{"mcp": {"excluded": ["b"]}, "mcpServers": {
            "a": {"command": "sh", "args": ["-c", "x $1 $TOKEN-$ $"], "env": {"K": "$TOKEN", "L": "${LEVEL:-x}"}, "timeout": 30000, "trust": true},
            "b": {"url": "https://old.example/x", "httpUrl": "https://x.example/mcp"},
            "c": {"url": "https://x.example/x"}
        }}"#,
    );
    assert_eq!(
        found,
        [
            "[servers.a]\ncommand = \"sh\"\nargs = [\"-c\", \"x $1 ${TOKEN}-$ $\"]\nenv = { K = \"${TOKEN}\", L = \"${LEVEL:-x}\" }\n\
             timeout = \"30s\"\n# left out: `trust`\n",
            "[servers.b]\nurl = \"https://x.example/mcp\"\ndisabled = true\n",
            "[servers.c]\nurl = \"https://x.example/x\"\n\
             # the URL may be for the old HTTP with SSE, which is not supported: that of streamable HTTP often ends in /mcp\n",
        ]
    );
}

#[test]
fn opencode() {
    let servers = r#"{
        "a": {"type": "local", "command": ["npx", "-y", "{env:PACKAGE}", "${x} {}"], "environment": {"K": "{env:KEY}"}, "timeout": 5000},
        "b": {"type": "remote", "url": "https://x.example/mcp", "headers": {"A": "{file:~/.key}"}, "enabled": false},
        "c": {"type": "remote", "url": "https://x.example/mcp", "enabled": false, "oauth": {}}
    }"#;
    let expected = [
        "[servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"${PACKAGE}\", \"$${x} {}\"]\nenv = { K = \"${KEY}\" }\nstart-timeout = \"5s\"\n",
        "! b: `A` in `headers`: `{file:~/.key}` has no equal here\n",
        "[servers.c]\nurl = \"https://x.example/mcp\"\ndisabled = true\n# left out: `oauth`\n",
    ];
    let name = ".config/opencode/opencode.jsonc";
    assert_eq!(
        given(Client::OpenCode, name, &format!("{{\"mcp\": {servers}}}")),
        expected
    );
    // Since its version 2.
    let newer = format!("{{\"mcp\": {{\"servers\": {servers}, \"timeout\": {{}}}}}}");
    assert_eq!(given(Client::OpenCode, name, &newer), expected);
    // Before that a server may have been called so.
    let called_so = r#"{"mcp": {"servers": {"type": "local", "command": ["x"], "timeout": {"startup": 1, "request": 2000}}}}"#;
    let expected =
        "[servers.servers]\ncommand = \"x\"\nstart-timeout = \"1ms\"\ntimeout = \"2s\"\n";
    assert_eq!(given(Client::OpenCode, name, called_so), [expected]);
}

#[test]
fn windsurf() {
    let found = given(
        Client::Windsurf,
        ".codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://x.example/mcp", "headers": {"K": "${env:KEY}"}, "disabledTools": []},
            "b": {"command": "x", "env": {"K": "${file:/key}"}}}}"#,
    );
    assert_eq!(
        found,
        [
            "[servers.a]\nurl = \"https://x.example/mcp\"\nheaders = { K = \"${KEY}\" }\n# left out: `disabledTools`\n",
            "! b: `K` in `env`: `${file:/key}` has no equal here\n",
        ]
    );
}

#[test]
fn zed() {
    let found = given(
        Client::Zed,
        ".config/zed/settings.json",
        r#"{"context_servers": {
            "a": {"source": "custom", "enabled": true, "command": "x", "args": ["y"], "timeout": 90},
            "b": {"command": {"path": "x", "args": ["y"], "env": {"K": "v"}}, "settings": {}},
            "c": {"source": "extension", "enabled": true, "settings": {"k": "s3cret"}},
            "d": {"url": "https://x.example/mcp"}
        }}"#,
    );
    assert_eq!(
        found,
        [
            "[servers.a]\ncommand = \"x\"\nargs = [\"y\"]\ntimeout = \"90s\"\n",
            "[servers.b]\ncommand = \"x\"\nargs = [\"y\"]\nenv = { K = \"v\" }\n",
            "! c: it is an extension of Zed, which alone knows its command\n",
            "[servers.d]\nurl = \"https://x.example/mcp\"\n",
        ]
    );
}
