use std::sync::Arc;

use super::fixtures::{built, example, listing, server, sources, tool};
use super::{EntryOptions, Known, Outline, Shown, differences};
use crate::entry_id::{EntryId, ServerName};
use crate::problem::{Problem, ProblemKind};
use crate::server::{Definitions, Phase, ServerState};

#[test]
fn entries_are_found_by_id_and_by_path() {
    let snapshot = built(example());
    for (wanted, id) in [
        ("time/now", "time/now"),
        ("mcp/time/now.md", "time/now"),
        ("./mcp/time/now.md", "time/now"),
        ("/mcp/time/now.md", "time/now"),
        (".schemas/time/now.json", "time/now"),
        ("bin/time.now", "time/now"),
        ("skills/pdf", "skills/pdf"),
        ("skills/pdf/", "skills/pdf"),
        ("skills/pdf/scripts/run.sh", "skills/pdf"),
        ("skills/acme:docx/SKILL.md", "skills/acme:docx"),
        ("mcp__time__now", "time/now"),
    ] {
        let found = snapshot.find(wanted).map(|(id, _)| id.to_string());
        assert_eq!(found, Ok(id.to_owned()), "{wanted}");
    }
}

#[test]
fn a_misspelt_name_is_refused_with_the_nearest() {
    let snapshot = built(example());
    for (wanted, hint) in [
        ("github/crate", "the nearest are `github/create`"),
        ("mcp/github/crate.md", "the nearest are `github/create`"),
        ("/bin/github.crate", "the nearest are `github/create`"),
        ("no", "the nearest are `time/now`"),
        ("Time/Now", "the nearest are `time/now`"),
        ("quite-another-thing", "`shelf list` prints every id"),
    ] {
        let problem = snapshot.find(wanted).expect_err("nothing is corrected");
        assert_eq!(problem.kind, ProblemKind::NotFound);
        assert_eq!(problem.hint.as_deref(), Some(hint), "{wanted}");
    }
    for wanted in [
        "mcp/time/INDEX.md",
        "mcp/time",
        "skills/pdf/absent",
        "mcp/time/now",
        "bin/now",
        "bin",
        "mcp__time__nou",
        "mcp__skills__pdf",
        "",
        "INDEX.md",
    ] {
        assert!(snapshot.find(wanted).is_err(), "{wanted}");
    }
}

#[test]
fn a_tool_of_a_server_that_failed_is_not_called_missing() {
    let mut sources = example();
    let failed = ServerState {
        phase: Phase::Failed("exited with 3".into()),
        stale: None,
    };
    let name = ServerName::new("broken");
    let broken = (server("broken", None), failed);
    sources.servers.insert(name, broken);
    let snapshot = built(sources.clone());
    let problem = snapshot.find("broken/x").expect_err("it is not known");
    assert_eq!(problem.kind, ProblemKind::Server);
    assert_eq!(
        problem.to_string(),
        "broken: the server failed: exited with 3"
    );
    let said: Vec<String> = snapshot.problems().map(ToString::to_string).collect();
    assert_eq!(said, ["broken: failed: exited with 3"]);

    // What the source says itself, with the place, is not said twice.
    let own = Problem::new(ProblemKind::Configuration, "exited with 3");
    sources.problems.insert("broken".into(), vec![own.clone()]);
    let snapshot = built(sources);
    assert_eq!(snapshot.problems().cloned().collect::<Vec<_>>(), [own]);
}

#[test]
fn the_journal_names_servers_once_and_entries_after() {
    let empty = built(sources(Vec::new(), Vec::new()));
    let full = built(example());
    let all = [
        "+ github/ 2 tools",
        "+ skills/acme:docx",
        "+ skills/pdf",
        "+ time/ 1 tool",
    ];
    assert_eq!(differences(None, &full), all);
    assert_eq!(differences(Some(&empty), &full), all);
    assert_eq!(
        differences(Some(&full), &empty),
        [
            "- github/create",
            "- github/list",
            "- skills/acme:docx",
            "- skills/pdf",
            "- time/now"
        ]
    );

    let mut more = example();
    let later = server("later", Some(vec![tool("x", "X.")]));
    more.servers
        .insert(later.name.clone(), (later, ServerState::default()));
    let time = server("time", Some(vec![tool("then", "Said the time.")]));
    more.servers
        .insert(time.name.clone(), (time, ServerState::default()));
    assert_eq!(
        differences(Some(&full), &built(more)),
        ["+ later/ 1 tool", "- time/now", "+ time/then"]
    );
}

#[test]
fn changed_instructions_are_a_change_of_their_server() {
    let before = built(example());
    let mut sources = example();
    for (server, _) in sources.servers.values_mut() {
        let mut changed = server.as_ref().clone();
        changed.definitions = changed.definitions.map(|known| {
            Arc::new(Definitions {
                instructions: Some("Now do this.".to_owned()),
                ..known.as_ref().clone()
            })
        });
        *server = Arc::new(changed);
    }
    assert_eq!(
        differences(Some(&before), &built(sources)),
        ["~ github/", "~ time/"]
    );
}

#[test]
fn what_is_known_survives_being_written_down() {
    let mut known = Known::default();
    known.advance(None, &built(example()));
    let json = serde_json::to_string(&known).expect("it is plain data");
    let mut read: Known = serde_json::from_str(&json).expect("it was just written");
    assert_eq!(read.advance(None, &built(example())), Vec::<String>::new());
    assert_eq!(read, known);
}

#[test]
fn a_server_that_is_not_known_again_yet_is_no_difference() {
    let mut known = Known::default();
    let full = built(example());
    known.advance(None, &full);
    let mut forgotten = example();
    let time = server("time", None);
    forgotten
        .servers
        .insert(time.name.clone(), (time, ServerState::default()));
    let forgotten = built(forgotten);
    assert_eq!(known.advance(Some(&full), &forgotten), Vec::<String>::new());
    assert_eq!(known.advance(Some(&forgotten), &full), Vec::<String>::new());
}

#[test]
fn a_server_that_is_switched_off_is_on_no_shelf() {
    let on = built(example());
    let switched_off = |also: &[&str]| {
        let mut sources = example();
        for name in also {
            let (_, state) = sources
                .servers
                .get_mut(&ServerName((*name).into()))
                .unwrap();
            state.phase = Phase::Disabled;
        }
        sources
    };
    let off = built(switched_off(&["time", "later"]));
    for (path, bytes) in listing(&off.tree) {
        let bytes = String::from_utf8_lossy(&bytes).into_owned();
        // What every shelf says of its own use is no server's.
        let is_rendered_alike = path == "README.md";
        assert!(!path.contains("time") && !path.contains("later"), "{path}");
        assert!(
            is_rendered_alike || !bytes.contains("time/"),
            "{path}: {bytes}"
        );
        assert!(!bytes.contains("later/"), "{path}: {bytes}");
    }
    let ids: Vec<_> = off.entries.keys().map(|id| id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "github/create",
            "github/list",
            "skills/acme:docx",
            "skills/pdf"
        ]
    );
    assert_eq!(Outline::new(off.sources.clone()).lines(), off.lines());

    // It goes and comes as one that is taken out of the configuration, also for a daemon that starts meanwhile.
    assert_eq!(differences(Some(&on), &off), ["- time/now"]);
    assert_eq!(differences(Some(&off), &on), ["+ time/ 1 tool"]);
    let mut known = Known::default();
    known.advance(None, &on);
    assert_eq!(known.advance(None, &off), ["- time/now"]);
    assert_eq!(known.advance(None, &off), Vec::<String>::new());
    assert_eq!(known.advance(None, &on), ["+ time/ 1 tool"]);

    // What the user says of its tools is no fault, and others' names do not depend on it.
    let mut said = switched_off(&["time"]);
    said.entries = Arc::new([(EntryId("time/now".into()), EntryOptions::default())].into());
    assert_eq!(built(said).problems().count(), 0);
    let taken = server("skills", None);
    let name = taken.name.clone();
    let mut sources = sources(vec![taken], Vec::new());
    let shown_as = built(sources.clone()).server_file_name(&name);
    sources.servers.get_mut(&name).unwrap().1.phase = Phase::Disabled;
    assert_eq!(built(sources).server_file_name(&name), shown_as);
}

#[test]
fn summaries_are_in_order_of_id() {
    let snapshot = built(example());
    let ids: Vec<&str> = snapshot.summaries().map(|(id, _)| id.as_str()).collect();
    let entries: Vec<&str> = snapshot.entries.keys().map(|id| id.as_str()).collect();
    assert_eq!(ids, entries);
}
