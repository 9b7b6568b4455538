//! The running daemons of a user: one socket and one description each, in the runtime directory.
//!
//! It knows nothing of what is said over a socket.

mod registration;
mod selection;
mod start_lock;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use skills::problem::{Problem, ProblemKind};

use crate::protocol::About;

pub use registration::{Registration, new_id, prepare_directory, register};
pub use selection::{Found, Selector, containing, find, look, socket_of};
pub use start_lock::StartLock;

use registration::is_trusted;

/// Where the daemon with this id listens.
pub fn socket_path(runtime: &Path, instance: &str) -> PathBuf {
    runtime.join(format!("{instance}.sock"))
}

fn about_path(runtime: &Path, instance: &str) -> PathBuf {
    runtime.join(format!("{instance}.json"))
}

/// Every daemon that answers, in order of its start. What dead ones left is removed.
///
/// # Errors
/// [`ProblemKind::Daemon`] when the directory is there and can't be read, or somebody else could listen there.
pub fn running(runtime: &Path) -> Result<Vec<About>, Problem> {
    let unreadable = |e: io::Error| {
        Problem::new(
            ProblemKind::Daemon,
            format!("the running daemons can't be listed: {e}"),
        )
        .at_file(runtime, None)
    };
    if !is_trusted(runtime)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(runtime).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let Some(instance) = name.to_str().and_then(|n| n.strip_suffix(".sock")) else {
            continue;
        };
        if !answers(&socket_path(runtime, instance)) {
            remove(runtime, instance);
            continue;
        }
        // A description that is gone or cut short belongs to a daemon that ends right now.
        let about = fs::read(about_path(runtime, instance))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok());
        found.extend(about);
    }
    found.sort_by(|a, b| (a.started, &a.instance).cmp(&(b.started, &b.instance)));
    Ok(found)
}

/// Whether somebody listens. Only a refusal proves the contrary: any other failure (too many open files …) must not cost
/// a living daemon its socket.
fn answers(socket: &Path) -> bool {
    !matches!(
        UnixStream::connect(socket),
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused
    )
}

/// Removes what a daemon leaves in the directory; what can't be removed is tried again by the next command.
fn remove(runtime: &Path, instance: &str) {
    let _ = fs::remove_file(socket_path(runtime, instance));
    let _ = fs::remove_file(about_path(runtime, instance));
}
