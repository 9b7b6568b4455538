mod beside_others;
mod unkept;
mod unseen;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::json;
use serde_json::value::to_raw_value;
use skills::catalog::{FirstSeen, IndexOptions, Snapshot, Sources};
use skills::discovery::{Limits, SkillRoot, discover};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::server::{Definitions, Server, ServerState};
use skills::tool::Tool;
use tempfile::TempDir;

use super::{Pinning, Pins, Scope};
use crate::protocol::{Difference, DifferenceState, Differences, Trust};

struct NeverSeen;

impl FirstSeen for NeverSeen {
    fn first_seen(&mut self, _path: &str, _hash: &[u8; 32]) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// A state directory and a root of skills.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.skill("Reads PDF files.");
        place
    }

    fn root(&self) -> SkillRoot {
        SkillRoot {
            path: self.0.path().join("skills"),
            source: None,
            optional: false,
        }
    }

    fn skill(&self, description: &str) {
        let directory = self.0.path().join("skills/pdf");
        fs::create_dir_all(&directory).unwrap();
        let text = format!("---\nname: pdf\ndescription: {description}\n---\n");
        fs::write(directory.join("SKILL.md"), text).unwrap();
    }

    fn pins(&self, strict: bool) -> Pins {
        let pins = Pins::open(self.0.path(), "test");
        pins.set_scope(Scope {
            pinning: Pinning {
                strict,
                ..Pinning::default()
            },
            roots: vec![self.root()],
            project: None,
        });
        pins
    }

    /// What the sources say: a server with one tool of this description, and the skills.
    fn sources(&self, description: &str, before: &Sources) -> Sources {
        let name = ServerName::new("git");
        let raw = json!({ "name": "log", "description": description, "inputSchema": { "type": "object" } });
        let tool = Tool::parse(&name, 0, to_raw_value(&raw).unwrap().into()).unwrap();
        let server = Server {
            name: name.clone(),
            directory: None,
            roots: Vec::new(),
            definitions: Some(Arc::new(Definitions {
                title: Some("Git".into()),
                tools: vec![Arc::new(tool)],
                ..Definitions::default()
            })),
        };
        let found = discover(&[self.root()], Limits::default(), &before.skills);
        Sources {
            servers: [(name, (Arc::new(server), ServerState::default()))].into(),
            skills: found.skills,
            ..Sources::default()
        }
    }

    fn objects(&self) -> Vec<std::path::PathBuf> {
        let objects = fs::read_dir(self.0.path().join("pins/test/objects")).unwrap();
        objects.map(|object| object.unwrap().path()).collect()
    }
}

fn snapshot(sources: &Sources) -> Snapshot {
    let options = IndexOptions::default();
    Snapshot::build(None, sources.clone(), options, &mut NeverSeen)
}

/// What is served, and what is told of it.
fn applied(pins: &Pins, sources: Sources) -> (Sources, Vec<String>) {
    for server in sources.servers.keys() {
        pins.hear_listed(server.clone());
    }
    shown(pins, sources)
}

/// The same where no server was listed anew.
fn shown(pins: &Pins, mut sources: Sources) -> (Sources, Vec<String>) {
    let applied = pins.apply(&mut sources);
    let problems = applied.problems(&snapshot(&sources));
    let told = problems.iter().map(ToString::to_string).collect();
    (sources, told)
}

fn described(sources: &Sources) -> [String; 2] {
    let (server, _) = sources.servers.values().next().unwrap();
    let tools = &server.definitions.as_ref().unwrap().tools;
    let tool = tools.first().map(|tool| tool.description.clone());
    let skill = sources
        .skills
        .first()
        .map(|skill| skill.description.clone());
    [tool, skill].map(Option::unwrap_or_default)
}

fn trust(pins: &Pins, served: &Sources, id: &str) -> Result<(), Problem> {
    let asked = Trust {
        entry: id.into(),
        hash: difference(pins, served, id).hash,
    };
    pins.trust(&snapshot(served), &asked).map(drop)
}

fn difference(pins: &Pins, sources: &Sources, id: &str) -> Difference {
    let asked = Differences {
        entries: vec![id.into()],
        ..Differences::default()
    };
    pins.differences(&snapshot(sources), &asked)
        .unwrap()
        .remove(0)
}

#[test]
fn what_changed_is_served_as_it_was_and_the_very_same_each_time() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    let (served, told) = applied(&pins, first.clone());
    assert_eq!(told, [""; 0]);
    let server = |sources: &Sources| Arc::clone(&sources.servers.values().next().unwrap().0);
    assert!(Arc::ptr_eq(&server(&served), &server(&first)), "untouched");
    assert!(
        Arc::ptr_eq(&served.skills[0], &first.skills[0]),
        "untouched"
    );

    place.skill("Sends files.");
    let second = place.sources("Sends it.", &first);
    for pins in [&pins, &place.pins(true), &Pins::clone(&pins)] {
        let (served, told) = applied(pins, second.clone());
        assert_eq!(described(&served), ["Shows it.", "Reads PDF files."]);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].starts_with("git/log: changed, and is served"),
            "{told:?}"
        );
        let (again, _) = applied(pins, second.clone());
        assert!(Arc::ptr_eq(&server(&served), &server(&again)));
        assert!(Arc::ptr_eq(&served.skills[0], &again.skills[0]));
    }
    let lines = pins.journal_lines(&snapshot(&served));
    assert_eq!(lines, ["? git/log", "? skills/pdf"]);
    assert_eq!(pins.journal_lines(&snapshot(&served)), [""; 0], "said once");
    // As it was before, it is nothing to tell of.
    place.skill("Reads PDF files.");
    let (served, told) = applied(&pins, place.sources("Shows it.", &second));
    assert_eq!(
        (described(&served), told.len()),
        (["Shows it.", "Reads PDF files."].map(str::to_owned), 0)
    );
}

#[test]
fn only_what_was_shown_is_trusted() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    applied(&pins, first.clone());
    let second = place.sources("Sends it.", &first);
    let (served, _) = applied(&pins, second.clone());
    let shown = difference(&pins, &served, "git/log");
    assert_eq!(shown.state, DifferenceState::NotTrusted);
    let trust = |shown: &Difference| {
        let asked = Trust {
            entry: "git/log".into(),
            hash: shown.hash.clone(),
        };
        pins.trust(&snapshot(&served), &asked)
    };
    let (served, _) = applied(&pins, place.sources("Burns it.", &second));
    assert_eq!(
        pins.journal_lines(&snapshot(&served)),
        ["? git/log", "? git/log"]
    );
    let problem = trust(&shown).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Refused);
    assert!(problem.message.contains("it changed again"), "{problem}");
    assert!(!pins.has_news(), "nothing was trusted");
    let shown = difference(&pins, &served, "git/log");
    trust(&shown).unwrap();
    assert!(pins.has_news());
    let (served, told) = applied(&pins, place.sources("Burns it.", &second));
    assert_eq!((&*described(&served)[0], told.len()), ("Burns it.", 0));
    let (served, _) = applied(&pins, second);
    assert_eq!(
        described(&served)[0],
        "Burns it.",
        "what was passed over is not trusted"
    );
}

#[test]
fn what_was_tampered_with_in_the_store_is_not_served() {
    let place = Place::new();
    let first = place.sources("Shows it.", &Sources::default());
    applied(&place.pins(true), first.clone());
    for object in place.objects() {
        let text = fs::read_to_string(&object).unwrap();
        let text = text.replace("Shows", "Shoes").replace("Reads", "Leads");
        fs::write(object, text).unwrap();
    }
    place.skill("Sends files.");
    let (served, told) = applied(&place.pins(true), place.sources("Sends it.", &first));
    assert_eq!(described(&served), ["", ""]);
    assert!(
        told.iter().all(|told| told.contains("not served")),
        "{told:?}"
    );
    assert_eq!(told.len(), 2);
}

#[test]
fn a_skill_that_is_gone_stays_as_long_as_its_root_is_configured() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    applied(&pins, first.clone());
    fs::remove_dir_all(place.0.path().join("skills/pdf")).unwrap();
    let gone = place.sources("Shows it.", &first);
    let (served, told) = applied(&pins, gone.clone());
    assert_eq!(described(&served)[1], "Reads PDF files.");
    assert!(told[0].contains("is gone, and is served"), "{told:?}");
    pins.set_scope(Scope {
        pinning: Pinning {
            strict: true,
            ..Pinning::default()
        },
        roots: Vec::new(),
        project: None,
    });
    let (served, told) = applied(&pins, gone);
    assert_eq!((served.skills.len(), told.len()), (0, 0));
}

#[test]
fn who_only_looks_trusts_nothing_for_others() {
    let place = Place::new();
    let first = place.sources("Shows it.", &Sources::default());
    let looking = Pins::read(place.0.path(), "test");
    looking.set_scope(Scope {
        pinning: Pinning {
            strict: true,
            ..Pinning::default()
        },
        roots: Vec::new(),
        project: None,
    });
    let (served, told) = applied(&looking, first);
    assert_eq!(
        (described(&served), told.len()),
        (["Shows it.", "Reads PDF files."].map(str::to_owned), 0)
    );
    assert!(!Path::new(&place.0.path().join("pins")).exists());
}

#[test]
fn where_nothing_is_strict_the_last_change_is_remembered_and_swept() {
    let place = Place::new();
    let pins = place.pins(false);
    let first = place.sources("Shows it.", &Sources::default());
    assert!(!pins.remember(&first), "nothing for the journal");
    fs::write(place.0.path().join("skills/pdf/run.sh"), "1").unwrap();
    let second = place.sources("Sends it.", &first);
    let (served, told) = applied(&pins, second.clone());
    assert_eq!((&*described(&served)[0], told.len()), ("Sends it.", 0));
    assert!(pins.remember(&second));
    // The journal sees changed definitions itself, but no other files of skills.
    assert_eq!(pins.journal_lines(&snapshot(&second)), ["~ skills/pdf"]);
    let shown = difference(&pins, &second, "git/log");
    assert_eq!(shown.state, DifferenceState::Changed);
    let diff = shown.files[0].diff.as_deref().unwrap();
    assert!(
        diff.contains("-  \"description\": \"Shows it.\"")
            && diff.contains("+  \"description\": \"Sends it.\""),
        "{diff}"
    );
    let shown = difference(&pins, &second, "skills/pdf");
    assert_eq!(shown.files.len(), 1);
    assert_eq!(shown.files[0].path.as_deref(), Some("run.sh"));
    // What no difference can need any more goes.
    let count = place.objects().len();
    for version in 0..60 {
        let text = format!("{version}");
        let next = place.sources(&text, &second);
        pins.remember(&next);
        for object in place.objects() {
            let file = fs::File::options().append(true).open(object).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
    }
    assert!(
        place.objects().len() < count + 20,
        "{}",
        place.objects().len()
    );
}
