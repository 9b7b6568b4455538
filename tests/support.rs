//! What the tests share: a shelf of their own with the real binary, and the wait for what has to happen.

pub(crate) mod needs;
pub(crate) mod pinned;
pub(crate) mod processes;
pub(crate) mod shelf;

use std::time::{Duration, Instant};

/// The binary under test.
pub(crate) const SHELF: &str = env!("CARGO_BIN_EXE_shelf");

/// How long anything may take; generous, for a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// How long to wait between two looks.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

/// Waits until something holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    wait_for(what, || done().then_some(()));
}

/// Waits until there is a value.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(start.elapsed() < DEADLINE, "in vain: {what}");
        std::thread::sleep(INTERVAL);
    }
}
