use std::sync::Arc;
use std::time::SystemTime;

use serde_json::value::RawValue;

use crate::catalog::fixtures::{
    Clock, build, built, bytes, directory, example, file, listing, server, skill, sources, subtree,
    text, tool,
};
use crate::catalog::{Snapshot, differences};
use crate::entry_id::ServerName;
use crate::names::with_suffix;
use crate::problem::ProblemKind;
use crate::server::{Phase, Server, ServerState};
use crate::tool::Tool;

mod own_words;

#[test]
fn everything_stands_where_the_design_says() {
    let snapshot = built(example());
    let paths: Vec<String> = listing(&snapshot.tree)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        paths,
        [
            ".schemas/",
            ".schemas/github/",
            ".schemas/github/create.json",
            ".schemas/github/list.json",
            ".schemas/time/",
            ".schemas/time/now.json",
            "ALL.md",
            "CHANGES.md",
            "INDEX.md",
            "README.md",
            "bin/",
            "bin/github.create",
            "bin/github.list",
            "bin/time.now",
            "mcp/",
            "mcp/github/",
            "mcp/github/INDEX.md",
            "mcp/github/SERVER.md",
            "mcp/github/STATUS",
            "mcp/github/create.md",
            "mcp/github/list.md",
            "mcp/later/",
            "mcp/later/INDEX.md",
            "mcp/later/SERVER.md",
            "mcp/later/STATUS",
            "mcp/time/",
            "mcp/time/INDEX.md",
            "mcp/time/SERVER.md",
            "mcp/time/STATUS",
            "mcp/time/now.md",
            "skills/",
            "skills/INDEX.md",
            "skills/acme:docx/",
            "skills/acme:docx/SKILL.md",
            "skills/acme:docx/scripts/",
            "skills/acme:docx/scripts/run.sh",
            "skills/pdf/",
            "skills/pdf/SKILL.md",
            "skills/pdf/scripts/",
            "skills/pdf/scripts/run.sh",
        ]
    );
    for (path, volatile) in [
        ("mcp/time/STATUS", true),
        ("CHANGES.md", true),
        ("ALL.md", false),
    ] {
        assert_eq!(file(&snapshot, path).volatile, volatile, "{path}");
    }
}

#[test]
fn files_of_entries_name_their_entry() {
    let snapshot = built(example());
    for (path, id) in [
        ("mcp/time/now.md", Some("time/now")),
        (".schemas/time/now.json", Some("time/now")),
        ("bin/time.now", Some("time/now")),
        ("skills/pdf/SKILL.md", Some("skills/pdf")),
        ("skills/acme:docx/scripts/run.sh", Some("skills/acme:docx")),
        ("mcp/time/INDEX.md", None),
    ] {
        let file = file(&snapshot, path);
        assert_eq!(file.entry.as_ref().map(|id| id.as_str()), id, "{path}");
    }
}

#[test]
fn no_index_depends_on_a_state() {
    let before = built(example());
    let mut changed = example();
    for (n, (_, state)) in changed.servers.values_mut().enumerate() {
        state.phase = [
            Phase::Failed("why".to_owned()),
            Phase::Ready,
            Phase::Starting,
        ][n]
            .clone();
        state.stale = Some(SystemTime::now());
    }
    let after = built(changed);
    for ((path, old), (_, new)) in listing(&before.tree).into_iter().zip(listing(&after.tree)) {
        assert_eq!(old == new, !path.ends_with("STATUS"), "{path}");
    }
    assert_eq!(differences(Some(&before), &after), Vec::<String>::new());
}

#[test]
fn bytes_do_not_depend_on_the_order_of_arrival() {
    let at_once = built(example());
    let mut clock = Clock::default();
    let mut last: Option<Snapshot> = None;
    let mut arrived = sources(Vec::new(), Vec::new());
    let all = example();
    for (name, (server, state)) in all.servers.iter().rev() {
        let unknown = Arc::new(Server {
            definitions: None,
            ..server.as_ref().clone()
        });
        for server in [unknown, server.clone()] {
            arrived
                .servers
                .insert(name.clone(), (server, state.clone()));
            last = Some(build(last.as_ref(), arrived.clone(), &mut clock));
        }
    }
    for skill in all.skills.iter().rev() {
        arrived.skills.push(skill.clone());
        last = Some(build(last.as_ref(), arrived.clone(), &mut clock));
    }
    let last = last.expect("something arrived");
    assert_eq!(listing(&last.tree), listing(&at_once.tree));
}

#[test]
fn nothing_new_is_the_very_same_tree() {
    let clock = &mut Clock::default();
    let first = build(None, example(), clock);
    let second = build(Some(&first), first.sources.clone(), clock);
    assert!(Arc::ptr_eq(&first.tree, &second.tree));
    assert_eq!(second.generation, first.generation + 1);
}

#[test]
fn a_changed_state_renews_only_its_own_server() {
    let clock = &mut Clock::default();
    let first = build(None, example(), clock);
    let mut changed = first.sources.clone();
    for (server, state) in changed.servers.values_mut() {
        if server.name.as_str() == "time" {
            state.phase = Phase::Ready;
        }
    }
    let second = build(Some(&first), changed, clock);
    let shared = |path: &str| Arc::ptr_eq(&subtree(&first, path), &subtree(&second, path));
    assert!(shared("mcp/github"));
    assert!(shared("skills"));
    assert!(shared(".schemas"));
    assert!(shared("bin"));
    assert!(!shared("mcp/time"));
    let shared = |path: &str| Arc::ptr_eq(&file(&first, path), &file(&second, path));
    assert!(shared("mcp/time/now.md"));
    assert!(shared("INDEX.md"));
    assert!(!shared("mcp/time/STATUS"));
    assert_eq!(text(&second, "mcp/time/STATUS"), "ready\n");
    assert_eq!(
        subtree(&first, "mcp/time").modified,
        subtree(&second, "mcp/time").modified,
        "the same names are in it"
    );
}

#[test]
fn a_changed_tool_renews_only_itself() {
    let clock = &mut Clock::default();
    let first = build(None, example(), clock);
    let mut changed = first.sources.clone();
    // A refresh parses everything anew; what is equal must be known again.
    let github = server(
        "github",
        Some(vec![tool("create", "Makes."), tool("list", "Lists.")]),
    );
    changed
        .servers
        .insert(github.name.clone(), (github, ServerState::default()));
    let second = build(Some(&first), changed, clock);
    let shared = |path: &str| Arc::ptr_eq(&file(&first, path), &file(&second, path));
    assert!(shared("mcp/github/list.md"));
    assert!(shared(".schemas/github/list.json"));
    assert!(shared("mcp/github/SERVER.md"));
    assert!(!shared("mcp/github/create.md"));
    assert!(
        file(&first, "mcp/github/create.md").modified
            < file(&second, "mcp/github/create.md").modified
    );
    assert!(Arc::ptr_eq(
        &subtree(&first, "mcp/time"),
        &subtree(&second, "mcp/time")
    ));
    assert_eq!(differences(Some(&first), &second), ["~ github/create"]);
}

#[test]
fn a_tool_that_only_came_in_another_order_stays_as_it_was_shown() {
    let parse = |json: &str| {
        let raw = RawValue::from_string(json.to_owned()).expect("it is JSON");
        Arc::new(Tool::parse(&ServerName::new("x"), 0, Arc::from(raw)).expect("it is a tool"))
    };
    let first = parse(r#"{"name":"a","inputSchema":{"type":"object","title":"A"}}"#);
    let second = parse(r#"{"inputSchema":{"title":"A","type":"object"},"name":"a"}"#);
    let clock = &mut Clock::default();
    let before = build(
        None,
        sources(vec![server("x", Some(vec![first]))], Vec::new()),
        clock,
    );
    let after = sources(vec![server("x", Some(vec![second]))], Vec::new());
    let after = build(Some(&before), after, clock);
    assert!(Arc::ptr_eq(&before.tree, &after.tree));
}

#[test]
fn a_changed_skill_renews_only_what_changed_in_it() {
    let clock = &mut Clock::default();
    let first = build(None, example(), clock);
    let mut changed = first.sources.clone();
    let mut pdf = changed.skills[0].as_ref().clone();
    pdf.text = b"other"[..].into();
    let scripts = pdf.tree.get(b"scripts").expect("it has scripts").clone();
    pdf.tree = directory(vec![("SKILL.md", bytes("other")), ("scripts", scripts)]);
    changed.skills[0] = Arc::new(pdf);
    let second = build(Some(&first), changed, clock);
    let shared = |path: &str| Arc::ptr_eq(&subtree(&first, path), &subtree(&second, path));
    assert!(shared("skills/acme:docx"));
    assert!(shared("skills/pdf/scripts"));
    assert!(!shared("skills/pdf"));
    assert!(shared("mcp"));
    assert_eq!(differences(Some(&first), &second), ["~ skills/pdf"]);
}

#[test]
fn a_shadowed_skill_gets_the_suffix_and_is_reported() {
    let snapshot = built(sources(
        Vec::new(),
        vec![
            skill("pdf", 1, None),
            skill("pdf", 0, None),
            skill("INDEX.md", 0, None),
        ],
    ));
    let shadowed = format!("skills/{}", with_suffix("pdf", "/root1/pdf"));
    let index = format!("skills/{}", with_suffix("INDEX.md", "/root0/INDEX.md"));
    let ids: Vec<&str> = snapshot.entries.keys().map(|id| id.as_str()).collect();
    assert_eq!(ids, [index.as_str(), "skills/pdf", shadowed.as_str()]);
    let problems: Vec<String> = snapshot.problems().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2);
    let about_pdf = problems
        .iter()
        .find(|p| p.contains("`pdf`"))
        .expect("pdf is reported");
    assert!(
        about_pdf.starts_with("/root1/pdf/SKILL.md: "),
        "{about_pdf}"
    );
    assert!(
        about_pdf.contains("/root0/pdf") && about_pdf.contains(&shadowed),
        "{about_pdf}"
    );
}

#[test]
fn names_of_the_layout_are_not_given_away() {
    let tools = ["INDEX", "SERVER", "STATUS", "index", "Index"].map(|name| tool(name, "x"));
    let snapshot = built(sources(
        vec![
            server("skills", Some(tools.to_vec())),
            server("bin", Some(vec![tool("time.now", "x")])),
            server("a/b", Some(vec![])),
        ],
        Vec::new(),
    ));
    let skills = with_suffix("skills", "mcp");
    assert_eq!(
        snapshot.server_file_name(&ServerName::new("skills")),
        Some(skills.clone())
    );
    assert_eq!(
        snapshot
            .server_file_name(&ServerName::new("a/b"))
            .as_deref(),
        Some("a%2Fb")
    );
    for name in ["INDEX", "SERVER", "STATUS"] {
        let id = format!("{skills}/{}", with_suffix(name, "skills"));
        assert!(snapshot.find(&id).is_ok(), "{id}");
    }
    // On Linux they differ.
    assert!(snapshot.find(&format!("{skills}/index")).is_ok());
    assert!(snapshot.find(&format!("{skills}/Index")).is_ok());
    let kinds: Vec<ProblemKind> = snapshot.problems().map(|problem| problem.kind).collect();
    assert_eq!(kinds, [ProblemKind::Collision; 5]);
}

#[test]
fn a_schema_that_cannot_be_checked_is_reported_as_long_as_its_tool_is_there() {
    let schema = r#"{"name": "odd/one", "inputSchema": {"properties": {"it": {"type": "bogus"}}}}"#;
    let raw = RawValue::from_string(schema.to_owned()).unwrap();
    let odd = Arc::new(Tool::parse(&ServerName::new("s"), 0, Arc::from(raw)).unwrap());
    let with = |tools| sources(vec![server("s", Some(tools))], Vec::new());
    let reported = |snapshot: &Snapshot| -> Vec<String> {
        snapshot.problems().map(ToString::to_string).collect()
    };
    let mut clock = Clock::default();
    let first = build(None, with(vec![odd.clone(), tool("echo", "x")]), &mut clock);
    let problems = reported(&first);
    assert!(
        problems.len() == 1
            && problems[0].starts_with("s/odd/one: ")
            && problems[0].contains("/properties/it/type"),
        "{problems:?}"
    );
    assert!(first.find("s/odd%2Fone").is_ok());
    // Another tool changes, this one is taken over as it is.
    let second = build(Some(&first), with(vec![odd, tool("echo", "y")]), &mut clock);
    assert_eq!(reported(&second), problems);
    let third = build(Some(&second), with(vec![tool("echo", "y")]), &mut clock);
    assert_eq!(reported(&third), [""; 0]);
}

#[test]
fn the_journal_is_shown_as_it_is() {
    let mut sources = example();
    sources.journal = Arc::new(["2026-11-30T06:00:00Z + time/ 1 tool".to_owned()]);
    assert_eq!(
        text(&built(sources), "CHANGES.md"),
        "2026-11-30T06:00:00Z + time/ 1 tool\n"
    );
}
