//! Resources and prompts: their lists beside the tools, and what is asked for.

use std::time::Duration;

use serde_json::{Map, Value, json};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::server::Phase;
use tokio::time::timeout;

use super::fake_http::FakeHttp;
use super::shelf::{SOON, Shelf, eventually, nothing, options, python};
use crate::servers::{Asked, CallResult};

fn resources(count: usize) -> Vec<Value> {
    let all = (0..count).map(|n| json!({"uri": format!("x:{n}"), "name": "n", "size": n}));
    all.collect()
}

fn write(shelf: &Shelf, offers: &Value) {
    std::fs::write(shelf.path("offers.json"), offers.to_string()).unwrap();
}

/// A shelf with a fake server that offers this.
async fn shelf(offers: &Value, more: &[&str]) -> Shelf {
    let mut shelf = Shelf::empty();
    write(&shelf, offers);
    let file = shelf.path("offers.json").display().to_string();
    shelf.add("fake", &[&["--offers", &file], more].concat());
    shelf.configure().await;
    shelf
}

/// How many resources, templates and prompts are known; `None` for a list that is not.
fn known(shelf: &Shelf) -> [Option<usize>; 3] {
    let offers = &shelf.definitions().offers;
    [
        offers.resources.as_ref().map(Vec::len),
        offers.templates.as_ref().map(Vec::len),
        offers.prompts.as_ref().map(Vec::len),
    ]
}

fn messages(shelf: &Shelf) -> Vec<String> {
    let problems = shelf.problems["fake"].iter();
    problems.map(ToString::to_string).collect()
}

async fn read(shelf: &Shelf, uri: &str) -> Result<CallResult, Problem> {
    let asked = Asked::Resource {
        uri: uri.to_owned(),
    };
    shelf
        .servers
        .ask(&ServerName::new("fake"), asked, options())
        .await
}

#[tokio::test]
async fn lists_are_read_page_by_page_in_both_eras() {
    if !python() {
        return;
    }
    let offers = json!({"resources": resources(9), "templates": [{"uriTemplate": "x:{n}"}], "prompts": [{"name": "p"}]});
    for era in ["--legacy", "--modern"] {
        let mut shelf = shelf(&offers, &["--page", "4", era]).await;
        shelf.refresh().await;
        assert_eq!(known(&shelf), [Some(9), Some(1), Some(1)], "{era}");
        assert_eq!(messages(&shelf), [""; 0]);
        let raw = shelf.definitions().offers.resources.as_ref().unwrap()[8].clone();
        let raw = skills::offers::Offered::raw(&*raw);
        assert_eq!(raw.get(), r#"{"uri":"x:8","name":"n","size":8}"#);
    }
}

#[tokio::test]
async fn a_server_without_resources_and_prompts_is_not_asked_and_has_none() {
    if !python() {
        return;
    }
    let mut shelf = Shelf::with(&["--refuse", "resources/list"]).await;
    shelf.refresh().await;
    assert_eq!(known(&shelf), [Some(0), Some(0), Some(0)]);
    assert_eq!(messages(&shelf), [""; 0]);
}

#[tokio::test]
async fn what_is_wrong_with_these_lists_hides_nothing_else() {
    if !python() {
        return;
    }
    let good = json!({"uri": "x:good"});
    let mixed = json!({
        "resources": [{"name": "no uri"}, good, 7, {"uri": "x:\u{202e}"}, good],
        "prompts": [{"name": "p", "arguments": [{"name": "a=b"}]}, {"name": "good"}],
    });
    let mut malformed = shelf(&mixed, &[]).await;
    malformed.refresh().await;
    assert_eq!(known(&malformed), [Some(1), Some(0), Some(1)]);
    assert_eq!(malformed.names().len(), 18);
    let problems = &malformed.problems["fake"];
    assert!(
        problems
            .iter()
            .all(|problem| problem.kind == ProblemKind::MalformedOffer)
    );
    assert_eq!(problems.len(), 5, "{problems:?}");

    let both = json!({"resources": resources(1), "prompts": [{"name": "p"}]});
    let mut refused = shelf(&both, &["--refuse", "resources/list"]).await;
    refused.refresh().await;
    assert_eq!(known(&refused), [None, Some(0), Some(1)]);
    assert_eq!((refused.names().len(), refused.starts("fake")), (18, 1));
    let said = messages(&refused).join("\n");
    assert!(
        said.contains("fake: refused to list its resources: not today"),
        "{said}"
    );

    let mut repeats = shelf(&both, &["--repeat-cursor"]).await;
    repeats.refresh().await;
    assert_eq!(known(&repeats), [Some(1), Some(0), Some(1)]);
    let said = messages(&repeats).join("\n");
    assert!(
        said.contains("its list of prompts repeats a cursor"),
        "{said}"
    );

    let mut late = Shelf::empty();
    write(&late, &both);
    let file = late.path("offers.json").display().to_string();
    let server = late.add(
        "fake",
        &["--offers", &file, "--never-reply", "prompts/list"],
    );
    server.start_timeout = Duration::from_secs(3);
    late.configure().await;
    late.refresh().await;
    assert_eq!(known(&late), [Some(1), Some(0), None]);
    let said = messages(&late).join("\n");
    assert!(said.contains("did not list its prompts in time"), "{said}");
    assert_eq!(late.names().len(), 18);
}

#[tokio::test]
async fn a_list_that_fails_later_is_shown_as_it_was() {
    if !python() {
        return;
    }
    let mut shelf = shelf(&json!({"resources": resources(2)}), &[]).await;
    shelf.refresh().await;
    assert_eq!(known(&shelf)[0], Some(2));
    write(&shelf, &json!({"resources": 7}));
    shelf.call("change_offers", nothing()).await.unwrap();
    shelf
        .until(|shelf| !shelf.problems["fake"].is_empty())
        .await;
    assert_eq!(known(&shelf)[0], Some(2));
}

#[tokio::test]
async fn a_change_that_is_announced_is_listed_once() {
    if !python() {
        return;
    }
    for era in ["--legacy", "--modern"] {
        let mut shelf = shelf(&json!({"resources": resources(1)}), &[era]).await;
        shelf.text("echo", json!({"text": "x"})).await;
        let listeners = if era == "--modern" { "1" } else { "0" };
        eventually(async || shelf.text("listeners", nothing()).await == listeners).await;
        shelf.until_phase(Phase::Ready).await;
        shelf.journal.clear();
        write(
            &shelf,
            &json!({"resources": resources(2), "prompts": [{"name": "p"}]}),
        );
        shelf.call("change_offers", nothing()).await.unwrap();
        shelf
            .until(|shelf| known(shelf) == [Some(2), Some(0), Some(1)])
            .await;
        assert_eq!(shelf.journal, ["fake definitions"], "{era}");
        assert_eq!(shelf.starts("fake"), 1);
        // A cache that is warm has all of it, and starts nothing.
        let mut warm = shelf.restarted().await;
        warm.refresh().await;
        assert_eq!(known(&warm), [Some(2), Some(0), Some(1)]);
        assert_eq!(warm.starts("fake"), 1);
    }
}

#[tokio::test]
async fn a_resource_is_read_and_one_that_is_not_there_is_not_found() {
    if !python() {
        return;
    }
    for era in ["--legacy", "--modern"] {
        let shelf = shelf(&json!({}), &[era]).await;
        let odd = "X:a/../%7Eb?c=ä";
        let answer = read(&shelf, odd).await.unwrap();
        let expected = format!(
            r#"{{"contents":[{{"uri":{},"text":{0},"x-odd":1e3}}]}}"#,
            r#""X:a/../%7Eb?c=\u00e4""#
        );
        assert_eq!(answer.raw.get(), expected);
        for (uri, kind) in [
            ("x:gone", ProblemKind::NotFound),
            ("x:invalid", ProblemKind::NotFound),
            ("x:broken", ProblemKind::ToolError),
        ] {
            let problem = read(&shelf, uri).await.unwrap_err();
            assert_eq!(problem.kind, kind, "{problem}");
            assert!(
                problem.to_string().starts_with("fake/RESOURCES: "),
                "{problem}"
            );
            assert!(problem.message.contains("no such thing"), "{problem}");
        }
    }
}

#[tokio::test]
async fn over_http_it_is_the_same() {
    if !python() {
        return;
    }
    for era in ["--legacy", "--modern"] {
        let fake = FakeHttp::start(&["--offers", era]).await;
        let mut shelf = fake.shelf().await;
        shelf.refresh().await;
        assert_eq!(known(&shelf), [Some(1), Some(0), Some(1)], "{era}");
        let reading = timeout(SOON, read(&shelf, "x:1"));
        let answer = reading.await.unwrap().unwrap();
        assert!(answer.raw.get().contains(r#""text": "x:1""#), "{answer:?}");
        let asked = Asked::Prompt {
            name: "p".to_owned(),
            arguments: Map::from_iter([("a".to_owned(), "b".into())]),
        };
        let server = ServerName::new("fake");
        let answer = shelf.servers.ask(&server, asked, options());
        let answer = answer.await.unwrap();
        assert!(
            answer.raw.get().contains("p: {\\\"a\\\": \\\"b\\\"}"),
            "{answer:?}"
        );
        let problem = read(&shelf, "x:gone").await.unwrap_err();
        assert_eq!(problem.kind, ProblemKind::NotFound, "{problem}");
    }
}
