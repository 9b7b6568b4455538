//! The files that results are put into: images, audio and blobs, and what is too long to be printed.
//!
//! A server may say neither where they are nor what they are called, only what kind they are, from a list.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{Access, access};
use skills::problem::Problem;

use crate::error::usage;

/// The place for what is no text.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::commands) enum Place {
    /// Files of our own naming in a directory that only we can read.
    Private(PathBuf),
    /// Files of our own naming in a directory of the user's.
    Directory(PathBuf),
    /// The file for the only one.
    File(PathBuf),
    /// Standard output, for the only one.
    Output,
}

impl Place {
    /// The place that the user chose.
    pub(in crate::commands) fn chosen(place: &Path) -> Self {
        if place == Path::new("-") {
            Self::Output
        } else if place.is_dir() {
            Self::Directory(place.to_owned())
        } else {
            Self::File(place.to_owned())
        }
    }

    /// Refuses, before anything is called, a place of the user's that can't be written, and a terminal, which bytes could steer.
    pub(in crate::commands) fn check(&self, out_is_terminal: bool) -> Result<(), Problem> {
        let directory = match self {
            Self::Output if out_is_terminal => {
                return Err(
                    usage("images, audio and blobs are not for a terminal").hint(
                        "send them to a program, with a pipe after the command, or name a file",
                    ),
                );
            }
            Self::Private(_) | Self::Output => return Ok(()),
            Self::Directory(directory) => directory.as_path(),
            Self::File(path) => match path.parent() {
                Some(parent) if parent != Path::new("") => parent,
                _ => Path::new("."),
            },
        };
        let unusable = |what: String| {
            usage(format!("the result can't be written there: {what}")).at_file(directory, None)
        };
        if !directory.is_dir() {
            return Err(unusable("it is not a directory".into()));
        }
        access(directory, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|errno| unusable(std::io::Error::from(errno).to_string()))
    }
}

/// Writes bytes to a new file in a directory of our own, which only its owner can enter.
pub(super) fn write_private(
    directory: &Path,
    position: usize,
    mime: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    // It may have been there, with the modes of whoever made it.
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    write_new(directory, position, mime, bytes)
}

/// Writes bytes to a new file in a directory; its name tells when it was written and which of them it is.
pub(super) fn write_new(
    directory: &Path,
    position: usize,
    mime: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    // Calls side by side write in the same second: the rest of the name is random. The file goes again if it can't be written whole.
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{now}-{position}-"))
        .suffix(&format!(".{}", extension(mime)))
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(directory)?;
    file.write_all(bytes)?;
    let (_, path) = file.keep()?;
    Ok(path)
}

/// Writes bytes to the file that the user named.
pub(super) fn write_to(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file: File = options.open(path)?;
    file.write_all(bytes)
}

fn extension(mime: &str) -> &'static str {
    let essence = mime.split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/mpeg" => "mp3",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/mp4" => "m4a",
        "audio/webm" | "video/webm" => "webm",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "application/xml" | "text/xml" => "xml",
        "text/csv" => "csv",
        "text/html" => "html",
        "text/markdown" => "md",
        "text/plain" => "txt",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::{Place, extension, write_new, write_private, write_to};

    #[test]
    fn a_place_that_is_not_there_is_refused_before_the_call() {
        let directory = tempfile::tempdir().unwrap();
        let here = Place::chosen(&directory.path().join("new.png"));
        assert_eq!(here.check(true), Ok(()));
        assert_eq!(Place::chosen(directory.path()).check(true), Ok(()));
        let nowhere = Place::chosen(&directory.path().join("missing/new.png"));
        let problem = nowhere.check(false).unwrap_err();
        assert!(problem.to_string().contains("missing"), "{problem}");
    }

    #[test]
    fn bytes_of_strangers_are_not_for_a_terminal() {
        assert_eq!(Place::Output.check(false), Ok(()));
        assert_eq!(Place::Output.check(true).unwrap_err().kind.exit_code(), 2);
    }

    #[test]
    fn the_place_is_what_it_looks_like() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        assert_eq!(Place::chosen(Path::new("-")), Place::Output);
        assert_eq!(Place::chosen(&path), Place::Directory(path.clone()));
        let file = path.join("a.png");
        assert_eq!(Place::chosen(&file), Place::File(file));
    }

    #[test]
    fn new_files_are_private_and_never_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("results");
        std::fs::create_dir(&directory).unwrap();
        let path = write_private(&directory, 1, "image/png", b"one").unwrap();
        assert_eq!(path.extension().unwrap(), "png");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
        std::fs::write(&path, "mine").unwrap();
        // The same second and position again.
        let other = write_new(&directory, 1, "image/png", b"two").unwrap();
        assert_ne!(other, path);
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn a_named_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        std::fs::write(&path, "something longer").unwrap();
        write_to(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn parameters_of_a_type_are_passed_over() {
        assert_eq!(extension("Text/Plain; charset=utf-8"), "txt");
        assert_eq!(extension("../../etc/passwd"), "bin");
    }
}
