use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use skills::catalog::EntryKind;
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::search::{SearchIndex, SearchOptions, StoredIndex};
use skills::server::Definitions;
use skills::tool::Tool;
use tempfile::TempDir;

use super::OfflineShelf;
use crate::cache::{DefinitionCache, Freshness};
use crate::control::methods;
use crate::protocol::{ListFilter, Search};
use crate::run::configuration_name;
use crate::surroundings::{Directories, Surroundings};

const CONFIG: &str = r#"
[servers.tracker]
command = "none"
[servers.files]
command = "none"
[servers.later]
command = "none"
"#;

/// A configuration with two servers whose tools are known, and a skill.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.config("");
        place.define(
            "tracker",
            "Track.",
            &[
                ("create_issue", "Create an issue in a repository."),
                ("list_issues", "List the issues of a repository."),
            ],
        );
        place.define(
            "files",
            "",
            &[
                ("read_file", "Read the contents of a file from the disk."),
                ("INDEX", "Says where everything is."),
            ],
        );
        place.skill("pdf", "Fills in forms of PDF documents.");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn config(&self, more: &str) {
        let skills = format!("skills = [{:?}]", self.path("skills").to_str().unwrap());
        fs::write(
            self.path("shelf.toml"),
            format!("{skills}\n{CONFIG}\n{more}"),
        )
        .unwrap();
    }

    fn define(&self, server: &str, instructions: &str, tools: &[(&str, &str)]) {
        let server = ServerName::new(server);
        let tools = tools.iter().map(|(name, description)| {
            let schema = json!({ "type": "object" });
            let tool = json!({ "name": name, "description": description, "inputSchema": schema });
            let raw = RawValue::from_string(tool.to_string()).unwrap();
            Arc::new(Tool::parse(&server, 0, Arc::from(raw)).unwrap())
        });
        let definitions = Definitions {
            instructions: Some(instructions.to_owned()),
            tools: tools.collect(),
            ..Definitions::default()
        };
        let name = configuration_name(Some(&self.path("shelf.toml")), &[], None);
        let cache = DefinitionCache::open(&self.path("cache"), &name).unwrap();
        let freshness = Freshness([0; 32]);
        cache.store(&server, &definitions, freshness, None).unwrap();
    }

    fn skill(&self, name: &str, description: &str) {
        let directory = self.path("skills").join(name);
        fs::create_dir_all(&directory).unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n");
        fs::write(directory.join("SKILL.md"), text).unwrap();
    }

    fn shelf(&self) -> OfflineShelf {
        let surroundings = Surroundings {
            directories: Directories {
                cache: self.path("cache"),
                state: self.path("state"),
                runtime: self.path("run"),
            },
            environment: BTreeMap::default(),
            executable: PathBuf::new(),
        };
        OfflineShelf::read(&surroundings, Some(&self.path("shelf.toml")), &[], None).unwrap()
    }

    /// The file of the index, if there is one.
    fn index(&self) -> Option<PathBuf> {
        let mut files = fs::read_dir(self.path("cache/search")).ok()?;
        files.next().map(|file| file.unwrap().path())
    }

    /// What is answered now, each question to a shelf of its own, as commands ask.
    fn answers(&self) -> String {
        let mut answers = String::new();
        let mut say = |value: &serde_json::Value| answers += &format!("{value}\n");
        for words in ["issue", "read a file", "forms", "ticket", "qwxz", "track"] {
            for (lexical, server) in [(false, None), (true, None), (false, Some("tracker"))] {
                let answer = self.shelf().search(&asked(words, lexical, server)).unwrap();
                say(&json!(answer));
            }
        }
        for kind in [None, Some(EntryKind::Tool), Some(EntryKind::Skill)] {
            let server = None;
            say(&json!(
                self.shelf().list(&ListFilter { server, kind }).unwrap()
            ));
        }
        for server in ["files", "later", "skills"] {
            let (server, kind) = (Some(server.to_owned()), None);
            say(&json!(
                self.shelf().list(&ListFilter { server, kind }).unwrap()
            ));
        }
        answers
    }

    /// Checks that what is answered from the index that lies there is what is answered without one; returns that.
    #[track_caller]
    fn check(&self) -> String {
        let kept = self.answers();
        fs::remove_file(self.index().unwrap()).unwrap();
        let listed = self.shelf().list(&ListFilter::default()).unwrap();
        assert!(self.index().is_none(), "a list keeps nothing");
        let built = self.answers();
        assert_eq!(kept, built);
        assert!(built.contains(&json!(listed).to_string()));
        built
    }
}

fn asked(words: &str, lexical: bool, server: Option<&str>) -> Search {
    Search {
        words: words.to_owned(),
        limit: 8,
        kind: None,
        server: server.map(str::to_owned),
        lexical,
        exclude: Vec::new(),
        wait_ms: 0,
    }
}

#[test]
fn a_kept_index_never_answers_what_was() {
    let place = Place::new();
    place.answers();
    let mut before = place.check();
    let edits: &[(&str, &dyn Fn())] = &[
        ("a skill", &|| {
            place.skill("pdf", "Reads a file of tickets.")
        }),
        ("a new skill", &|| place.skill("docx", "Writes forms.")),
        ("a definition", &|| {
            place.define("files", "", &[("read_file", "Tracks an issue.")]);
        }),
        ("what a server says", &|| {
            place.define("files", "Forms, too.", &[("read_file", "Tracks an issue.")]);
        }),
        ("a server that is known", &|| {
            place.define("later", "", &[("issue", "Another.")]);
        }),
        ("keywords", &|| {
            place.config("[entries.\"files/read_file\"]\nkeywords = [\"qwxz\"]");
        }),
        ("a summary", &|| {
            place.config("[entries.\"files/read_file\"]\nsummary = \"**Reads** it\"");
        }),
        ("a pin", &|| {
            place.config("[entries.\"files/read_file\"]\npin = true");
        }),
        ("words for all", &|| {
            place.config("[search.keywords]\nqwxz = [\"issue\"]");
        }),
        ("by words alone", &|| {
            place.config("[search]\nlexical = true")
        }),
        ("what is hidden", &|| {
            place.config("[policy]\nhide = [\"tracker/list_issues\"]");
        }),
        ("what is hidden of one server", &|| {
            place.config("[servers.tracker.policy]\nhide = [\"create_*\"]");
        }),
        ("a skill that is gone", &|| {
            fs::remove_dir_all(place.path("skills/docx")).unwrap();
        }),
        ("a skill that is another by its place", &|| {
            fs::rename(place.path("skills/pdf"), place.path("skills/forms")).unwrap();
        }),
        ("a server that is switched off", &|| {
            let config = fs::read_to_string(place.path("shelf.toml")).unwrap();
            let off = config.replace("[servers.later]\n", "[servers.later]\ndisabled = true\n");
            fs::write(place.path("shelf.toml"), off).unwrap();
        }),
        ("a definition that can't be read", &|| {
            let definitions = place.path("cache/definitions");
            let of_configuration = fs::read_dir(definitions).unwrap().next().unwrap();
            for file in fs::read_dir(of_configuration.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let text = fs::read_to_string(&path).unwrap();
                if text.contains("tracker") {
                    fs::write(path, &text[1..]).unwrap();
                }
            }
        }),
    ];
    for (what, edit) in edits {
        edit();
        let after = place.check();
        assert_ne!(after, before, "{what} makes no difference");
        before = after;
    }
}

#[test]
fn what_is_kept_is_what_is_searched() {
    let place = Place::new();
    let before = place.answers();
    let file = place.index().unwrap();
    let basis = StoredIndex::basis_in(&fs::read(&file).unwrap()[..StoredIndex::BEGINNING]);
    // Another catalog's index under this one's basis.
    let other = Place::new();
    other.define("files", "", &[("burn", "Sets a ticket on fire.")]);
    let outline = other.shelf().outline();
    let index = SearchIndex::of_outline(&outline, &SearchOptions::default());
    let mut bytes = Vec::new();
    index.store(&basis.unwrap(), &mut bytes).unwrap();
    fs::write(&file, bytes).unwrap();
    let answers = place.answers();
    assert!(answers.contains("files/burn") && !before.contains("files/burn"));
}

#[test]
fn a_damaged_file_is_passed_over_and_replaced() {
    let place = Place::new();
    let answers = place.answers();
    let file = place.index().unwrap();
    let whole = fs::read(&file).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let middle = whole.len() / 2;
    let damaged = [
        Vec::new(),
        whole[..middle].to_vec(),
        flipped(3),
        flipped(20),
        flipped(middle),
        flipped(whole.len() - 1),
    ];
    for bytes in damaged {
        fs::write(&file, bytes).unwrap();
        assert_eq!(place.answers(), answers);
        assert_eq!(fs::read(&file).unwrap(), whole);
    }
    // What can't be replaced does no harm either.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(place.answers(), answers);
    fs::remove_dir(&file).unwrap();
    fs::remove_dir(place.path("cache/search")).unwrap();
    fs::write(place.path("cache/search"), "").unwrap();
    assert_eq!(place.answers(), answers);
}

#[test]
fn an_entry_is_shown_as_the_whole_shelf_would_show_it() {
    let place = Place::new();
    place.config(
        "[entries.\"files/read_file\"]\npin = true\n[policy]\nhide = [\"tracker/list_issues\"]",
    );
    let whole = place.shelf();
    let snapshot = whole.snapshot();
    let ids = snapshot.entries.keys().map(ToString::to_string);
    let paths = [
        "mcp/files/read_file.md",
        ".schemas/files/read_file.json",
        "skills/pdf/SKILL.md",
        "./mcp/files/read_file.md",
        "/skills/pdf/",
        "bin/files.read_file",
        "mcp__files__read_file",
    ];
    let wrong = [
        "tracker/list_issues",
        "files/INDEX",
        "mcp/files/INDEX.md",
        "files/red_file",
        "later/x",
        "none/x",
        "skills/fdp",
        "files",
        "mcp/files/read_file",
        "skills/pdf/none",
        "",
    ];
    let mut shown = 0;
    for wanted in ids.chain(paths.iter().chain(&wrong).map(ToString::to_string)) {
        let one = place.shelf().describe(&wanted);
        let said = |problem: &Problem| {
            // Without a daemon it is said how one would be asked.
            let is_unknown = problem.message.contains("not known yet");
            let hint = problem.hint.clone().filter(|_| !is_unknown);
            (problem.kind, problem.message.clone(), hint)
        };
        match (one, methods::describe(snapshot, &wanted)) {
            (Ok(one), Ok(other)) => {
                assert_eq!(json!(one), json!(other), "{wanted}");
                shown += 1;
            }
            (Err(one), Err(other)) => assert_eq!(said(&one), said(&other), "{wanted}"),
            (one, other) => panic!("{wanted}: {one:?}, {other:?}"),
        }
    }
    assert_eq!(shown, snapshot.entries.len() + paths.len());
}

#[test]
fn where_nothing_is_known_nothing_is_kept() {
    let place = Place(tempfile::tempdir().unwrap());
    place.config("");
    let answer = place.shelf().search(&asked("issue", false, None)).unwrap();
    assert_eq!(answer.unknown, ["files", "later", "tracker"]);
    assert!(!place.path("cache").exists());
}
