//! Where images, audio and blobs of a result go.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{Access, access};
use skills::problem::Problem;

use crate::error::usage;

/// The place for what is no text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
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
    pub(super) fn chosen(place: &Path) -> Self {
        if place == Path::new("-") {
            Self::Output
        } else if place.is_dir() {
            Self::Directory(place.to_owned())
        } else {
            Self::File(place.to_owned())
        }
    }

    /// Refuses, before anything is called, a place of the user's that can't be written.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let directory = match self {
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

/// Writes bytes to a new file in a directory; its name tells when, by whom and which of them it is.
pub(super) fn write_new(
    directory: &Path,
    position: usize,
    mime: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let name = format!(
        "{now}-{}-{position}.{}",
        std::process::id(),
        extension(mime)
    );
    let path = directory.join(name);
    private().create_new(true).open(&path)?.write_all(bytes)?;
    Ok(path)
}

/// Writes bytes to the file that the user named.
pub(super) fn write_to(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File = private().create(true).truncate(true).open(path)?;
    file.write_all(bytes)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
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
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "text/html" => "html",
        "text/plain" => "txt",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::{Place, extension, write_new, write_to};

    #[test]
    fn a_place_that_is_not_there_is_refused_before_the_call() {
        let directory = tempfile::tempdir().unwrap();
        let here = Place::chosen(&directory.path().join("new.png"));
        assert_eq!(here.check(), Ok(()));
        assert_eq!(Place::chosen(directory.path()).check(), Ok(()));
        let nowhere = Place::chosen(&directory.path().join("missing/new.png"));
        let problem = nowhere.check().unwrap_err();
        assert!(problem.to_string().contains("missing"), "{problem}");
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
        let path = write_new(&directory, 1, "image/png", b"one").unwrap();
        assert_eq!(path.extension().unwrap(), "png");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
        std::fs::write(&path, "mine").unwrap();
        // The same second and position again: either refused or another name.
        if let Ok(other) = write_new(&directory, 1, "image/png", b"two") {
            assert_ne!(other, path);
        }
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
