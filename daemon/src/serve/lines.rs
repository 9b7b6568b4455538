//! The lines of the client, none longer than what is kept in memory for one.

use std::io::{self, BufRead};

/// The longest message in bytes. The daemon takes calls up to [`MAX_LINE`](crate::protocol::MAX_LINE); what lies between is refused by it, with
/// an answer to the request.
const LONGEST: usize = 16 * 1024 * 1024;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// All of it, with its end where it has one.
    Whole(&'a [u8]),
    /// It was passed over.
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    longest: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self::up_to(input, LONGEST)
    }

    const fn up_to(input: R, longest: usize) -> Self {
        Self {
            input,
            line: Vec::new(),
            longest,
        }
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let mut is_too_long = false;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            is_too_long |= self.line.len() + taken > self.longest;
            if is_too_long {
                // What was kept of it is of no use, and need not stay.
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if end.is_none() && taken > 0 {
                continue;
            }
            return Ok(match (is_too_long, self.line.is_empty()) {
                (true, _) => Some(Line::TooLong),
                (false, true) => None,
                (false, false) => Some(Line::Whole(&self.line)),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Line, Lines};

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let text: &[u8] = b"one\n0123456789abcdef\n\ntwo\nlast";
        // A buffer that is shorter than the lines: they come in parts.
        let mut lines = Lines::up_to(BufReader::with_capacity(3, text), 10);
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"one\n")));
        assert_eq!(lines.next().unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"\n")));
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"two\n")));
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"last")));
        assert_eq!(lines.next().unwrap(), None);
    }
}
