//! What a daemon has to say while it runs, as lines on its stderr: warnings, and news of our own crates.

use std::fmt::{self, Write};

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::ui;

/// From now on, what is traced is printed. Called once, by a process that becomes a daemon.
pub(crate) fn print() {
    // It fails only when it was called before, which changes nothing.
    let _ = tracing::subscriber::set_global_default(Printer);
}

/// Prints events and knows no spans.
struct Printer;

impl Subscriber for Printer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && is_wanted(metadata.target(), *metadata.level())
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        ui::diagnostic(&format!(
            "{:.3} {level}: {}{}",
            Timestamp::now(),
            line.message,
            line.fields
        ));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Whether an event is worth a line: a warning of anybody, news of our own crates.
fn is_wanted(target: &str, level: Level) -> bool {
    let ours = matches!(target.split("::").next(), Some("daemon" | "skills"));
    level <= if ours { Level::INFO } else { Level::WARN }
}

/// An event's message, and its fields behind it.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string can't fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, ", {name}: {value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::is_wanted;

    #[test]
    fn of_others_only_warnings_are_wanted() {
        assert!(is_wanted("daemon::mount", Level::INFO));
        assert!(!is_wanted("daemon::mount", Level::DEBUG));
        assert!(is_wanted("rmcp::service", Level::WARN));
        assert!(!is_wanted("rmcp::service", Level::INFO));
        assert!(!is_wanted("daemonology", Level::INFO));
    }
}
