//! Processes as `/proc` shows them.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use super::wait_for;

/// The living processes that have this variable in their environment, with their command lines.
pub(crate) fn with_variable(variable: &str) -> Vec<(i32, String)> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<i32>().ok()
    });
    pids.filter(|pid| {
        // Empty for a process that has ended and waits to be noticed.
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
            environment
                .split(|&byte| byte == 0)
                .any(|each| each == variable.as_bytes())
        })
    })
    .map(|pid| (pid, command_line(pid)))
    .collect()
}

/// The arguments of a process, with spaces between them.
fn command_line(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Sends a signal to a process that may have ended.
pub(crate) fn signal(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Stops a process as a fault would that makes it hang. The signal alone is not enough: a thread that runs on another
/// processor goes on for a moment, and may yet answer.
#[track_caller]
pub(crate) fn freeze(pid: i32) {
    signal(pid, Signal::STOP);
    wait_for("every thread stands still", || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let mut stats =
            threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("stat")));
        stats
            .all(|stat| stat.is_ok_and(|stat| stat.contains(") T ")))
            .then_some(())
    });
}

/// Whether anything is mounted at a path or below it, dead mounts included.
pub(crate) fn mounts_below(path: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    points
        .filter(|point| Path::new(point).starts_with(path))
        .map(str::to_owned)
        .collect()
}
