//! A line as it was read, and as people are shown it.

use std::fmt::Write;

use jiff::tz::TimeZone;

use crate::access_log::record::{EventName, Record, is_unsafe};

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it says.
    pub record: Record,
    /// Whether it is part of a sweep.
    pub scan: bool,
    raw: String,
}

/// The parts of a line as people read them: plain text without anything that could command a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The local time, `2026-11-30 06:12:01`.
    pub time: String,
    /// What happened, one word.
    pub event: &'static str,
    /// The entry, else the path, else the words of a search.
    pub subject: String,
    /// What there is to say of it: the file of an entry that was opened, how a call went.
    pub detail: String,
    /// Who it was, `cat[1234]`; empty for what nobody did.
    pub caller: String,
    /// The caller's session.
    pub session: String,
    /// Whether it is part of a sweep.
    pub scan: bool,
}

impl Line {
    /// Reads a line; `None` when it is damaged.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let raw = String::from_utf8(bytes).ok()?;
        let record = serde_json::from_str(&raw).ok()?;
        Some(Self {
            record,
            scan: false,
            raw,
        })
    }

    /// The line as it stands in the log, with `"scan":true` added where it is part of a sweep.
    pub fn json(&self) -> String {
        match self.raw.trim_ascii_end().strip_suffix('}') {
            Some(open) if self.scan => format!("{open},\"scan\":true}}"),
            _ => self.raw.clone(),
        }
    }

    /// The line as people read it.
    pub fn shown(&self, zone: &TimeZone) -> Shown {
        let record = &self.record;
        let time = record.time.to_zoned_datetime(zone.clone());
        let command = record.command.as_deref().unwrap_or_default();
        Shown {
            time: time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            event: record.event.as_str(),
            subject: printable(subject(record)),
            detail: printable(&detail(record)),
            caller: match record.pid {
                Some(pid) => format!("{}[{pid}]", printable(command)),
                None => String::new(),
            },
            session: printable(record.session.as_deref().unwrap_or_default()),
            scan: self.scan,
        }
    }
}

fn subject(record: &Record) -> &str {
    let entry = record.entry.as_ref().map(|entry| entry.as_str());
    entry
        .or(record.path.as_deref())
        .or(record.query.as_deref())
        .or(record.query_hash.as_deref())
        .unwrap_or_default()
}

fn detail(record: &Record) -> String {
    let mut text = String::new();
    match record.event {
        EventName::Open => {
            if let (Some(_), Some(path)) = (&record.entry, &record.path) {
                text.clone_from(path);
            }
        }
        EventName::Call | EventName::Read | EventName::Prompt => {
            if let Some(asked) = record.uri.as_ref().or(record.prompt.as_ref()) {
                let _ = write!(text, "{asked}, ");
            }
            text.push_str(match (record.ok, &record.kind) {
                (Some(true), _) => "ok",
                (_, Some(kind)) => kind,
                (_, None) => "failed",
            });
            if let Some(duration) = record.duration_ms {
                let _ = write!(text, ", {duration} ms");
            }
            if let Some(bytes) = record.result_bytes {
                let _ = write!(text, ", {bytes} bytes");
            }
        }
        EventName::Search => {
            if let Some(matches) = record.matches {
                let _ = write!(text, "{matches} matches");
            }
            text.push_str(record.kind.as_deref().unwrap_or_default());
        }
        EventName::Dropped => {
            let _ = write!(text, "{} events were not logged", record.n.unwrap_or(0));
        }
        EventName::Approve | EventName::Show => {
            text.push_str(record.kind.as_deref().unwrap_or_default());
        }
        EventName::Load | EventName::Deny | EventName::Other => {}
    }
    text
}

fn printable(text: &str) -> String {
    text.replace(is_unsafe, "\u{fffd}")
}
