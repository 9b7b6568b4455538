//! Servers and skills for tests, and ways to look at the tree that they make.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;

use super::{FirstSeen, Hiding, IndexOptions, Snapshot, Sources};
use crate::entry_id::ServerName;
use crate::frontmatter::Frontmatter;
use crate::server::{Definitions, Server, ServerState};
use crate::skill::Skill;
use crate::tool::Tool;
use crate::tree::{Content, Directory, File, Node};

/// Time passes by a second with each thing that is new.
#[derive(Default)]
pub(crate) struct Clock {
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

pub(crate) fn tool(name: &str, description: &str) -> Arc<Tool> {
    let object = serde_json::json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object" },
    });
    let raw = RawValue::from_string(object.to_string()).expect("it is JSON");
    let server = ServerName::new("test");
    Arc::new(Tool::parse(&server, 0, Arc::from(raw)).expect("it is a tool"))
}

pub(crate) fn server(name: &str, tools: Option<Vec<Arc<Tool>>>) -> Arc<Server> {
    let known = |tools| Definitions {
        tools,
        ..Definitions::default()
    };
    Arc::new(Server {
        name: ServerName::new(name),
        directory: Some(PathBuf::from("/srv")),
        roots: Vec::new(),
        definitions: tools.map(known).map(Arc::new),
    })
}

pub(crate) fn bytes(text: &str) -> Node {
    Node::File(Arc::new(File {
        content: Content::Bytes(text.as_bytes().into()),
        mode: 0o444,
        modified: SystemTime::UNIX_EPOCH,
        volatile: false,
        entry: None,
        origin: None,
    }))
}

pub(crate) fn directory(children: Vec<(&str, Node)>) -> Arc<Directory> {
    let children = children
        .into_iter()
        .map(|(name, node)| (name.as_bytes().into(), node));
    Arc::new(Directory::new(children.collect(), SystemTime::UNIX_EPOCH))
}

pub(crate) fn skill(name: &str, precedence: usize, source: Option<&str>) -> Skill {
    let found = PathBuf::from(format!("/root{precedence}/{name}"));
    let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n");
    Skill {
        name: name.into(),
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

pub(crate) fn sources(servers: Vec<Arc<Server>>, skills: Vec<Skill>) -> Sources {
    let servers = servers
        .into_iter()
        .map(|server| (server.name.clone(), (server, ServerState::default())));
    Sources {
        servers: servers.collect(),
        skills: skills.into_iter().map(Arc::new).collect(),
        problems: BTreeMap::new(),
        journal: Arc::new([]),
        entries: Arc::default(),
        hiding: Hiding::default(),
    }
}

pub(crate) fn example() -> Sources {
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

pub(crate) fn build(previous: Option<&Snapshot>, sources: Sources, clock: &mut Clock) -> Snapshot {
    Snapshot::build(previous, sources, IndexOptions::default(), clock)
}

pub(crate) fn built(sources: Sources) -> Snapshot {
    build(None, sources, &mut Clock::default())
}

/// Every path with its bytes (directories end in `/`), in order.
pub(crate) fn listing(tree: &Directory) -> Vec<(String, Vec<u8>)> {
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

pub(crate) fn text(snapshot: &Snapshot, path: &str) -> String {
    match snapshot.tree.find(path.as_bytes()) {
        Some(Node::File(file)) => match &file.content {
            Content::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Content::Source(_) => panic!("{path} is not in memory"),
        },
        other => panic!("{path} is no file: {other:?}"),
    }
}

pub(crate) fn subtree(snapshot: &Snapshot, path: &str) -> Arc<Directory> {
    match snapshot.tree.find(path.as_bytes()) {
        Some(Node::Directory(directory)) => directory,
        other => panic!("{path} is no directory: {other:?}"),
    }
}

pub(crate) fn file(snapshot: &Snapshot, path: &str) -> Arc<File> {
    match snapshot.tree.find(path.as_bytes()) {
        Some(Node::File(file)) => file,
        other => panic!("{path} is no file: {other:?}"),
    }
}
