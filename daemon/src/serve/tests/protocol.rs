use serde_json::{Value, json};

use super::TestClient;
use super::fake::{FakeShelf, tool};

fn shelf() -> FakeShelf {
    FakeShelf::new(&[("git/log", &tool(10))])
}

/// The `_meta` of a request that stands for itself.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn both_eras_are_spoken_on_one_pipe() {
    let mut client = TestClient::of(shelf());
    let found = client.request("server/discover", json!({ "_meta": meta() }));
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["capabilities"], json!({ "tools": {} }));
    assert_eq!(
        found["_meta"]["io.modelcontextprotocol/serverInfo"]["version"],
        "1.2.3"
    );
    assert!(
        found["ttlMs"].is_u64() && found["cacheScope"].is_string(),
        "{found}"
    );
    let instructions = found["instructions"].as_str().unwrap();
    assert!(
        instructions.contains("- git: 1 tool. Keeps versions"),
        "{instructions}"
    );

    let own = client.request("tools/list", json!({ "_meta": meta() }));
    assert_eq!(own["resultType"], "complete");
    assert!(
        own["ttlMs"].is_u64() && own["cacheScope"].is_string(),
        "{own}"
    );
    assert_eq!(client.refused("tools/list", json!({})), -32602);

    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    let opened = client.request("initialize", params);
    assert_eq!(opened["protocolVersion"], "2025-06-18");
    assert_eq!(opened["capabilities"], json!({ "tools": {} }));
    assert_eq!(opened["instructions"], found["instructions"]);
    let listed = client.request("tools/list", json!({}));
    assert_eq!(
        listed.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["tools"]
    );
    assert_eq!(listed["tools"], own["tools"]);
    assert_eq!(client.close(), [""; 0]);
}

#[test]
fn servers_that_are_just_being_listed_are_waited_for() {
    let shelf = shelf();
    shelf.asked.lock().unwrap().starting = 2;
    let mut client = TestClient::of(shelf);
    let found = client.request("server/discover", json!({}));
    let instructions = found["instructions"].as_str().unwrap();
    assert!(instructions.contains("- git: 1 tool."), "{instructions}");
}

#[test]
fn the_definitions_are_the_same_bytes_for_every_shelf() {
    let line = |shelf| {
        let mut client = TestClient::initialized(shelf);
        client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
        client.line()
    };
    let one = line(shelf());
    assert_eq!(one, line(FakeShelf::default()));
    for absent in ["git", "listChanged"] {
        assert!(!one.contains(absent), "{one}");
    }
}

#[test]
fn a_revision_is_agreed_on_or_refused() {
    let mut client = TestClient::of(shelf());
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let opened = client.request("initialize", json!({ "protocolVersion": asked }));
        assert_eq!(opened["protocolVersion"], agreed, "{asked}");
    }
    assert_eq!(client.refused("initialize", json!({})), -32602);

    // What a request says of itself counts, whatever was opened.
    let mut odd = meta();
    odd["io.modelcontextprotocol/protocolVersion"] = "2030-01-01".into();
    for method in ["server/discover", "tools/list", "tools/call"] {
        let refused = client.ask(method, json!({ "_meta": odd, "name": "search_tools" }));
        assert_eq!(refused["error"]["code"], -32022, "{refused}");
        let data = json!({ "supported": ["2026-07-28"], "requested": "2030-01-01" });
        assert_eq!(refused["error"]["data"], data);
    }
    let half = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    assert_eq!(
        client.refused("tools/list", json!({ "_meta": half })),
        -32602
    );
    // A probe that says nothing of itself is answered.
    let found = client.request("server/discover", json!({}));
    assert_eq!(found["resultType"], "complete");
}

#[test]
fn what_is_no_message_is_refused_and_the_next_one_answered() {
    let mut client = TestClient::initialized(shelf());
    for (line, code, id) in [
        (&b"{"[..], -32700, json!(null)),
        (b"\xff\xfe", -32700, json!(null)),
        (b"{} {}", -32700, json!(null)),
        (b"7", -32600, json!(null)),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            -32600,
            json!(null),
        ),
        (
            br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            -32600,
            json!(null),
        ),
        (br#"{"id":"seven","method":"ping"}"#, -32600, json!("seven")),
        (
            br#"{"jsonrpc":"2.0","id":-7,"method":7}"#,
            -32600,
            json!(-7),
        ),
        (
            br#"{"jsonrpc":"2.0","id":8,"method":"ping","params":[]}"#,
            -32602,
            json!(8),
        ),
        (
            br#"{"jsonrpc":"2.0","id":9,"id":9,"method":"ping"}"#,
            -32600,
            json!(null),
        ),
    ] {
        client.write(line);
        let refused = client.receive();
        assert_eq!(
            (&refused["error"]["code"], &refused["id"]),
            (&json!(code), &id),
            "{refused}"
        );
        assert!(refused["error"]["message"].is_string());
        assert_eq!(client.request("ping", json!({})), json!({}));
    }
    // Neither an empty line, an answer nor a notification is answered, so that the next line is the ping's.
    for line in [
        &b""[..],
        br#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    ] {
        client.write(line);
    }
    assert_eq!(client.request("ping", json!({})), json!({}));
}

#[test]
fn ids_go_back_as_they_were_written() {
    let mut client = TestClient::initialized(shelf());
    for id in ["123456789012345678901234567890", r#""\u0061""#, "-1"] {
        client.write(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        assert_eq!(
            client.line(),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
        );
    }
}

#[test]
fn methods_of_what_is_not_offered_are_not_there() {
    let mut client = TestClient::initialized(shelf());
    for method in [
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "logging/setLevel",
        "completion/complete",
        "subscriptions/listen",
        "tools/none",
    ] {
        assert_eq!(client.refused(method, json!({})), -32601, "{method}");
    }
    // It went with the older era.
    assert_eq!(client.refused("ping", json!({ "_meta": meta() })), -32601);
    assert_eq!(
        client.refused("tools/list", json!({ "cursor": "x" })),
        -32602
    );
    assert_eq!(
        client.refused("tools/call", json!({ "name": "git/log" })),
        -32602
    );
    assert_eq!(client.refused("tools/call", json!({})), -32602);
}

#[test]
fn results_of_the_newer_era_say_what_they_are() {
    let mut client = TestClient::of(shelf());
    for params in [
        json!({ "name": "search_tools", "arguments": { "query": "log" } }),
        json!({ "name": "search_tools", "arguments": {} }),
        json!({ "name": "call_tool", "arguments": { "id": "git/log" } }),
        json!({ "name": "call_tool", "arguments": { "id": "git/no" } }),
    ] {
        let mut params = params;
        params["_meta"] = meta();
        let result = client.request("tools/call", params);
        assert_eq!(result["resultType"], "complete", "{result}");
        assert!(result["content"].is_array(), "{result}");
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], "toolshelf", "{result}");
    }
}
