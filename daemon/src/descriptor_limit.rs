//! How many files this process may have open: each caller and each server takes some, and the usual soft limit is low.
//!
//! The limit belongs to the whole process, and so does what is remembered of it here.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit that this process was started with.
static ORIGINAL: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit as far as this process may.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let Some(soft) = limit.current else {
        // There is none.
        return;
    };
    // Where it can't be raised, callers wait until others are gone.
    let raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    if raised.is_ok() {
        ORIGINAL.get_or_init(|| soft);
    }
}

/// The soft limit before it was raised: what is started from here may go by it (`select` knows no descriptor above 1,023).
pub(crate) fn original() -> Option<u64> {
    ORIGINAL.get().copied()
}

/// Gives a process that is about to become another program the limit that it would have had.
pub(crate) fn restore(soft: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(soft);
    // What it has instead is more than it expects.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}
