//! Who asked: a process, seen through a FUSE request or a socket's peer credentials.

use serde::{Deserialize, Serialize};

/// A process that opened a file or sent a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The process id (not the thread's); 0 when it lives in a PID namespace that we can't see into.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its command name (`/proc/<pid>/comm`), empty when unknown.
    pub command: String,
    /// `SHELF_SESSION`, else the POSIX session id with its start time.
    pub session: String,
}

/// Identifies callers, with what is costly to read cached by process id and start time.
#[derive(Debug, Default)]
pub struct Callers {}

impl Callers {
    /// Identifies the process that a thread belongs to. Reads `/proc`, never fails: what can't be read is empty.
    pub fn identify(&self, thread: u32, uid: u32) -> Caller {
        let _ = (thread, uid);
        todo!()
    }
}
