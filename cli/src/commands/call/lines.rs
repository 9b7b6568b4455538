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
    from: Box<dyn BufRead + Send>,
    permits: Receiver<()>,
    to: Sender<super::each::Event>,
) {
    let mut lines = Lines {
        from,
        number: 0,
        is_over: false,
    };
    thread::spawn(move || {
        while permits.recv().is_ok() {
            let line = lines.next();
            let is_end = line.is_none();
            if to.send(super::each::Event::Line(line)).is_err() || is_end {
                return;
            }
        }
    });
}

/// The lines that hold something. An error of reading is the last of them: what comes after it can't be told from what is lost.
struct Lines<R> {
    from: R,
    /// How many were read.
    number: usize,
    /// Whether nothing more is read.
    is_over: bool,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        while !self.is_over {
            self.number += 1;
            let text = match next(&mut self.from) {
                Ok(None) => return None,
                Ok(Some(Ok(text))) if text.trim().is_empty() => continue,
                Ok(Some(text)) => text,
                Err(error) => {
                    self.is_over = true;
                    Err(usage(format!("the line can't be read: {error}")))
                }
            };
            return Some(Line {
                number: self.number,
                text,
            });
        }
        None
    }
}

/// The next line, no longer than a request can hold, or what is wrong with it.
///
/// # Errors
/// That of the reading.
fn next(from: &mut dyn BufRead) -> io::Result<Option<Result<String, Problem>>> {
    let mut line = Vec::new();
    from.take(MAX_LINE as u64 + 1)
        .read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > MAX_LINE {
        if !line.ends_with(b"\n") {
            skip_line(from)?;
        }
        let limit = MAX_LINE / 1024 / 1024;
        let why = format!("the line is too long: more than {limit} MiB");
        return Ok(Some(Err(usage(why))));
    }
    let text = String::from_utf8(line);
    Ok(Some(text.map_err(|error| {
        usage(format!("the line is no text: {error}"))
    })))
}

fn skip_line(from: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let held = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            held => held?,
        };
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
    use std::io::{self, BufReader, Read};

    use daemon::protocol::MAX_LINE;

    use super::{Lines, next};

    /// Gives what it holds, and then errors for ever, as a directory does.
    struct Broken(&'static [u8]);

    impl Read for Broken {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.0.read(into)? {
                0 => Err(io::Error::other("it broke")),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn lines_are_taken_one_by_one_and_long_ones_left_out() {
        let long = format!("{}\n", "x".repeat(MAX_LINE + 5));
        let text = format!("a\n{long}\nb");
        let mut from: &[u8] = text.as_bytes();
        let mut line = || next(&mut from).unwrap();
        assert_eq!(line().unwrap().unwrap(), "a\n");
        let problem = line().unwrap().unwrap_err();
        assert!(problem.message.contains("too long"), "{problem}");
        assert_eq!(line().unwrap().unwrap(), "\n");
        assert_eq!(line().unwrap().unwrap(), "b");
        assert!(line().is_none());
        let mut no_text: &[u8] = b"\xff\n";
        assert!(next(&mut no_text).unwrap().unwrap().is_err());
    }

    #[test]
    fn an_error_of_reading_is_told_once_and_ends_the_lines() {
        let lines = Lines {
            from: BufReader::new(Broken(b"a\n\nb\n")),
            number: 0,
            is_over: false,
        };
        let told: Vec<_> = lines.take(9).collect();
        let numbers: Vec<_> = told.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 3, 4]);
        let problem = told[2].text.as_ref().unwrap_err();
        assert_eq!(problem.kind.exit_code(), 2);
        assert!(problem.message.contains("it broke"), "{problem}");
    }
}
