//! A daemon's own place in the runtime directory: made at start, removed at the end.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use data_encoding::BASE32_NOPAD;
use skills::problem::{Problem, ProblemKind};

use super::{about_path, remove, socket_path};
use crate::protocol::About;

/// The longest path that a socket address can hold, without the NUL at its end.
const MAX_SOCKET_PATH: usize = 107;

/// Makes a new instance id: eight letters and digits at random.
///
/// # Errors
/// [`ProblemKind::Daemon`] when the machine has no random numbers to give.
pub fn new_id() -> Result<String, Problem> {
    let mut bytes = [0; 5];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|e| {
            Problem::new(
                ProblemKind::Daemon,
                format!("no random number for the instance id: {e}"),
            )
            .at_file("/dev/urandom", None)
        })?;
    Ok(BASE32_NOPAD.encode(&bytes).to_ascii_lowercase())
}

/// Makes the runtime directory, readable by its owner only.
///
/// # Errors
/// [`ProblemKind::Daemon`] when it can't be made, is a symbolic link, or belongs to somebody else.
pub fn prepare_directory(runtime: &Path) -> Result<(), Problem> {
    let failed = |e: io::Error| unfit(runtime, format!("the runtime directory can't be made: {e}"));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(runtime)
        .or_else(|e| match e.kind() {
            // What is there is judged below, so that a dangling link gets its own message.
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(e),
        })
        .map_err(failed)?;
    let metadata = fs::symlink_metadata(runtime).map_err(failed)?;
    refuse_foreign(runtime, &metadata)?;
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(runtime, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Whether there is a runtime directory whose sockets can be believed.
///
/// # Errors
/// [`ProblemKind::Daemon`] when somebody else could listen there.
pub(super) fn is_trusted(runtime: &Path) -> Result<bool, Problem> {
    let metadata = match fs::symlink_metadata(runtime) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => {
            return Err(unfit(
                runtime,
                format!("the runtime directory can't be looked at: {e}"),
            ));
        }
    };
    refuse_foreign(runtime, &metadata)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(unfit(
            runtime,
            "the runtime directory is open to other users, somebody else could be listening there"
                .into(),
        )
        .hint(format!("chmod 700 {}", runtime.display())));
    }
    Ok(true)
}

fn refuse_foreign(runtime: &Path, metadata: &Metadata) -> Result<(), Problem> {
    if !metadata.is_dir() {
        return Err(unfit(
            runtime,
            "the runtime directory is a symbolic link or a file, somebody else could be listening there".into(),
        ));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(unfit(
            runtime,
            format!("the runtime directory belongs to user {}", metadata.uid()),
        ));
    }
    Ok(())
}

fn unfit(runtime: &Path, message: String) -> Problem {
    Problem::new(ProblemKind::Daemon, message)
        .at_file(runtime, None)
        .hint("set XDG_RUNTIME_DIR to a directory of your own")
}

/// A daemon's socket and description; both are removed when it is dropped.
#[derive(Debug)]
pub struct Registration {
    runtime: PathBuf,
    instance: String,
}

impl Registration {
    /// Where the daemon listens.
    pub fn socket(&self) -> PathBuf {
        socket_path(&self.runtime, &self.instance)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        remove(&self.runtime, &self.instance);
    }
}

/// Announces a daemon: writes its description, then listens. The listener does not block.
///
/// # Errors
/// [`ProblemKind::Daemon`] when the directory is not fit ([`prepare_directory`]), or the path is too long for a socket.
pub fn register(runtime: &Path, about: &About) -> Result<(Registration, UnixListener), Problem> {
    prepare_directory(runtime)?;
    let registration = Registration {
        runtime: runtime.to_owned(),
        instance: about.instance.clone(),
    };
    let socket = registration.socket();
    let problem =
        |message: String| Problem::new(ProblemKind::Daemon, message).at_file(&socket, None);
    let length = socket.as_os_str().len();
    if length > MAX_SOCKET_PATH {
        return Err(problem(format!(
            "the path is too long for a socket: {length} bytes, {MAX_SOCKET_PATH} are allowed"
        ))
        .hint("set XDG_RUNTIME_DIR to a directory with a shorter path"));
    }
    let failed = |e: io::Error| problem(format!("the control socket can't be made: {e}"));

    write_about(runtime, about).map_err(failed)?;
    // The name that others look for appears only once somebody listens: a socket that refuses is taken for a dead one.
    let unfinished = runtime.join(format!("{}.new", about.instance));
    let listener = UnixListener::bind(&unfinished).map_err(failed)?;
    fs::set_permissions(&unfinished, Permissions::from_mode(0o600))
        .and_then(|()| listener.set_nonblocking(true))
        .and_then(|()| fs::rename(&unfinished, &socket))
        .inspect_err(|_| {
            let _ = fs::remove_file(&unfinished);
        })
        .map_err(failed)?;
    Ok((registration, listener))
}

fn write_about(runtime: &Path, about: &About) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(runtime)?;
    serde_json::to_writer(&mut file, about)?;
    file.flush()?;
    file.persist(about_path(runtime, &about.instance))?;
    Ok(())
}
