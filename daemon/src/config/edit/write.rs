//! Replaces a configuration whole: whoever reads it sees what was there before or what is there now. It must not know what is changed.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Gid, Uid, fchown, flock};
use skills::problem::{Problem, ProblemKind};

use crate::config::file;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Whether it was not there before.
    pub created: bool,
    /// Whether others than its owner can read it.
    pub readable_by_others: bool,
}

/// Whether a configuration is of the format that is edited.
pub fn is_editable(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Changes the text of a `shelf.toml`, which is made, readable for its owner alone, where there is none. Others that do the same are
/// waited for, so that no change is lost. Its mode and owner stay, and a link stays a link. Where the change makes no difference
/// nothing is written.
///
/// # Errors
/// When the file is JSON, can't be read or written, or the change is refused.
pub fn edit(
    path: &Path,
    change: impl FnOnce(&str) -> Result<String, Problem>,
) -> Result<Written, Problem> {
    if !is_editable(path) {
        return Err(Problem::new(
            ProblemKind::Usage,
            "a configuration in JSON is not edited: its comments and form would be lost",
        )
        .at_file(path, None)
        .hint("edit it by hand, or keep the servers in a shelf.toml"));
    }
    let failed = |what: &str, error: io::Error| {
        Problem::new(ProblemKind::Configuration, format!("{what}: {error}")).at_file(path, None)
    };
    // What a link leads to is replaced, not the link.
    let target = path.canonicalize().or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(path.to_owned()),
        _ => Err(failed("cannot be read", error)),
    })?;
    let directory =
        directory(&target).map_err(|error| failed("its directory can't be used", error))?;
    let _lock = lock(&directory).map_err(|error| failed("its directory can't be locked", error))?;
    let (source, before) = match read(&target) {
        Ok(Some((source, before))) => (source, Some(before)),
        Ok(None) => (String::new(), None),
        Err(error) => return Err(failed("cannot be read", error)),
    };
    let changed = change(&source)?;
    let mode = before.as_ref().map_or(0o600, Metadata::mode);
    if changed != source || before.is_none() {
        replace(&directory, &target, &changed, before.as_ref())
            .map_err(|error| failed("cannot be written", error))?;
    }
    Ok(Written {
        created: before.is_none(),
        readable_by_others: mode & 0o044 != 0,
    })
}

/// The directory of a file, made where it is missing.
fn directory(path: &Path) -> io::Result<PathBuf> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)?;
    Ok(directory)
}

/// Held until it is dropped.
fn lock(directory: &Path) -> io::Result<File> {
    let file = File::open(directory)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn read(path: &Path) -> io::Result<Option<(String, Metadata)>> {
    let before = match fs::metadata(path) {
        Ok(before) => before,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !before.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let source = String::from_utf8(file::read(path)?);
    let source = source.map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))?;
    Ok(Some((source, before)))
}

fn replace(directory: &Path, path: &Path, text: &str, before: Option<&Metadata>) -> io::Result<()> {
    // Readable for its owner alone until its mode is known to be another.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    if let Some(before) = before {
        let new = file.as_file().metadata()?;
        if (new.uid(), new.gid()) != (before.uid(), before.gid()) {
            let (user, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
            fchown(file.as_file().as_fd(), Some(user), Some(group))?;
        }
        let mode = Permissions::from_mode(before.mode() & 0o7777);
        file.as_file().set_permissions(mode)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
