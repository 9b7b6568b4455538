//! Server-sent events from the bytes of a stream, under a limit. Knows neither HTTP nor MCP.
//!
//! Not a library's, since those keep an event of any length.

use std::collections::VecDeque;
use std::time::Duration;

/// The longest wait that a server may ask for.
const MAX_RETRY: Duration = Duration::from_secs(300);

/// What a stream said, in the order in which it was said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The data of an event that has some.
    Data(Vec<u8>),
    /// An event over the limit, which was not kept.
    TooLong {
        /// Its length in bytes, as far as it was read.
        bytes: usize,
    },
}

/// Takes events from the bytes of one stream.
#[derive(Debug)]
pub(super) struct Events {
    limit: usize,
    line: Vec<u8>,
    /// Whether the line that is being read is empty so far.
    is_blank: bool,
    data: Option<Vec<u8>>,
    /// The bytes of the event that is being read.
    bytes: usize,
    /// Whether the last byte was a carriage return, to which a line feed may still belong.
    after_return: bool,
    at_start: bool,
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    ready: VecDeque<Event>,
}

impl Events {
    /// Reads events of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self::resumed(limit, None, None)
    }

    /// Reads a stream that goes on with an earlier one, from which it has these.
    pub(super) fn resumed(limit: usize, last_id: Option<String>, retry: Option<Duration>) -> Self {
        Self {
            limit,
            line: Vec::new(),
            is_blank: true,
            data: None,
            bytes: 0,
            after_return: false,
            at_start: true,
            id: last_id.clone(),
            last_id,
            retry,
            ready: VecDeque::new(),
        }
    }

    /// The id from which the stream can be resumed.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants to be left alone before the stream is resumed.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The next event of what was fed.
    pub(super) fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    /// Takes the next bytes of the stream.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            self.is_blank &= part.is_empty();
            self.bytes += part.len();
            // What is over the limit is counted, and kept no more.
            if self.bytes <= self.limit {
                self.line.extend_from_slice(part);
            }
            let Some(end) = end else {
                return;
            };
            self.after_return = rest[end] == b'\r';
            self.end_line();
            rest = &rest[end + 1..];
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_blank = std::mem::replace(&mut self.is_blank, true);
        if self.bytes > self.limit && !is_blank {
            // A line that was cut means nothing, but it is not the end of the event.
            return;
        }
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"id" if !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let milliseconds = String::from_utf8_lossy(value).parse().unwrap_or(u64::MAX);
                self.retry = Some(Duration::from_millis(milliseconds).min(MAX_RETRY));
            }
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let data = self.data.take();
        // Only a whole event moves the place to resume from; an empty id takes it away.
        self.last_id = self.id.clone().filter(|id| !id.is_empty());
        if bytes > self.limit {
            self.ready.push_back(Event::TooLong { bytes });
        } else if let Some(data) = data.filter(|data| !data.is_empty()) {
            self.ready.push_back(Event::Data(data));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]], limit: usize) -> (Vec<Event>, Events) {
        let mut events = Events::new(limit);
        let mut all = Vec::new();
        for chunk in chunks {
            events.feed(chunk);
            while let Some(event) = events.next() {
                all.push(event);
            }
        }
        (all, events)
    }

    fn data(text: &str) -> Event {
        Event::Data(text.as_bytes().to_vec())
    }

    const STREAM: &str = "\u{feff}: a comment\r\nid: 1\r\nretry: 500\r\ndata: \r\n\r\nevent: message\rid:2\rdata: {\"a\":\rdata:  1}\r\r\
        id: 3\n\ndata\n\nretry: soon\nid: x\0y\ndata:ü\n\nid: 4\ndata: cut off";

    #[test]
    fn fields_are_read_whatever_ends_the_lines() {
        let (all, events) = read(&[STREAM.as_bytes()], 100);
        assert_eq!(all, [data("{\"a\":\n 1}"), data("ü")]);
        assert_eq!(events.last_id(), Some("3"));
        assert_eq!(events.retry(), Some(Duration::from_millis(500)));
    }

    #[test]
    fn an_event_over_the_limit_does_not_spoil_the_next() {
        let long = format!("id: 7\ndata: {}\ndata: b\n\ndata: c\n\n", "a".repeat(500));
        let (all, events) = read(&[long.as_bytes()], 100);
        assert!(
            matches!(all[0], Event::TooLong { bytes } if bytes > 500),
            "{all:?}"
        );
        assert_eq!(all[1..], [data("c")]);
        assert_eq!(events.last_id(), Some("7"));
    }

    #[test]
    fn an_empty_id_takes_the_place_to_resume_from_away() {
        let (_, events) = read(&[b"id: 1\ndata: a\n\nid\ndata: b\n\n"], 100);
        assert_eq!(events.last_id(), None);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(cuts in prop::collection::vec(0..STREAM.len(), 0..6)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&STREAM.as_bytes()[from..cut]);
                from = cut;
            }
            chunks.push(&STREAM.as_bytes()[from..]);
            prop_assert_eq!(read(&chunks, 100).0, read(&[STREAM.as_bytes()], 100).0);
        }
    }
}
