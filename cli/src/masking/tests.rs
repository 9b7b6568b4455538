use super::{address, arguments, shown, word};

#[test]
fn only_references_are_shown() {
    for reference in ["${TOKEN}", "Bearer ${TOKEN}", ""] {
        assert_eq!(shown(reference), reference);
    }
    for value in [
        "s3cret",
        "Bearer s3cret",
        "${TOKEN}s3cret",
        "${TOKEN:-s3cret}",
    ] {
        assert_eq!(shown(value), "***");
    }
}

#[test]
fn secrets_in_arguments_are_not_shown() {
    let args = [
        "-y",
        "mcp-remote",
        "--api-key",
        "s3cret",
        "--token=s3cret",
        "--port",
        "80",
        "API_KEY=s3cret",
        "--header",
        "Authorization: Bearer s3cret",
        "-H",
        "X-Key:s3cret",
        "--token",
        "${TOKEN}",
        "https://me:s3cret@x.example/mcp?k=s3cret",
        "Bearer s3cret",
        "postgres://u:s3cret@db/x",
    ];
    let shown = arguments(&args).join(" ");
    assert!(!shown.contains("s3cret"), "{shown}");
    assert_eq!(
        shown,
        "-y mcp-remote --api-key *** --token=*** --port 80 API_KEY=*** --header Authorization: *** -H X-Key:*** \
         --token ${TOKEN} https://***@x.example/mcp?*** *** postgres://***@db/x"
    );
}

#[test]
fn variables_of_a_container_are_shown_by_name_alone() {
    let args = [
        "run",
        "-i",
        "--rm",
        "--env",
        "PGPASS=hunter2",
        "--env=DSN=hunter2",
        "-e",
        "TOK=hunter2",
        "-e",
        "mode=hunter2",
        "-e",
        "INHERITED",
        "-eTOK=hunter2",
        "-e",
        "GIVEN=${GIVEN}",
        "-p",
        "8080:80",
        "ghcr.io/acme/mcp-server:v1.2.3",
    ];
    assert_eq!(
        arguments(&args).join(" "),
        "run -i --rm --env PGPASS=*** --env=DSN=*** -e TOK=*** -e mode=*** -e INHERITED -eTOK=*** \
         -e GIVEN=${GIVEN} -p 8080:80 ghcr.io/acme/mcp-server:v1.2.3"
    );
}

#[test]
fn the_value_of_an_option_with_a_secrets_name_is_not_shown() {
    for option in [
        "--pat",
        "--pass",
        "--pw",
        "--db-pwd",
        "--dsn",
        "--conn",
        "--credentials",
        "--githubPat",
        "--auth",
        "--connection-string",
        "-p",
    ] {
        assert_eq!(arguments(&[option, "hunter2"]), [option, "***"], "{option}");
        assert_eq!(
            arguments(&[option, "a:hunter2"]),
            [option, "***"],
            "{option}"
        );
    }
    assert_eq!(arguments(&["--path", "hunter2"]), ["--path", "hunter2"]);
    assert_eq!(arguments(&["-u", "me:hunter2"]), ["-u", "***"]);
}

#[test]
fn what_looks_like_a_secret_is_not_shown_wherever_it_stands() {
    for argument in [
        "Server=h;Password=hunter2",
        "Server=h;User Id=me;Password=hunter2",
        "host=h password=hunter2",
        "--dsn-less=a=hunter2",
        "password:hunter2",
        "{\"apiKey\":\"hunter2\"}",
        "{\"a\": \"x\", \"apiKey\": \"hunter2\"}",
        "me:hunter2@host",
        "-phunter2",
        "curl --token hunter2 https://x.example",
        "MODE=hunter2 exec server",
        "sk-ant-hunter2",
        "--name=sk-ant-hunter2",
        "github_pat_hunter2",
        "${A_VARIABLE:-hunter2}",
        "--mode=${A:-hunter2}",
        "hunter2hunter2hunter2",
        "550e8400-e29b-41d4-a716-hunter2",
        "wJalrhunter2EMI/K7MDENG/bPxRfiCYEXAMPLE",
        "/home/me/hunter2hunter2hunter2/x",
        "postgres://me:hunter2#x@db/x",
        "postgres://me:hunter2/x@db/x",
        "Endpoint=sb://h.example/;SharedAccess=hunter2",
        "jdbc:postgresql://h/db;word=hunter2",
    ] {
        let shown = arguments(&[argument]).join(" ");
        assert!(!shown.contains("hunter2"), "{argument}: {shown}");
        assert!(shown.contains("***"), "{argument}: {shown}");
    }
}

#[test]
fn what_tells_the_server_is_shown() {
    for argument in [
        "@modelcontextprotocol/server-everything",
        "@modelcontextprotocol/server-everything@2025.11.25",
        "npm:@acme/long-package-name-of-mcp@1.2.3",
        "--from=git+https://git.example/acme/server-k8s.git",
        "mcp/postgres-with-many-words:latest",
        "/home/me/.local/share/versions/node/v20.11.1/bin/server.js",
        "./build/index.js",
        "~/projects/secret-santa/auth",
        "--transport=stdio",
        "--log-level",
        "--allowed-directories-of-v2",
        "-y",
        "-c",
        "two words",
        "",
    ] {
        assert_eq!(arguments(&[argument]), [argument]);
    }
}

#[test]
fn a_url_keeps_what_tells_the_server() {
    for plain in [
        "https://x.example/mcp",
        "http://localhost:8080/api/mcp",
        "http://[::1]:80/mcp",
        "https://x.example/${PLACE}/mcp",
        "plain",
    ] {
        assert_eq!(address(plain), plain);
    }
    assert_eq!(address("https://x.example?key=s"), "https://x.example?***");
    for path in [
        "s/hunter2",
        "s/abcdefgh",
        "hunter2hunter2",
        "token/abcd",
        "sk-ant-abc",
    ] {
        let shown = address(&format!("https://x.example/api/mcp/{path}/mcp"));
        assert!(shown.starts_with("https://x.example/api/mcp/"), "{shown}");
        assert!(shown.ends_with("***/mcp"), "{shown}");
    }
    assert_eq!(word("https://x.example/a?b"), "https://x.example/a?***");
}
