use serde_json::{Value, json};

use super::fake::{FakeShelf, tool};
use super::{DEADLINE, TestClient};

const SKILL: &str = "---\nname: pages\n---\n# Pages\n";

fn client() -> TestClient {
    let strict = r#"{"name":"strict","inputSchema":{"type":"object","required":["n"]}}"#;
    TestClient::initialized(FakeShelf::new(&[
        ("git/log", &tool(10)),
        ("git/fail", &tool(10)),
        ("git/deny", &tool(10)),
        ("git/slow", &tool(10)),
        ("git/strict", strict),
        ("skills/pages", SKILL),
    ]))
}

fn call(client: &mut TestClient, id: &str, is_error: bool) -> String {
    client.text("call_tool", json!({ "id": id }), is_error)
}

#[test]
fn a_result_is_passed_on_as_it_is() {
    let mut client = client();
    let arguments = json!({ "id": "git/log", "arguments": { "b": 1.5, "a": "007" } });
    client.begin(&json!(7), "call_tool", arguments);
    assert_eq!(
        client.line(),
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"image","depth":1e3}],"structuredContent":{"b":0.10,"a":123456789012345678901234567890}}}"#
    );
    let asked = client.shelf.asked.lock().unwrap();
    assert_eq!(asked.calls[0].entry, "git/log");
    assert_eq!(
        Value::from(asked.calls[0].arguments.clone()),
        json!({ "b": 1.5, "a": "007" })
    );
    // It was called without having been searched for.
    assert!(asked.searches.is_empty() && asked.loads.is_empty());
}

#[test]
fn what_went_wrong_is_told_to_the_model() {
    let mut client = client();
    assert_eq!(call(&mut client, "git/fail", true), "no");
    let denied = call(&mut client, "git/deny", true);
    assert_eq!(denied, "refused by policy\nallow it: shelf approve 7");
    let strict = call(&mut client, "git/strict", true);
    assert_eq!(
        strict,
        "the arguments do not fit the schema\n  n: is missing\n\ninputSchema: {\"type\":\"object\",\"required\":[\"n\"]}"
    );
    let near = call(&mut client, "git/lgo", true);
    assert_eq!(
        near,
        "no entry `git/lgo`\nthe nearest are `git/log`; search_tools finds others"
    );
    let far = call(&mut client, "far/away", true);
    assert_eq!(far, "no entry `far/away`\nsearch_tools finds ids");
    let wrong = client.text("call_tool", json!({ "name": "git/log" }), true);
    assert!(
        wrong.contains("name") && wrong.contains("inputSchema: {"),
        "{wrong}"
    );
    // What was wrong with the arguments came with the schema, which is thereby handed out.
    assert_eq!(client.shelf.asked.lock().unwrap().loads, ["git/strict"]);
}

#[test]
fn a_skill_is_read() {
    let mut client = client();
    assert_eq!(call(&mut client, "skills/pages", false), SKILL);
    assert_eq!(client.shelf.asked.lock().unwrap().loads, ["skills/pages"]);
    let below = call(&mut client, "skills/pages/scripts/x.py", true);
    assert!(below.contains("skill `skills/pages`"), "{below}");
    let none = call(&mut client, "skills/pgaes", true);
    assert!(
        none.contains("no entry") && none.contains("search_tools"),
        "{none}"
    );
    let arguments = json!({ "id": "skills/pages", "arguments": { "page": 1 } });
    let refused = client.text("call_tool", arguments, true);
    assert!(refused.contains("takes no arguments"), "{refused}");
    assert!(client.shelf.asked.lock().unwrap().calls.is_empty());
}

#[test]
fn a_call_is_not_repeated() {
    let mut client = client();
    client.shelf.asked.lock().unwrap().ended = 1;
    let said = call(&mut client, "git/log", true);
    assert!(said.contains("nothing was repeated"), "{said}");
    assert_eq!(client.shelf.asked.lock().unwrap().calls.len(), 1);
    client.request(
        "tools/call",
        json!({ "name": "call_tool", "arguments": { "id": "git/log" } }),
    );
}

/// Begins a slow call, and waits until it runs.
fn begin_slow(client: &mut TestClient, id: &Value) {
    client.begin(id, "call_tool", json!({ "id": "git/slow" }));
    let progress = client.receive();
    assert_eq!(progress["method"], "notifications/progress");
    let expected =
        json!({ "progressToken": id, "progress": 1.0, "total": 3.0, "message": "begun" });
    assert_eq!(progress["params"], expected);
}

#[test]
fn calls_run_side_by_side_and_are_cancelled_one_by_one() {
    let mut client = client();
    for id in [json!(1), json!("1"), json!(2)] {
        begin_slow(&mut client, &id);
    }
    // Others are answered meanwhile, but for one with the id of another.
    assert_eq!(call(&mut client, "git/fail", true), "no");
    client.begin(&json!(2), "call_tool", json!({ "id": "git/fail" }));
    assert_eq!(client.receive()["error"]["code"], -32600);

    client.cancel(&json!(1));
    wait_for_interruptions(&client, 1);
    client.cancel(&json!(2));
    wait_for_interruptions(&client, 2);
    // Nothing is answered to what was cancelled: the next line is the ping's.
    assert_eq!(client.request("ping", json!({})), json!({}));
    client.cancel(&json!("1"));
    wait_for_interruptions(&client, 3);
    assert_eq!(client.close(), [""; 0]);
}

fn wait_for_interruptions(client: &TestClient, count: usize) {
    let start = std::time::Instant::now();
    while client.shelf.asked.lock().unwrap().interrupted < count {
        assert!(start.elapsed() < DEADLINE, "{count}");
        std::thread::yield_now();
    }
    assert_eq!(client.shelf.asked.lock().unwrap().interrupted, count);
}

#[test]
fn without_a_token_no_progress_is_told() {
    let mut client = client();
    let params = json!({ "name": "call_tool", "arguments": { "id": "git/slow" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    assert_eq!(call(&mut client, "git/fail", true), "no");
    client.cancel(&json!(1));
    wait_for_interruptions(&client, 1);
    assert_eq!(client.close(), [""; 0]);
}

#[test]
fn there_is_an_end_to_what_runs_at_the_same_time() {
    let mut client = client();
    for id in 0..64 {
        begin_slow(&mut client, &json!(id));
    }
    let busy = call(&mut client, "git/log", true);
    assert!(busy.contains("64 requests"), "{busy}");
    client.close();
}

#[test]
fn the_end_of_the_input_answers_what_is_quick_and_cancels_the_rest() {
    let mut client = client();
    begin_slow(&mut client, &json!(1));
    client.begin(&json!(2), "call_tool", json!({ "id": "git/fail" }));
    let shelf = client.shelf.clone();
    let rest = client.close();
    assert_eq!(rest.len(), 1, "{rest:?}");
    let answer: Value = serde_json::from_str(&rest[0]).unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(shelf.asked.lock().unwrap().interrupted, 1);
}
