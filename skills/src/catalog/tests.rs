use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;

use super::{FirstSeen, IndexOptions, Known, Snapshot, Sources, differences};
use crate::entry_id::ServerName;
use crate::frontmatter::Frontmatter;
use crate::names::with_suffix;
use crate::problem::ProblemKind;
use crate::server::{Definitions, Phase, Server, ServerState};
use crate::skill::Skill;
use crate::tool::Tool;
use crate::tree::{Content, Directory, File, Node};

/// Time passes by a second with each thing that is new.
#[derive(Default)]
struct Clock {
    seen: HashMap<String, ([u8; 32], SystemTime)>,
    ticks: u64,
}

impl FirstSeen for Clock {
    fn first_seen(&mut self, path: &str, hash: &[u8; 32]) -> SystemTime {
        if let Some((seen, time)) = self.seen.get(path)
            && seen == hash
        {
            return *time;
        }
        self.ticks += 1;
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.ticks);
        self.seen.insert(path.to_owned(), (*hash, time));
        time
    }
}

fn tool(name: &str, description: &str) -> Arc<Tool> {
    let object = serde_json::json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object" },
    });
    let raw = RawValue::from_string(object.to_string()).expect("it is JSON");
    let server = ServerName::new("test");
    Arc::new(Tool::parse(&server, 0, Arc::from(raw)).expect("it is a tool"))
}

fn server(name: &str, tools: Option<Vec<Arc<Tool>>>) -> Arc<Server> {
    let known = |tools| Definitions {
        tools,
        ..Definitions::default()
    };
    Arc::new(Server {
        name: ServerName::new(name),
        directory: PathBuf::from("/srv"),
        definitions: tools.map(known).map(Arc::new),
    })
}

fn bytes(text: &str) -> Node {
    Node::File(Arc::new(File {
        content: Content::Bytes(text.as_bytes().into()),
        mode: 0o444,
        modified: SystemTime::UNIX_EPOCH,
        volatile: false,
        entry: None,
        origin: None,
    }))
}

fn directory(children: Vec<(&str, Node)>) -> Arc<Directory> {
    let children = children
        .into_iter()
        .map(|(name, node)| (name.as_bytes().into(), node));
    Arc::new(Directory::new(children.collect(), SystemTime::UNIX_EPOCH))
}

fn skill(name: &str, precedence: usize, source: Option<&str>) -> Skill {
    let found = PathBuf::from(format!("/root{precedence}/{name}"));
    let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n");
    Skill {
        name: name.to_owned(),
        source: source.map(str::to_owned),
        precedence,
        directory: found.clone(),
        file: found.join("SKILL.md"),
        found,
        frontmatter: Frontmatter::default(),
        description: format!("Does {name}."),
        headings: Vec::new(),
        text: text.as_bytes().into(),
        tree: directory(vec![
            ("SKILL.md", bytes(&text)),
            (
                "scripts",
                Node::Directory(directory(vec![("run.sh", bytes("echo"))])),
            ),
        ]),
    }
}

fn sources(servers: Vec<Arc<Server>>, skills: Vec<Skill>) -> Sources {
    let servers = servers
        .into_iter()
        .map(|server| (server.name.clone(), (server, ServerState::default())));
    Sources {
        servers: servers.collect(),
        skills: skills.into_iter().map(Arc::new).collect(),
        problems: BTreeMap::new(),
        journal: Arc::new([]),
    }
}

fn example() -> Sources {
    sources(
        vec![
            server(
                "github",
                Some(vec![tool("list", "Lists."), tool("create", "Creates.")]),
            ),
            server("time", Some(vec![tool("now", "Says the time.")])),
            server("later", None),
        ],
        vec![skill("pdf", 0, None), skill("docx", 1, Some("acme"))],
    )
}

fn build(previous: Option<&Snapshot>, sources: Sources, clock: &mut Clock) -> Snapshot {
    Snapshot::build(previous, sources, IndexOptions::default(), clock)
}

fn built(sources: Sources) -> Snapshot {
    build(None, sources, &mut Clock::default())
}

/// Every path with its bytes (directories end in `/`), in order.
fn listing(tree: &Directory) -> Vec<(String, Vec<u8>)> {
    fn walk(directory: &Directory, path: &str, all: &mut Vec<(String, Vec<u8>)>) {
        for (name, node) in directory.children() {
            let path = format!("{path}{}", String::from_utf8_lossy(name));
            match node {
                Node::Directory(directory) => {
                    let path = format!("{path}/");
                    all.push((path.clone(), Vec::new()));
                    walk(directory, &path, all);
                }
                Node::File(file) => match &file.content {
                    Content::Bytes(bytes) => all.push((path, bytes.to_vec())),
                    Content::Source(_) => all.push((path, Vec::new())),
                },
                Node::Link(link) => all.push((path, link.target.to_vec())),
            }
        }
    }
    let mut all = Vec::new();
    walk(tree, "", &mut all);
    all
}

fn text(snapshot: &Snapshot, path: &str) -> String {
    match snapshot.tree.find(path.as_bytes()) {
        Some(Node::File(file)) => match &file.content {
            Content::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Content::Source(_) => panic!("{path} is not in memory"),
        },
        other => panic!("{path} is no file: {other:?}"),
    }
}

fn subtree(snapshot: &Snapshot, path: &str) -> Arc<Directory> {
    match snapshot.tree.find(path.as_bytes()) {
        Some(Node::Directory(directory)) => directory,
        other => panic!("{path} is no directory: {other:?}"),
    }
}

fn file(snapshot: &Snapshot, path: &str) -> Arc<File> {
    match snapshot.tree.find(path.as_bytes()) {
        Some(Node::File(file)) => file,
        other => panic!("{path} is no file: {other:?}"),
    }
}

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
            Phase::Disabled,
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
    assert_eq!(kinds, [ProblemKind::Collision; 4]);
}

#[test]
fn entries_are_found_by_id_and_by_path() {
    let snapshot = built(example());
    for (wanted, id) in [
        ("time/now", "time/now"),
        ("mcp/time/now.md", "time/now"),
        ("./mcp/time/now.md", "time/now"),
        ("/mcp/time/now.md", "time/now"),
        (".schemas/time/now.json", "time/now"),
        ("skills/pdf", "skills/pdf"),
        ("skills/pdf/", "skills/pdf"),
        ("skills/pdf/scripts/run.sh", "skills/pdf"),
        ("skills/acme:docx/SKILL.md", "skills/acme:docx"),
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
        "",
        "INDEX.md",
    ] {
        assert!(snapshot.find(wanted).is_err(), "{wanted}");
    }
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
fn summaries_are_in_order_of_id() {
    let snapshot = built(example());
    let ids: Vec<&str> = snapshot.summaries().map(|(id, _)| id.as_str()).collect();
    let entries: Vec<&str> = snapshot.entries.keys().map(|id| id.as_str()).collect();
    assert_eq!(ids, entries);
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
