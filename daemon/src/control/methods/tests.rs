use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::value::RawValue;
use skills::catalog::{EntryOptions, FirstSeen, IndexOptions, Snapshot, Sources};
use skills::entry_id::{EntryId, ServerName};
use skills::frontmatter::Frontmatter;
use skills::problem::{Problem, ProblemKind};
use skills::server::{Definitions, Phase, Server, ServerState};
use skills::skill::Skill;
use skills::tool::Tool;
use skills::tree::Directory;

use super::{describe, lines, list, resident_memory, status, unknown_server};
use crate::protocol::{
    About, EntryKind, ListFilter, Listing, OutputKind, Policy, ServerPhase, ServerStatus,
};

const ECHO: &str = r#"{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"x":1e3}"#;
const LONG: &str =
    r#"{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}"#;

struct Always;

impl FirstSeen for Always {
    fn first_seen(&mut self, _: &str, _: &[u8; 32]) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

pub(in crate::control) fn server(name: &str, tools: Option<&[&str]>) -> Arc<Server> {
    let name = ServerName::new(name);
    let parse = |json: &&str| {
        let raw = RawValue::from_string((*json).to_owned()).unwrap();
        Arc::new(Tool::parse(&name, 0, Arc::from(raw)).unwrap())
    };
    Arc::new(Server {
        definitions: tools.map(|tools| {
            Arc::new(Definitions {
                tools: tools.iter().map(parse).collect(),
                ..Definitions::default()
            })
        }),
        name: name.clone(),
        directory: Some(PathBuf::from("/")),
        roots: Vec::new(),
    })
}

fn skill(name: &str, text: &[u8]) -> Arc<Skill> {
    let directory = PathBuf::from("/skills").join(name);
    Arc::new(Skill {
        name: name.into(),
        source: None,
        precedence: 0,
        found: directory.clone(),
        file: directory.join("SKILL.md"),
        directory,
        frontmatter: Frontmatter::default(),
        description: "Reads PDF files.".into(),
        headings: Vec::new(),
        text: text.into(),
        tree: Arc::new(Directory::new(Vec::new(), SystemTime::UNIX_EPOCH)),
    })
}

/// A server with two tools, one that failed before anything was known, one that is switched off, and a skill.
pub(in crate::control) fn snapshot() -> Snapshot {
    let state = |phase| ServerState { phase, stale: None };
    let failed = Phase::Failed("exited with 1".into());
    let servers = [
        (server("a b/c", Some(&[ECHO, LONG])), state(Phase::Ready)),
        (server("broken", None), state(failed)),
        (server("off", None), state(Phase::Disabled)),
    ];
    let problem = Problem::new(ProblemKind::SkillSkipped, "there is no frontmatter");
    built(Sources {
        servers: servers
            .into_iter()
            .map(|(server, state)| (server.name.clone(), (server, state)))
            .collect(),
        skills: vec![skill("pdf", b"\xef\xbb\xbf---\r\nname: pdf\r\n---\r\n")],
        problems: BTreeMap::from([("skills".to_owned(), vec![problem])]),
        ..Sources::default()
    })
}

pub(in crate::control) fn built(sources: Sources) -> Snapshot {
    Snapshot::build(None, sources, IndexOptions::default(), &mut Always)
}

pub(in crate::control) fn about() -> About {
    About {
        instance: "test".into(),
        version: "1.2.3".into(),
        pid: 1,
        uid: 1000,
        started: jiff::Timestamp::UNIX_EPOCH,
        config: None,
        project: None,
        skills: Vec::new(),
        catalog: String::new(),
        mount_point: None,
        output: OutputKind::None,
        log: PathBuf::new(),
        socket: PathBuf::new(),
    }
}

fn listed(snapshot: &Snapshot, filter: &ListFilter) -> Result<Listing, Problem> {
    list(snapshot, lines(snapshot), filter)
}

fn ids(filter: &ListFilter) -> (Vec<String>, Vec<String>) {
    let listing = listed(&snapshot(), filter).unwrap();
    let ids = listing.entries.iter().map(|entry| entry.id.to_string());
    (ids.collect(), listing.unknown)
}

#[test]
fn the_status_counts_and_explains() {
    let status = status(&snapshot(), &about(), Policy::None);
    assert_eq!((status.tools, status.skill_entries), (2, 1));
    let said: Vec<String> = status.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said[1..], ["broken: failed: exited with 1"]);
    let broken = ServerStatus {
        name: "broken".into(),
        shown_as: "broken".into(),
        state: ServerPhase::Failed,
        reason: Some("exited with 1".into()),
        tools: None,
        about: String::new(),
        stale_since: None,
    };
    assert_eq!(status.servers[1], broken);
    assert_eq!(status.servers[0].tools, Some(2));
    assert_eq!(status.servers[0].shown_as, "a b%2Fc");
}

#[test]
fn a_status_survives_the_wire() {
    let status = status(&snapshot(), &about(), Policy::None);
    let json = serde_json::to_string(&status).unwrap();
    assert_eq!(
        serde_json::from_str::<crate::protocol::Status>(&json).unwrap(),
        status
    );
}

#[test]
fn memory_is_more_than_nothing() {
    assert!(resident_memory().unwrap() > 100_000);
}

#[test]
fn a_list_has_everything_and_what_is_not_known_yet() {
    let (all, unknown) = ids(&ListFilter::default());
    assert_eq!(all, ["a b%2Fc/echo", "a b%2Fc/long", "skills/pdf"]);
    assert_eq!(unknown, ["broken"]);
}

#[test]
fn a_server_is_named_as_configured_or_as_shown() {
    for name in ["a b/c", "a b%2Fc"] {
        let filter = ListFilter {
            server: Some(name.into()),
            kind: None,
        };
        let (found, unknown) = ids(&filter);
        assert_eq!(found, ["a b%2Fc/echo", "a b%2Fc/long"], "{name}");
        assert!(unknown.is_empty());
    }
}

#[test]
fn skills_are_listed_by_the_name_under_which_a_search_counts_them() {
    let of_skills = |kind| ListFilter {
        server: Some("skills".into()),
        kind,
    };
    let found = ids(&of_skills(None));
    assert_eq!(found, (vec!["skills/pdf".to_owned()], Vec::new()));
    let problem = listed(&snapshot(), &of_skills(Some(EntryKind::Tool))).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Usage);
}

#[test]
fn a_kind_leaves_out_the_other() {
    let filter = ListFilter {
        server: None,
        kind: Some(EntryKind::Skill),
    };
    assert_eq!(ids(&filter), (vec!["skills/pdf".to_owned()], Vec::new()));
}

#[test]
fn an_unknown_server_is_refused_with_the_right_names() {
    let filter = ListFilter {
        server: Some("brokn".into()),
        kind: None,
    };
    let problem = listed(&snapshot(), &filter).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
    assert!(problem.hint.unwrap().contains("broken"));
}

#[test]
fn a_tool_is_described_with_the_bytes_of_its_server() {
    let snapshot = snapshot();
    for name in ["a b%2Fc/echo", "mcp/a b%2Fc/echo.md"] {
        let description = describe(&snapshot, name).unwrap();
        assert_eq!(description.kind, EntryKind::Tool);
        assert!(description.text.contains(".schemas/a b%2Fc/echo.json"));
        let tool = description.tool.unwrap();
        assert_eq!(tool.server, "a b/c");
        assert_eq!(tool.raw.get(), ECHO);
    }
}

#[test]
fn the_definition_is_the_file_of_the_mount() {
    let snapshot = snapshot();
    let Some(skills::tree::Node::File(file)) = snapshot.tree.find(b"mcp/a b%2Fc/echo.md") else {
        panic!("the mount has no such file");
    };
    let skills::tree::Content::Bytes(bytes) = &file.content else {
        panic!("a definition is rendered");
    };
    let described = describe(&snapshot, "a b%2Fc/echo").unwrap().text;
    assert_eq!(described.as_bytes(), bytes.as_ref());
}

#[test]
fn a_skill_is_described_by_its_own_text() {
    let description = describe(&snapshot(), "skills/pdf").unwrap();
    assert_eq!(description.kind, EntryKind::Skill);
    assert_eq!(description.text, "\u{feff}---\r\nname: pdf\r\n---\r\n");
    assert!(description.tool.is_none());
    let skill = description.skill.unwrap();
    assert_eq!(skill.description, "Reads PDF files.");
    assert_eq!(skill.file, PathBuf::from("/skills/pdf/SKILL.md"));
}

#[test]
fn what_the_user_pins_is_told() {
    let pin = EntryOptions {
        pin: true,
        ..EntryOptions::default()
    };
    let id = EntryId("a b%2Fc/echo".into());
    let snapshot = built(Sources {
        entries: Arc::new(BTreeMap::from([(id.clone(), pin)])),
        ..snapshot().sources
    });
    let listing = listed(&snapshot, &ListFilter::default()).unwrap();
    let pinned = listing.entries.into_iter().filter(|entry| entry.pinned);
    assert_eq!(pinned.map(|entry| entry.id).collect::<Vec<_>>(), [id]);
    assert!(describe(&snapshot, "a b%2Fc/echo").unwrap().pinned);
    assert!(!describe(&snapshot, "a b%2Fc/long").unwrap().pinned);
}

#[test]
fn what_is_not_there_is_not_found() {
    let problem = describe(&snapshot(), "skills/pfd").unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
    assert!(problem.hint.is_some());
}

#[test]
fn a_server_that_has_not_said_its_tools_may_have_what_is_looked_for() {
    let snapshot = snapshot();
    for (wanted, kind, why) in [
        ("broken/x", ProblemKind::Server, "exited with 1"),
        ("mcp__broken__x", ProblemKind::Server, "exited with 1"),
        ("mcp/broken/x.md", ProblemKind::Server, "exited with 1"),
        ("off/x", ProblemKind::NotFound, "switched off"),
        ("a b%2Fc/x", ProblemKind::NotFound, "no entry"),
        ("brokn/x", ProblemKind::NotFound, "no entry"),
        ("mcp__brokn__x", ProblemKind::NotFound, "no entry"),
    ] {
        let problem = describe(&snapshot, wanted).unwrap_err();
        assert_eq!(problem.kind, kind, "{wanted}");
        assert!(problem.message.contains(why), "{problem}");
        let unknown = unknown_server(&snapshot, wanted);
        assert_eq!(unknown.is_some(), !why.contains("no entry"), "{wanted}");
    }
}
