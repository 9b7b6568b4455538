//! The lines of `--each`, read no further ahead than their results can be kept.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

use daemon::protocol::MAX_LINE;
use skills::problem::Problem;

use crate::error::usage;

/// A line that holds something.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from one, with the lines that hold nothing.
    pub(super) number: usize,
    /// Its text, or why it has none.
    pub(super) text: Result<String, Problem>,
}

/// Opens a file of lines; `-` is standard input.
pub(super) fn open(file: &str) -> Result<Box<dyn BufRead + Send>, Problem> {
    if file == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    match File::open(file) {
        Ok(opened) => Ok(Box::new(BufReader::new(opened))),
        Err(error) => Err(usage(format!("the lines can't be read: {error}")).at_file(file, None)),
    }
}

/// Reads lines on a thread of its own, one for each permit; `None` is the end. The thread ends with the process: nobody can wake it from a read.
pub(super) fn read(
    mut from: Box<dyn BufRead + Send>,
    permits: Receiver<()>,
    to: Sender<super::each::Event>,
) {
    thread::spawn(move || {
        let mut number = 0;
        while permits.recv().is_ok() {
            let line = loop {
                number += 1;
                match next(&mut from) {
                    None => break None,
                    Some(Ok(text)) if text.trim().is_empty() => {}
                    Some(text) => break Some(Line { number, text }),
                }
            };
            let is_end = line.is_none();
            if to.send(super::each::Event::Line(line)).is_err() || is_end {
                return;
            }
        }
    });
}

/// The next line, no longer than a request can hold.
fn next(from: &mut dyn BufRead) -> Option<Result<String, Problem>> {
    let mut line = Vec::new();
    let read = from.take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
    if let Err(error) = read {
        return Some(Err(usage(format!("the line can't be read: {error}"))));
    }
    if line.is_empty() {
        return None;
    }
    if line.len() > MAX_LINE {
        let limit = MAX_LINE / 1024 / 1024;
        let rest = if line.ends_with(b"\n") {
            Ok(())
        } else {
            skip_line(from)
        };
        let why = rest.map_or_else(
            |error| error.to_string(),
            |()| format!("more than {limit} MiB"),
        );
        return Some(Err(usage(format!("the line is too long: {why}"))));
    }
    let text = String::from_utf8(line);
    Some(text.map_err(|error| usage(format!("the line is no text: {error}"))))
}

fn skip_line(from: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let held = from.fill_buf()?;
        let (length, is_end) = match held.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (held.len(), held.is_empty()),
        };
        from.consume(length);
        if is_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use daemon::protocol::MAX_LINE;

    use super::next;

    #[test]
    fn lines_are_taken_one_by_one_and_long_ones_left_out() {
        let long = format!("{}\n", "x".repeat(MAX_LINE + 5));
        let text = format!("a\n{long}\nb");
        let mut from: &[u8] = text.as_bytes();
        assert_eq!(next(&mut from).unwrap().unwrap(), "a\n");
        let problem = next(&mut from).unwrap().unwrap_err();
        assert!(problem.message.contains("too long"), "{problem}");
        assert_eq!(next(&mut from).unwrap().unwrap(), "\n");
        assert_eq!(next(&mut from).unwrap().unwrap(), "b");
        assert!(next(&mut from).is_none());
        let mut no_text: &[u8] = b"\xff\n";
        assert!(next(&mut no_text).unwrap().is_err());
    }
}
