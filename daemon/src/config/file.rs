//! Reads the file itself: never more than a configuration can be, and never waiting for what may not come.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The largest configuration.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// How long the other end of a pipe may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads a regular file, or a pipe (`<(command)` of a shell) to its end.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_kind(path, true)
}

/// Reads a regular file alone: nobody who was merely found is waited for.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    read_kind(path, false)
}

fn read_kind(path: &Path, may_be_pipe: bool) -> io::Result<Vec<u8>> {
    // Not blocking: a pipe may have no other end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    let mut bytes = Vec::new();
    let mut limited = (&file).take(MAX_BYTES + 1);
    if kind.is_file() {
        limited.read_to_end(&mut bytes)?;
    } else if kind.is_fifo() && may_be_pipe {
        read_pipe(&file, limited, &mut bytes)?;
    } else if kind.is_dir() {
        return Err(Errno::ISDIR.into());
    } else {
        return Err(io::Error::other("it is no regular file"));
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!(
            "it is longer than {} MiB",
            MAX_BYTES / 1024 / 1024
        )));
    }
    Ok(bytes)
}

fn read_pipe(pipe: &File, mut limited: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // What was read before it would block is kept.
        match limited.read_to_end(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read.map(drop),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        let mut watched = [PollFd::new(pipe, PollFlags::IN)];
        match poll(&mut watched, Some(&left)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::process::Command;
    use std::thread;

    use super::{MAX_BYTES, read, read_regular};

    #[test]
    fn what_has_no_end_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |path: &Path| read(path).unwrap_err().to_string();
        assert_eq!(refused(Path::new("/dev/zero")), "it is no regular file");
        assert!(refused(directory.path()).contains("directory"));
        let large = directory.path().join("large");
        fs::File::create(&large)
            .unwrap()
            .set_len(MAX_BYTES + 1)
            .unwrap();
        assert_eq!(refused(&large), "it is longer than 16 MiB");
    }

    #[test]
    fn a_pipe_is_read_to_its_end_and_one_without_another_end_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(read(&pipe).unwrap(), b"");
        let refused = read_regular(&pipe).unwrap_err();
        assert_eq!(refused.to_string(), "it is no regular file");

        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let reading = thread::spawn(move || read(Path::new(&path)));
        writer.write_all(b"first, ").unwrap();
        // More than a pipe holds, so that the reader has to wait and the writer, too.
        writer.write_all(&[b'x'; 200_000]).unwrap();
        drop(writer);
        let bytes = reading.join().unwrap().unwrap();
        assert_eq!(bytes.len(), 200_007);
        assert!(bytes.starts_with(b"first, "));
    }
}
