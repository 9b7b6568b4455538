//! The only module that prints: data to stdout, everything else to stderr.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "whatever is printed is printed here"
)]

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use skills::problem::Problem;

use crate::error::CommandError;

/// Where a command's output goes.
#[derive(Debug)]
pub(crate) struct Ui {
    out_is_terminal: bool,
    err_is_terminal: bool,
    color: bool,
    /// Whether a line of progress stands on the terminal, to be wiped before the next output.
    progress: Cell<bool>,
}

const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const CYAN: &str = "36";

impl Ui {
    /// Finds out what stdout and stderr are.
    pub(crate) fn new(no_color: bool) -> Self {
        let err_is_terminal = io::stderr().is_terminal();
        Self {
            out_is_terminal: io::stdout().is_terminal(),
            err_is_terminal,
            color: err_is_terminal && !no_color,
            progress: Cell::new(false),
        }
    }

    /// Whether a terminal shows what is written to stdout.
    pub(crate) const fn out_is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// Writes data as it is.
    pub(crate) fn data(&self, bytes: &[u8]) -> io::Result<()> {
        self.wipe_progress();
        let mut out = io::stdout().lock();
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(|e| io::Error::new(e.kind(), format!("standard output can't be written: {e}")))
    }

    /// Writes text that may hold names of strangers; a terminal gets it without what would steer it.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        if self.out_is_terminal {
            self.data(harmless(text).as_bytes())
        } else {
            self.data(text.as_bytes())
        }
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json<T: Serialize>(&self, value: &T) -> Result<(), CommandError> {
        let mut line = serde_json::to_vec(value).map_err(anyhow::Error::from)?;
        line.push(b'\n');
        Ok(self.data(&line)?)
    }

    /// Says on stderr what is no data, as it is but for what would steer a terminal: somebody looks at it in the end.
    pub(crate) fn note(&self, text: &str) {
        self.wipe_progress();
        let text = harmless(text);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        // Nobody is left to be told that stderr is closed.
        let _ = write!(io::stderr().lock(), "{text}{end}");
    }

    /// Says on stderr what is asked; the answer is typed on the same line.
    pub(crate) fn prompt(&self, text: &str) {
        self.wipe_progress();
        self.complain(&harmless(text));
    }

    /// Says what to look at.
    pub(crate) fn warning(&self, text: &str) {
        self.labelled("warning", YELLOW, text);
    }

    /// Says what to do.
    pub(crate) fn hint(&self, text: &str) {
        self.labelled("hint", CYAN, text);
    }

    /// Says why a command did not work.
    pub(crate) fn error(&self, error: &CommandError) {
        match error {
            CommandError::Problem(problem) => self.problem(problem),
            CommandError::Other(error) => self.labelled("error", RED, &format!("{error:#}")),
            CommandError::Tool
            | CommandError::Findings
            | CommandError::Shown(_)
            | CommandError::BrokenPipe => {}
        }
    }

    fn problem(&self, problem: &Problem) {
        self.labelled("error", RED, &problem.to_string());
        if let Some(hint) = &problem.hint {
            self.hint(hint);
        }
    }

    /// Shows what goes on, on a terminal only: the line is replaced by the next output.
    pub(crate) fn progress(&self, text: &str) {
        if !self.err_is_terminal {
            return;
        }
        let text = skills::summary::one_line(text);
        self.wipe_progress();
        let mut err = io::stderr().lock();
        // A line that wraps could not be wiped again.
        let short: String = text.chars().take(75).collect();
        let _ = write!(err, "{short}");
        let _ = err.flush();
        self.progress.set(true);
    }

    /// Shows what clap has to say: help and the version on stdout, faults on stderr.
    pub(crate) fn clap(&self, error: &clap::Error) -> io::Result<()> {
        let rendered = error.render();
        if error.use_stderr() {
            if self.color {
                self.complain(&rendered.ansi().to_string());
            } else {
                self.complain(&rendered.to_string());
            }
            Ok(())
        } else {
            self.data(rendered.to_string().as_bytes())
        }
    }

    fn labelled(&self, label: &str, color: &str, text: &str) {
        self.wipe_progress();
        let text = harmless(text);
        if self.color {
            self.complain(&format!("\x1b[{color}m{label}:\x1b[0m {text}\n"));
        } else {
            self.complain(&format!("{label}: {text}\n"));
        }
    }

    fn complain(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn wipe_progress(&self) {
        if self.progress.take() {
            let _ = io::stderr().lock().write_all(b"\r\x1b[2K");
        }
    }
}

/// Writes a line about a daemon to its stderr, from whatever thread.
pub(crate) fn diagnostic(line: &str) {
    let line = harmless(line);
    let _ = io::stderr()
        .lock()
        .write_all(format!("{line}\n").as_bytes());
}

/// What a terminal may be shown: no control characters but line breaks and tabs, nothing that turns the direction of text.
fn harmless(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(steers) {
        text.replace(steers, "").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn a_terminal_is_not_steered() {
        let text = "a\x1b[2Jb\u{202e}c\td\n\u{9b}31me\r";
        assert_eq!(harmless(text), "a[2Jbc\td\n31me");
    }
}
