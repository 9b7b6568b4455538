//! What a server prints beside its messages: whole in a file, and the end of it in memory for errors.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// How much is kept for errors.
const TAIL: usize = 4 * 1024;
/// How large the file may grow; a server that prints without end must not fill the disk.
const MAX_FILE: usize = 4 * 1024 * 1024;

/// The log of one start of a server.
#[derive(Clone, Debug)]
pub(super) struct ServerLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    tail: VecDeque<u8>,
    file: Option<File>,
    room: usize,
}

impl ServerLog {
    /// Empties or makes the file, readable by its owner alone. Without a file the tail is still kept.
    pub(super) fn create(path: &Path) -> Self {
        let file = || {
            if let Some(directory) = path.parent() {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(directory)?;
            }
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(path)
        };
        let file = file()
            .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "no server log"))
            .ok();
        Self(Arc::new(Shared {
            path: path.to_owned(),
            written: Mutex::new(Written {
                tail: VecDeque::new(),
                file,
                room: MAX_FILE,
            }),
        }))
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Keeps a line of standard output that is no message.
    pub(super) fn noise(&self, line: &str) {
        self.write(format!("stdout: {line}\n").as_bytes());
    }

    /// Reads standard error to its end, so that the server never blocks on it. The token is cancelled at the end.
    pub(super) fn drain(
        &self,
        mut stderr: impl AsyncRead + Send + Unpin + 'static,
    ) -> CancellationToken {
        let drained = CancellationToken::new();
        let (log, done) = (self.clone(), drained.clone().drop_guard());
        tokio::spawn(async move {
            let _done = done;
            let mut buffer = vec![0; 8 * 1024];
            while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
                log.write(&buffer[..length]);
            }
        });
        drained
    }

    /// The end of what was printed: whole lines where it has several, control characters left out.
    pub(super) fn tail(&self) -> String {
        let bytes: Vec<u8> = self.written().tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = match text.split_once('\n') {
            Some((_, rest)) if bytes.len() >= TAIL => rest,
            _ => &text,
        };
        strip_escapes(text).trim_end().to_owned()
    }

    /// Begins the end anew, for another start that goes to the same file.
    pub(super) fn forget(&self) {
        self.written().tail.clear();
    }

    fn write(&self, bytes: &[u8]) {
        let mut written = self.written();
        written.tail.extend(bytes);
        let surplus = written.tail.len().saturating_sub(TAIL);
        written.tail.drain(..surplus);
        let fits = bytes.len().min(written.room);
        written.room -= fits;
        if let Some(file) = &mut written.file
            && file.write_all(&bytes[..fits]).is_err()
        {
            // A full disk costs the file, never the server.
            written.file = None;
        }
    }

    fn written(&self) -> std::sync::MutexGuard<'_, Written> {
        self.0
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of standard error, but not for ever: a stray grandchild may hold it open.
pub(super) async fn wait_drained(drained: &CancellationToken, limit: Duration) {
    let _ = tokio::time::timeout(limit, drained.cancelled()).await;
}

/// Leaves out terminal escapes and other control characters, which strangers must not send to a terminal.
fn strip_escapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.peek() == Some(&'[') => {
                characters.next();
                // A control sequence ends with its first byte from @ to ~.
                for parameter in characters.by_ref() {
                    if ('@'..='~').contains(&parameter) {
                        break;
                    }
                }
            }
            '\n' | '\t' => clean.push(character),
            _ if character.is_control() => {}
            _ => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::{MAX_FILE, ServerLog, TAIL};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keeps_the_end_and_bounds_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("servers/x.log");
        let log = ServerLog::create(&path);
        for number in 0..200_000 {
            log.write(format!("\u{1b}[31mline {number}\u{1b}[0m of this\r\n").as_bytes());
        }
        let tail = log.tail();
        assert!(tail.len() < TAIL, "{}", tail.len());
        assert!(tail.starts_with("line "), "{tail}");
        assert!(tail.ends_with("line 199999 of this"), "{tail}");
        let data = path.metadata().unwrap();
        assert_eq!(data.len(), MAX_FILE as u64);
        assert_eq!(data.permissions().mode() & 0o777, 0o600);
        ServerLog::create(&path);
        assert_eq!(path.metadata().unwrap().len(), 0);
    }
}
