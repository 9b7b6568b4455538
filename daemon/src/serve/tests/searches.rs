use serde_json::json;

use super::TestClient;
use super::fake::{FakeShelf, tool};

const SKILL: &str = "---\nname: git-pages\n---\n# Pages\n";

#[test]
fn matches_carry_their_schemas() {
    let shelf = FakeShelf::new(&[
        (
            "git/log",
            r#"{"name":"log", "description":"Shows it.\nAll.", "inputSchema": {"type": "object", "x": 1e3}}"#,
        ),
        ("skills/git-pages", SKILL),
    ]);
    let mut client = TestClient::initialized(shelf);
    let found = client.search(json!({ "query": "git" }));
    assert_eq!(
        found,
        "## git/log\nShows it.\nAll.\ninputSchema: {\"type\":\"object\",\"x\":1e3}\n\n\
         ## skills/git-pages\nSummary of skills/git-pages\nA skill: call_tool with this id gives its text.\n"
    );
    let asked = client.shelf.asked.lock().unwrap();
    // The skill's text was not handed out.
    assert_eq!(asked.loads, ["git/log"]);
    assert_eq!((asked.searches.len(), asked.searches[0].limit), (1, 8));
}

#[test]
fn what_does_not_fit_is_a_line_and_is_not_handed_out() {
    // By bytes / 3: the first leaves too little for the second, but enough for the third.
    let shelf = FakeShelf::new(&[
        ("git/a", &tool(9_000)),
        ("git/b", &tool(6_000)),
        ("git/c", &tool(300)),
        ("git/d", &tool(300)),
    ]);
    let mut client = TestClient::initialized(shelf);
    let found = client.search(json!({ "query": "git", "limit": 3 }));
    assert!(found.len() <= 12_500, "{}", found.len());
    assert_eq!(found.matches("inputSchema: ").count(), 2, "{found}");
    let rest = found.split_once("Also found").unwrap().1;
    assert!(
        rest.contains("exact id") && rest.contains("- git/b — Summary of git/b\n"),
        "{rest}"
    );
    assert!(rest.contains("All matches by server: git 4."), "{rest}");
    assert_eq!(client.shelf.asked.lock().unwrap().loads, ["git/a", "git/c"]);
}

#[test]
fn an_exact_id_comes_first_and_whole() {
    let shelf = FakeShelf::new(&[
        ("git/log-all", &tool(10)),
        ("git/log", &tool(20_000)),
        ("skills/git-pages", SKILL),
    ]);
    let mut client = TestClient::initialized(shelf);
    let found = client.search(json!({ "query": " git/log " }));
    assert!(found.starts_with("## git/log\n") && found.len() > 20_000);
    assert_eq!(found.matches("inputSchema: ").count(), 1);
    assert!(
        found.contains("- git/log-all — Summary"),
        "{}",
        &found[20_000..]
    );
    let skill = client.search(json!({ "query": "skills/git-pages" }));
    assert!(
        skill.starts_with("## skills/git-pages\n---\nname: git-pages"),
        "{skill}"
    );
    // A path of it is not its id.
    let below = client.search(json!({ "query": "skills/git-pages/x" }));
    assert!(below.starts_with("Nothing matched"), "{below}");
    assert_eq!(
        client.shelf.asked.lock().unwrap().loads,
        ["git/log", "skills/git-pages"]
    );
}

#[test]
fn no_match_is_told_as_such() {
    let mut shelf = FakeShelf::new(&[("git/log", &tool(10))]);
    shelf.unknown = vec!["slow".to_owned()];
    let mut client = TestClient::initialized(shelf);
    let found = client.search(json!({ "query": "zebra" }));
    assert!(found.starts_with("Nothing matched `zebra`."), "{found}");
    assert!(found.contains("- git — Keeps versions"), "{found}");
    assert!(found.contains("not known yet: slow."), "{found}");
    let waits: Vec<_> = client
        .shelf
        .asked
        .lock()
        .unwrap()
        .searches
        .iter()
        .map(|s| s.wait_ms)
        .collect();
    // Only when nothing was found is anybody waited for.
    assert_eq!(waits, [0, 10_000]);
    let found = client.search(json!({ "query": "log" }));
    assert!(
        found.starts_with("## git/log") && found.contains("not known yet: slow."),
        "{found}"
    );
    assert_eq!(client.shelf.asked.lock().unwrap().searches.len(), 3);

    let wrong = client.text(
        "search_tools",
        json!({ "query": "zebra", "server": "gti" }),
        true,
    );
    assert!(
        wrong.contains("no server `gti`") && wrong.contains("the servers are git"),
        "{wrong}"
    );
}

#[test]
fn without_words_it_lists() {
    let many: Vec<_> = (0..2_000).map(|n| format!("git/tool-{n:04}")).collect();
    let tool = tool(10);
    let mut entries: Vec<_> = many.iter().map(|id| (&**id, &*tool)).collect();
    entries.push(("skills/git-pages", SKILL));
    let mut client = TestClient::initialized(FakeShelf::new(&entries));
    let names = client.search(json!({ "query": "" }));
    assert_eq!(
        names,
        "- git: 2001 tools. Keeps versions\n- skills: 1 skill\n"
    );
    let skills = client.search(json!({ "query": " ", "kind": "skill" }));
    assert_eq!(skills, "- skills/git-pages — Summary of skills/git-pages\n");
    let tools = client.search(json!({ "query": "", "server": "git" }));
    assert!(tools.len() <= 12_100, "{}", tools.len());
    let listed = tools
        .lines()
        .filter(|line| line.starts_with("- git/"))
        .count();
    let rest = 2_000 - listed;
    assert!(
        rest > 0 && tools.contains(&format!("and {rest} more")),
        "{listed}"
    );
    let two = client.search(json!({ "query": "", "server": "git", "limit": 2 }));
    assert!(
        two.ends_with("and 1998 more: find them by words\n"),
        "{two}"
    );
    assert_eq!(two.lines().count(), 3, "{two}");
    let asked = client.shelf.asked.lock().unwrap();
    assert!(asked.loads.is_empty() && asked.searches.is_empty());
}

#[test]
fn a_daemon_that_ended_is_asked_again() {
    let mut client = TestClient::initialized(FakeShelf::new(&[("git/log", &tool(10))]));
    client.shelf.asked.lock().unwrap().ended = 1;
    assert!(
        client
            .search(json!({ "query": "log" }))
            .starts_with("## git/log")
    );
    client.shelf.asked.lock().unwrap().ended = 2;
    let said = client.text("search_tools", json!({ "query": "log" }), true);
    assert!(said.contains("the daemon ended"), "{said}");
}
