//! Whether the daemon of a mount is there, asked so that one that hangs can't hold up the question.

use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::fs::statfs;
use rustix::io::Errno;

/// How long a mount may take to say that it is alive.
const ANSWER_DEADLINE: Duration = Duration::from_secs(1);

/// Whether a mount's daemon is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It answers.
    Alive,
    /// It is gone.
    Dead,
    /// No answer within the deadline.
    Silent,
}

impl Life {
    /// Asks the mount itself.
    pub fn of(mount_point: &Path) -> Self {
        let (answer, answered) = channel();
        let path = mount_point.to_owned();
        // On a thread of its own, as it hangs with a daemon that hangs. statfs, because the kernel answers stat from its cache
        // long after the daemon is gone.
        let probe = move || {
            let _ = answer.send(statfs(&path).map(drop));
        };
        if thread::Builder::new().spawn(probe).is_err() {
            return Self::Silent;
        }
        match answered.recv_timeout(ANSWER_DEADLINE) {
            Ok(Err(Errno::NOTCONN | Errno::CONNABORTED)) => Self::Dead,
            Ok(_) => Self::Alive,
            Err(_) => Self::Silent,
        }
    }
}
