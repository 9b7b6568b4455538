//! `shelf log`.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::{Args, ValueEnum};
use daemon::access_log::reader::{Filter, Follow, Line, Reader};
use daemon::access_log::record::EventName;
use daemon::instance;
use daemon::protocol::Describe;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};

use crate::duration;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::{Which, connect_within, target};
use crate::ui::Ui;

/// How long a daemon may take to write what it holds back.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Print what was opened, shown, handed out and called, newest last
///
/// The log holds opens: what the kernel reads again from its cache is not seen. Lines that are part of a sweep (`grep -r`, an indexer) are marked.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf log --since 10m --no-scans\n  shelf log --entry everything/echo --json | jq 'select(.event == \"call\").duration_ms'"
)]
pub(crate) struct Arguments {
    /// Go on, and print what happens as it happens
    #[arg(short, long)]
    follow: bool,

    /// Begin this long ago, or at this time (10m, 2h, 2026-11-30, 2026-11-30T06:00, 2026-11-30T06:00:00Z)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,

    /// Print only what concerns this entry
    #[arg(long, value_name = "ID")]
    entry: Option<OsString>,

    /// Print only what this session did
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,

    /// Print only such events; can be given several times
    #[arg(long = "event", value_enum, value_name = "EVENT")]
    events: Vec<Event>,

    /// Leave out sweeps
    #[arg(long)]
    no_scans: bool,

    /// Print the lines as they are stored, as JSON
    #[arg(long)]
    json: bool,
}

/// What a line may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Event {
    /// A file was opened through the mount
    Open,
    /// `shelf show`
    Show,
    /// `shelf search`
    Search,
    /// A definition was handed out to a session
    Load,
    /// `shelf call`
    Call,
    /// `shelf read`
    Read,
    /// `shelf prompt`
    Prompt,
    /// Events were not logged
    Dropped,
}

impl Event {
    const fn name(self) -> EventName {
        match self {
            Self::Open => EventName::Open,
            Self::Show => EventName::Show,
            Self::Search => EventName::Search,
            Self::Load => EventName::Load,
            Self::Call => EventName::Call,
            Self::Read => EventName::Read,
            Self::Prompt => EventName::Prompt,
            Self::Dropped => EventName::Dropped,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let filter = Filter {
        since: arguments.since,
        entry: match &arguments.entry {
            Some(entry) => Some(entry_id(entry, environment)?),
            None => None,
        },
        session: arguments.session.clone(),
        events: arguments.events.iter().map(|event| event.name()).collect(),
        no_scans: arguments.no_scans,
    };
    flush(environment);
    let reader = Reader::open(&environment.access_log()?)?;
    let zone = TimeZone::system();
    let print = |line: &Line| {
        let text = if arguments.json {
            line.json()
        } else {
            shown(line, &zone)
        };
        ui.text(&format!("{}\n", text.trim_end()))
    };
    if arguments.follow {
        let mut lines = reader.follow(filter);
        loop {
            match lines.next(Timestamp::now()) {
                Some(line) => print(&line)?,
                None => std::thread::sleep(Follow::INTERVAL),
            }
        }
    }
    let mut lines = reader.lines(filter);
    let mut nothing = true;
    for line in lines.by_ref() {
        nothing = false;
        print(&line)?;
    }
    if lines.damaged() > 0 {
        ui.warning(&format!(
            "{} damaged lines were passed over",
            lines.damaged()
        ));
    }
    let is_filtered = arguments.entry.is_some() || arguments.session.is_some();
    if nothing && (is_filtered || !arguments.events.is_empty()) {
        return Err(Problem::new(ProblemKind::NotFound, "no line of the log matches").into());
    }
    Ok(())
}

/// Has every daemon write what it holds back. One that does not, or is of another version, keeps nobody from reading what is there.
fn flush(environment: &Environment) {
    let running = instance::running(&environment.runtime()).unwrap_or_default();
    for about in running {
        let client = connect_within(environment, &about.socket, FLUSH_LIMIT);
        let _ = client.and_then(|mut client| client.flush());
    }
}

/// The id of an entry that may be given as a path: only the daemon of its mount knows what a path stands for.
fn entry_id(argument: &OsStr, environment: &Environment) -> Result<EntryId, Problem> {
    let target = target(argument, environment)?;
    if target.path.is_none() {
        return Ok(EntryId(target.entry.into()));
    }
    let mut client = Which::default().connect(environment, target.path.as_deref())?;
    let description = client.describe(&Describe {
        entry: target.entry,
        shown: false,
        wait_ms: 0,
    })?;
    Ok(description.id)
}

/// Reads a length of time that ends now, or a moment.
fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(ago) = duration::parse(text) {
        return before(ago).ok_or_else(|| format!("{text} ago is before all time"));
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    text.parse::<DateTime>()
        .and_then(|local| local.to_zoned_datetime(TimeZone::system()))
        .map(|zoned| zoned.timestamp())
        .map_err(|_| "a time looks like 10m, 2h, 2026-11-30 or 2026-11-30T06:00:00Z".to_owned())
}

fn before(ago: Duration) -> Option<Timestamp> {
    Timestamp::now().checked_sub(ago).ok()
}

fn shown(line: &Line, zone: &TimeZone) -> String {
    let shown = line.shown(zone);
    let mut text = format!("{}  {:7}  {}", shown.time, shown.event, shown.subject);
    for part in [&shown.detail, &shown.caller, &shown.session] {
        if !part.is_empty() {
            text.push_str("  ");
            text.push_str(part);
        }
    }
    if shown.scan {
        text.push_str("  (scan)");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use jiff::{SignedDuration, Timestamp};

    use super::{Event, since};

    #[test]
    fn an_event_is_named_as_in_the_log() {
        for event in Event::value_variants() {
            let word = event.to_possible_value().unwrap();
            assert_eq!(word.get_name(), event.name().as_str());
        }
    }

    #[test]
    fn since_takes_lengths_and_moments() {
        let then = since("10m").unwrap();
        let ago = Timestamp::now().duration_since(then);
        assert!(ago >= SignedDuration::from_mins(10) && ago < SignedDuration::from_mins(11));
        assert_eq!(
            since("1970-01-01T00:00:00Z").unwrap(),
            Timestamp::UNIX_EPOCH
        );
        assert!(since("2026-11-30").is_ok());
        assert!(since("2026-11-30T06:00").is_ok());
        assert!(since("yesterday").unwrap_err().contains("10m"));
    }
}
