//! A shelf that is made up: entries in memory, and calls that do as their tool's name says.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;
use serde_json::value::RawValue;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use skills::search::{Match, ServerMatch};

use super::super::instructions::tests::status;
use super::super::{Connection, Shelf};
use crate::protocol::{
    Answer, Call, CallReply, Describe, Description, EntryKind, ListFilter, ListedEntry, Listing,
    Load, Loaded, Progress, Search, Status, ToolDescription,
};

/// What it was asked.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) searches: Vec<Search>,
    pub(super) loads: Vec<String>,
    pub(super) calls: Vec<Call>,
    pub(super) interrupted: usize,
    /// How many requests from now on find that the daemon has ended.
    pub(super) ended: usize,
    /// How many requests for the state from now on find that a server is being asked for its tools.
    pub(super) starting: usize,
}

#[derive(Debug, Default)]
pub(super) struct FakeShelf {
    /// Ids with their Tool objects, or for skills their texts.
    entries: Vec<(String, String)>,
    pub(super) unknown: Vec<String>,
    pub(super) asked: Mutex<Asked>,
}

impl FakeShelf {
    pub(super) fn new(entries: &[(&str, &str)]) -> Self {
        let owned = |(id, text): &(&str, &str)| ((*id).to_owned(), (*text).to_owned());
        Self {
            entries: entries.iter().map(owned).collect(),
            ..Self::default()
        }
    }

    fn check(&self) -> Result<(), Problem> {
        let mut asked = self.asked.lock().unwrap();
        if asked.ended == 0 {
            return Ok(());
        }
        asked.ended -= 1;
        Err(Problem::new(
            ProblemKind::Daemon,
            "the daemon ended before it answered",
        ))
    }

    fn get(&self, wanted: &str) -> Result<Description, Problem> {
        // As paths do, one below a skill leads to the skill.
        let found = self.entries.iter().find(|(id, _)| {
            id == wanted || (id.starts_with("skills/") && wanted.starts_with(&format!("{id}/")))
        });
        let Some((id, text)) = found else {
            let problem = Problem::new(ProblemKind::NotFound, format!("no entry `{wanted}`"));
            let hint = if wanted.starts_with("far/") {
                "`shelf list` prints every id"
            } else {
                "the nearest are `git/log`"
            };
            return Err(problem.hint(hint));
        };
        let kind = kind(id);
        Ok(Description {
            id: entry_id(id),
            kind,
            text: text.clone(),
            tool: (kind == EntryKind::Tool).then(|| ToolDescription {
                server: "server".to_owned(),
                about: String::new(),
                raw: RawValue::from_string(text.clone()).unwrap(),
            }),
            skill: None,
            pinned: false,
        })
    }
}

fn entry_id(id: &str) -> EntryId {
    match id.split_once('/') {
        Some(("skills", skill)) => EntryId::skill(skill),
        Some((server, tool)) => EntryId::tool(server, tool),
        None => panic!("no id: {id}"),
    }
}

fn kind(id: &str) -> EntryKind {
    if id.starts_with("skills/") {
        EntryKind::Skill
    } else {
        EntryKind::Tool
    }
}

impl Shelf for std::sync::Arc<FakeShelf> {
    fn connect(&self, _interrupt: &OwnedFd) -> Result<Box<dyn Connection>, Problem> {
        Ok(Box::new(FakeConnection(self.clone())))
    }
}

struct FakeConnection(std::sync::Arc<FakeShelf>);

impl Connection for FakeConnection {
    fn status(&mut self) -> Result<Status, Problem> {
        self.0.check()?;
        let mut asked = self.0.asked.lock().unwrap();
        if asked.starting > 0 {
            asked.starting -= 1;
            return Ok(status(&[("git", None, "")], 1));
        }
        Ok(status(
            &[("git", Some(self.0.entries.len()), "Keeps versions")],
            1,
        ))
    }

    fn list(&mut self, filter: &ListFilter) -> Result<Listing, Problem> {
        if let Some(server) = filter.server.as_deref().filter(|server| *server != "git") {
            let problem = Problem::new(
                ProblemKind::NotFound,
                format!("there is no server `{server}`"),
            );
            return Err(problem.hint("the servers are git"));
        }
        let entries = self.0.entries.iter().filter(|(id, _)| {
            filter.kind.is_none_or(|wanted| wanted == kind(id))
                && (filter.server.is_none() || kind(id) == EntryKind::Tool)
        });
        Ok(Listing {
            entries: entries
                .map(|(id, _)| ListedEntry {
                    id: entry_id(id),
                    kind: kind(id),
                    summary: format!("Summary of {id}"),
                    pinned: false,
                })
                .collect(),
            unknown: self.0.unknown.clone(),
        })
    }

    /// Each word of the request has to stand in the id; an empty answer otherwise.
    fn search(&mut self, search: &Search) -> Result<Answer, Problem> {
        self.0.asked.lock().unwrap().searches.push(search.clone());
        self.0.check()?;
        let matches = self.0.entries.iter().filter(|(id, _)| {
            search
                .words
                .split_whitespace()
                .any(|word| id.contains(word))
                && !search
                    .exclude
                    .iter()
                    .any(|excluded| excluded.as_str() == id)
        });
        let all: Vec<_> = matches
            .map(|(id, _)| Match {
                id: entry_id(id),
                kind: kind(id),
                score: 1.0,
                summary: format!("Summary of {id}"),
            })
            .collect();
        let servers = vec![ServerMatch {
            name: "git".to_owned(),
            matches: all.len(),
            score: 1.0,
            about: "Keeps versions".to_owned(),
        }];
        Ok(Answer {
            matches: all.into_iter().take(search.limit).collect(),
            servers,
            unknown: self.0.unknown.clone(),
            excluded: Vec::new(),
        })
    }

    fn describe(&mut self, entry: &Describe) -> Result<Description, Problem> {
        assert!(!entry.shown, "nobody reads it");
        self.0.get(&entry.entry)
    }

    fn load(&mut self, load: &Load) -> Result<Loaded, Problem> {
        self.0
            .asked
            .lock()
            .unwrap()
            .loads
            .extend(load.entries.clone());
        let entries = load.entries.iter().map(|entry| self.0.get(entry));
        Ok(Loaded {
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    fn call(
        &mut self,
        call: &Call,
        interrupt: &OwnedFd,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<CallReply, Problem> {
        self.0.asked.lock().unwrap().calls.push(call.clone());
        self.0.check()?;
        let description = self.0.get(&call.entry)?;
        let (is_error, result) = match description.id.as_str() {
            "git/fail" => (
                true,
                r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#,
            ),
            "git/deny" => {
                let problem = Problem::new(ProblemKind::Refused, "refused by policy");
                return Err(problem.hint("allow it: shelf approve 7"));
            }
            "git/strict" => {
                let message = "the arguments do not fit the schema\n  n: is missing\narguments of git/strict:\n  --n  number, required";
                let problem = Problem::new(ProblemKind::Arguments, message);
                return Err(problem.hint("a call that would work: shelf call git/strict --n 1"));
            }
            "git/slow" => {
                on_progress(Progress {
                    progress: 1.0,
                    total: Some(3.0),
                    message: Some("begun".to_owned()),
                });
                let mut watched = [PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN)];
                poll(&mut watched, None).unwrap();
                self.0.asked.lock().unwrap().interrupted += 1;
                return Err(Problem::new(ProblemKind::Interrupted, "interrupted"));
            }
            _ => (
                false,
                r#"{"content":[{"type":"image","depth":1e3}],"structuredContent":{"b":0.10,"a":123456789012345678901234567890}}"#,
            ),
        };
        Ok(CallReply {
            id: description.id,
            is_error,
            result: RawValue::from_string(result.to_owned()).unwrap(),
            filled: serde_json::Map::new(),
            unchecked: None,
            warnings: Vec::new(),
            unanswered: Vec::new(),
            state_lost: None,
        })
    }
}

/// A Tool object whose schema has a description of this length.
pub(super) fn tool(length: usize) -> String {
    let value: Value = serde_json::json!({
        "name": "x",
        "description": "Does it.\nIn two lines.",
        "inputSchema": { "type": "object", "description": "x".repeat(length) },
    });
    value.to_string()
}
