use std::sync::Arc;

use super::{Hides, Hiding};
use crate::catalog::fixtures::{
    Clock, build, built, example, listing, server, sources, subtree, tool,
};
use crate::catalog::{EntryOptions, differences};
use crate::entry_id::{EntryId, ServerName};
use crate::offers;
use crate::tool::Tool;

/// Hides what has one of these ids.
#[derive(Debug)]
struct Ids(&'static [&'static str]);

impl Hides for Ids {
    fn hides_tool(&self, _: &ServerName, id: &EntryId, _: &Tool) -> bool {
        self.0.contains(&id.as_str())
    }

    fn hides_offers(&self, _: &ServerName, id: &EntryId, _: offers::Kind) -> bool {
        self.0.contains(&id.as_str())
    }

    fn hides_skill(&self, id: &EntryId) -> bool {
        self.0.contains(&id.as_str())
    }

    fn rules(&self) -> String {
        format!("{:?}", self.0)
    }
}

fn hiding(ids: &'static [&'static str]) -> Hiding {
    Hiding::by(Arc::new(Ids(ids)))
}

#[test]
fn what_is_hidden_is_nowhere() {
    let mut sources = example();
    sources.hiding = hiding(&["github/create", "skills/pdf"]);
    let snapshot = built(sources);
    for (path, bytes) in listing(&snapshot.tree) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!path.contains("create") && !path.contains("pdf"), "{path}");
        assert!(
            !text.contains("github/create") && !text.contains("skills/pdf"),
            "{path}: {text}"
        );
    }
    let ids: Vec<_> = snapshot.entries.keys().map(ToString::to_string).collect();
    assert_eq!(ids, ["github/list", "skills/acme:docx", "time/now"]);
    let summaries: Vec<_> = snapshot.summaries().map(|(id, _)| id.to_string()).collect();
    assert_eq!(summaries, ids);
    assert!(snapshot.find("github/create").is_err());
    let tools = |name: &str| snapshot.tools_of(&ServerName::new(name));
    assert_eq!(
        (tools("github"), tools("time"), tools("later")),
        (Some(1), Some(1), None)
    );
    assert!(differences(None, &snapshot).contains(&"+ github/ 1 tool".to_owned()));
}

#[test]
fn what_is_hidden_later_goes_and_comes_back_and_the_rest_is_shared() {
    let clock = &mut Clock::default();
    let shown = build(None, example(), clock);
    let mut sources = example();
    sources.servers = shown.sources.servers.clone();
    sources.skills = shown.sources.skills.clone();
    sources.hiding = hiding(&["github/create"]);
    let hidden = build(Some(&shown), sources.clone(), clock);
    assert_eq!(differences(Some(&shown), &hidden), ["- github/create"]);
    assert!(!Arc::ptr_eq(
        &subtree(&shown, "mcp/github"),
        &subtree(&hidden, "mcp/github")
    ));
    assert!(Arc::ptr_eq(
        &subtree(&shown, "mcp/time"),
        &subtree(&hidden, "mcp/time")
    ));
    // By the very same rules nothing is placed anew.
    let again = build(Some(&hidden), sources.clone(), clock);
    assert!(Arc::ptr_eq(&hidden.tree, &again.tree));
    sources.hiding = Hiding::default();
    let back = build(Some(&again), sources, clock);
    assert_eq!(listing(&back.tree), listing(&shown.tree));
}

#[test]
fn the_name_of_an_entry_does_not_depend_on_what_is_hidden() {
    let twins = || vec![tool("INDEX", "One."), tool("other", "Two.")];
    let shown = built(sources(vec![server("a", Some(twins()))], vec![]));
    let ids: Vec<_> = shown.entries.keys().cloned().collect();
    let mut hidden = sources(vec![server("a", Some(twins()))], vec![]);
    hidden.hiding = hiding(&["a/other"]);
    let hidden = built(hidden);
    assert!(ids.iter().any(|id| hidden.entries.contains_key(id)));
    assert_eq!(hidden.entries.len() + 1, ids.len());
}

#[test]
fn the_users_words_about_what_is_hidden_are_no_fault() {
    let mut sources = example();
    let words = ["github/create", "skills/pdf", "github/no"];
    let words = words.map(|id| (EntryId(id.into()), EntryOptions::default()));
    sources.entries = Arc::new(words.into());
    sources.hiding = hiding(&["github/create", "skills/pdf"]);
    let snapshot = built(sources);
    let said: Vec<_> = snapshot.problems().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["`[entries]` names `github/no`, and there is no such entry"]
    );
}
