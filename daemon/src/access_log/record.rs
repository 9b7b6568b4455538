//! One line of the log: the format, both ways.

use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Map, Value};
use skills::entry_id::EntryId;
use skills::problem::ProblemKind;

use super::{Ended, Event, LogOptions, Queries, Verdict};
use crate::caller::Caller;

/// The longest text, in characters, that comes from a caller's words: a search, an argument's name.
const TEXT: usize = 1024;
/// How many names of arguments are kept.
const NAMES: usize = 256;
/// The largest arguments whose values are kept.
const VALUES_BYTES: usize = 64 * 1024;

/// What a line is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventName {
    /// A file was opened through the mount.
    Open,
    /// `shelf show`.
    Show,
    /// `shelf search`.
    Search,
    /// A definition was handed out to a session.
    Load,
    /// `shelf approve`, or a yes on the terminal of a call.
    Approve,
    /// `shelf deny`, or a no on the terminal of a call.
    Deny,
    /// `shelf call`.
    Call,
    /// `shelf read`.
    Read,
    /// `shelf prompt`.
    Prompt,
    /// Opens were not logged, since they came faster than they could be written.
    Dropped,
    /// An event that a later version writes.
    #[default]
    #[serde(other)]
    Other,
}

impl EventName {
    /// The word that stands in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Show => "show",
            Self::Search => "search",
            Self::Load => "load",
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Call => "call",
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Dropped => "dropped",
            Self::Other => "other",
        }
    }
}

/// One line of the log. A field that the event does not have is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When it happened, for a call when it ended.
    #[serde(serialize_with = "milliseconds")]
    pub time: Timestamp,
    /// What happened.
    pub event: EventName,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// Which version of its definition was handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The catalog that it was handed out from; absent in the lines of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// The path relative to the mount point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The words of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The hash of the words, where they are not to be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_hash: Option<String>,
    /// How many entries matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<usize>,
    /// The URI of a resource that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The name of a prompt that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The names of a call's arguments, or a prompt's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// A call's arguments with their values, only when configured, and absent when they are larger than 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Map<String, Value>>,
    /// Whether a call worked; `false` for a `show` or a `search` that did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The kind of the problem of what failed, or how far an approval goes (`once`, `always`); a text, so that one of a later
    /// version can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How long the call took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The size of the result's JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// How many events were dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// The caller's process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The caller's user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The caller's command name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The caller's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Record {
    /// Makes the record of what happened now, with no more of it than is to be logged.
    pub(super) fn new(caller: Caller, event: Event, options: LogOptions) -> Self {
        let mut record = Self {
            pid: Some(caller.pid),
            uid: Some(caller.uid),
            command: Some(caller.command),
            session: Some(caller.session),
            ..Self::now(EventName::Open)
        };
        match event {
            Event::Open { path, entry } => {
                record.path = Some(path);
                record.entry = entry;
            }
            Event::Show { entry, outcome } => {
                record.event = EventName::Show;
                record.entry = Some(bounded(entry));
                if let Err(kind) = outcome {
                    record.fail(kind);
                }
            }
            Event::Load {
                entry,
                hash,
                catalog,
            } => {
                record.catalog = Some(catalog);
                record.event = EventName::Load;
                record.entry = Some(entry);
                record.hash = hash;
            }
            Event::Approval { entry, verdict } => {
                let (event, kind) = match verdict {
                    Verdict::Once => (EventName::Approve, Some("once")),
                    Verdict::Always => (EventName::Approve, Some("always")),
                    Verdict::Denied => (EventName::Deny, None),
                };
                record.event = event;
                record.entry = Some(entry);
                record.kind = kind.map(str::to_owned);
            }
            Event::Search { words, matches } => {
                record.event = EventName::Search;
                match matches {
                    Ok(matches) => record.matches = Some(matches),
                    Err(kind) => record.fail(kind),
                }
                match options.queries {
                    Queries::Full => record.query = Some(cut(&words)),
                    Queries::Hash => record.query_hash = Some(hash(&words)),
                    Queries::Off => {}
                }
            }
            Event::Call {
                entry,
                arguments,
                outcome,
                duration_ms,
                result_bytes,
            } => {
                record.event = EventName::Call;
                record.entry = Some(bounded(entry));
                record.end(Ended {
                    outcome,
                    duration_ms,
                    result_bytes,
                });
                record.hold(arguments, options);
            }
            Event::Refused {
                entry,
                arguments,
                kind,
            } => {
                record.event = EventName::Call;
                record.entry = Some(bounded(entry));
                record.fail(kind);
                let names = arguments.iter().take(NAMES);
                record.arguments = Some(names.map(|name| cut(name)).collect());
            }
            Event::Read { entry, uri, ended } => {
                record.event = EventName::Read;
                record.entry = Some(entry);
                record.uri = Some(cut(&uri));
                record.end(ended);
            }
            Event::Prompt {
                entry,
                name,
                arguments,
                ended,
            } => {
                record.event = EventName::Prompt;
                record.entry = Some(entry);
                record.prompt = Some(cut(&name));
                record.end(ended);
                record.hold(arguments, options);
            }
        }
        record
    }

    /// Says how it ended.
    fn end(&mut self, ended: Ended) {
        match ended.outcome {
            Ok(()) => self.ok = Some(true),
            Err(kind) => self.fail(kind),
        }
        self.duration_ms = Some(ended.duration_ms);
        self.result_bytes = Some(ended.result_bytes);
    }

    /// Says that it failed.
    fn fail(&mut self, kind: ProblemKind) {
        self.ok = Some(false);
        let word = serde_json::to_value(kind).ok();
        self.kind = word.and_then(|word| word.as_str().map(str::to_owned));
    }

    /// Says with which arguments, as far as that is to be logged.
    fn hold(&mut self, arguments: Map<String, Value>, options: LogOptions) {
        let names = arguments.keys().take(NAMES);
        self.arguments = Some(names.map(|name| cut(name)).collect());
        if options.values && json_fits(&arguments, VALUES_BYTES) {
            self.values = Some(arguments);
        }
    }

    /// Makes the record that stands for `n` others.
    pub(super) fn dropped(n: u64) -> Self {
        Self {
            n: Some(n),
            ..Self::now(EventName::Dropped)
        }
    }

    fn now(event: EventName) -> Self {
        Self {
            time: Timestamp::now(),
            event,
            ..Self::default()
        }
    }

    /// Appends the line with its line break; what a name holds can neither break the line nor command a terminal.
    pub(super) fn append_to(&self, line: &mut Vec<u8>) -> serde_json::Result<()> {
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut *line, TerminalSafe(CompactFormatter));
        self.serialize(&mut serializer)?;
        line.push(b'\n');
        Ok(())
    }
}

fn milliseconds<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

/// An entry that there need not be, and whose name may be anything then.
fn bounded(entry: EntryId) -> EntryId {
    match entry.as_str().chars().nth(TEXT) {
        None => entry,
        Some(_) => EntryId(cut(entry.as_str()).into()),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT).collect()
}

fn hash(words: &str) -> String {
    blake3::hash(words.as_bytes()).to_hex()[..16].to_owned()
}

/// Whether a value's JSON is within a size, found without writing more than that.
fn json_fits(value: &Map<String, Value>, bytes: usize) -> bool {
    let mut room = vec![0; bytes];
    serde_json::to_writer(room.as_mut_slice(), value).is_ok()
}

/// Whether a terminal may take a character for a command, or a reader be deceived by it: control characters,
/// and those that are invisible or turn the direction of writing.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Escapes what JSON lets through.
struct TerminalSafe(CompactFormatter);

impl Formatter for TerminalSafe {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(start) = rest.find(is_unsafe) {
            let (safe, from) = rest.split_at(start);
            self.0.write_string_fragment(writer, safe)?;
            let mut characters = from.chars();
            if let Some(character) = characters.next() {
                // All of them lie in the Basic Multilingual Plane.
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
            rest = characters.as_str();
        }
        self.0.write_string_fragment(writer, rest)
    }
}
