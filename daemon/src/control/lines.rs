//! Lines of bounded length from a socket.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::protocol::MAX_LINE;

/// Reads lines. A read that is dropped half way loses nothing: what had come stays here.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    partial: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader: BufReader::new(reader),
            partial: Vec::new(),
        }
    }

    /// The next line without its end; `None` when the other side has closed. A line cut short by that is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            if self.partial.len() + taken > MAX_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a message is longer than {MAX_LINE} bytes"),
                ));
            }
            self.partial.extend_from_slice(&available[..taken]);
            self.reader.consume(end.map_or(taken, |end| end + 1));
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.partial)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, MAX_LINE};

    #[tokio::test]
    async fn lines_are_split_and_a_last_half_one_is_dropped() {
        let mut lines = Lines::new(&b"one\n\ntwo\nthr"[..]);
        assert_eq!(lines.next().await.unwrap().unwrap(), b"one");
        assert_eq!(lines.next().await.unwrap().unwrap(), b"");
        assert_eq!(lines.next().await.unwrap().unwrap(), b"two");
        assert!(lines.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn the_length_is_bounded_exactly() {
        let mut longest = vec![b'x'; MAX_LINE];
        longest.push(b'\n');
        let mut lines = Lines::new(longest.as_slice());
        assert_eq!(lines.next().await.unwrap().unwrap().len(), MAX_LINE);

        longest.insert(0, b'x');
        let mut lines = Lines::new(longest.as_slice());
        assert!(lines.next().await.is_err());
    }
}
