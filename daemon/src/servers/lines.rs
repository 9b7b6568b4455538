//! Lines from a stranger, under a limit. A line over the limit is not kept, but the id that it carried is, so that one
//! request fails and not the connection. Knows nothing of MCP.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::envelope::Envelope;

/// How much of the outermost object of an over-long line is kept.
const MAX_OUTLINE: usize = 4 * 1024;

/// One line, or what is left of one that was too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line within the limit, without its end.
    Whole(Vec<u8>),
    /// A line over the limit.
    TooLong {
        /// The JSON-RPC id that it carried.
        id: Option<i64>,
        /// Its length in bytes.
        bytes: usize,
    },
}

/// Reads lines under a limit.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `limit` bytes.
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            limit,
        }
    }

    /// The next line; `None` at the end. A last line without an end counts as one.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut bytes = 0;
        let mut outline: Option<Outline> = None;
        loop {
            let chunk = self.reader.fill_buf().await?;
            let at_end = chunk.is_empty();
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            bytes += part.len();
            match &mut outline {
                Some(outline) => outline.feed(part),
                None if bytes > self.limit => {
                    let mut fresh = Outline::default();
                    fresh.feed(&line);
                    fresh.feed(part);
                    line = Vec::new();
                    outline = Some(fresh);
                }
                None => line.extend_from_slice(part),
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() || at_end {
                return Ok(match outline {
                    Some(outline) => Some(Line::TooLong {
                        id: outline.id(),
                        bytes,
                    }),
                    None if at_end && line.is_empty() => None,
                    None => Some(Line::Whole(line)),
                });
            }
        }
    }
}

/// The outermost object of a JSON text, with everything inside nested containers left out: small, still JSON, and it
/// has the `id` wherever the server put it.
#[derive(Debug, Default)]
struct Outline {
    kept: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Outline {
    fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let structural = !self.in_string;
            if structural && matches!(byte, b'}' | b']') {
                self.depth = self.depth.saturating_sub(1);
            }
            let opens = structural && matches!(byte, b'{' | b'[');
            // The brackets of a container at depth 1 stay, so that the outline is JSON.
            if self.depth <= 1 && self.kept.len() < MAX_OUTLINE {
                self.kept.push(byte);
            }
            if opens {
                self.depth += 1;
            }
            if self.escaped {
                self.escaped = false;
            } else if self.in_string && byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = !self.in_string;
            }
        }
    }

    fn id(&self) -> Option<i64> {
        let text = std::str::from_utf8(&self.kept).ok()?;
        Envelope::parse(text)?.id()
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Lines};

    async fn read(text: &str, limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(text.as_bytes(), limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn lines_end_with_or_without_a_line_end() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(
            read("a\n\nb", 10).await,
            [whole("a"), whole(""), whole("b")]
        );
    }

    #[tokio::test]
    async fn a_line_over_the_limit_keeps_its_id_wherever_it_stands() {
        let filler = "x".repeat(100_000);
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"t":["{filler}"],"id":9}}}}"#),
            format!(r#"{{"result":{{"t":"{filler}\"]}}","id":9}},"jsonrpc":"2.0","id":"7"}}"#),
        ] {
            let lines = read(&format!("{text}\nnext\n"), 1000).await;
            assert_eq!(
                lines,
                [
                    Line::TooLong {
                        id: Some(7),
                        bytes: text.len()
                    },
                    Line::Whole(b"next".to_vec())
                ]
            );
        }
    }
}
