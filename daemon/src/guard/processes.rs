//! Finds processes in `/proc`: all below one, and all that carry the mark of a guard.

use std::collections::HashMap;
use std::fs;
use std::io;

use rustix::process::{Pid, Signal};

use super::MARKER;

/// Every running descendant of a process, at whatever depth. A process that forks meanwhile may be missed: ask again.
pub(super) fn descendants(of: Pid) -> io::Result<Vec<Pid>> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for pid in all()? {
        // One that ended since is no error.
        let parent = fs::read(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| parent(&stat));
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = children.remove(&of).unwrap_or_default();
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let below = children.remove(pid).unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    Ok(found)
}

/// The resident memory of a process in bytes; `None` when it has ended.
pub(super) fn resident(pid: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Kills all that a guard left behind when it was killed itself.
pub(super) fn kill_marked(mark: &str) {
    /// A process that forks while it is looked for is found in the next round.
    const ROUNDS: usize = 10;
    let mark = format!("{MARKER}={mark}");
    let own = rustix::process::getpid();
    for _ in 0..ROUNDS {
        let marked: Vec<Pid> = all()
            .into_iter()
            .flatten()
            .filter(|&pid| pid != own && carries(pid, mark.as_bytes()))
            .collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

/// Whether a process was started with this variable. A zombie has none.
fn carries(pid: Pid, mark: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|&byte| byte == 0).any(|v| v == mark))
}

fn all() -> io::Result<impl Iterator<Item = Pid>> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        Pid::from_raw(name.to_str()?.parse().ok()?)
    }))
}

/// The parent from the text of `/proc/<pid>/stat`, which is `pid (name) state parent …`; the name may hold anything.
fn parent(stat: &[u8]) -> Option<Pid> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = str::from_utf8(stat.get(end + 1..)?).ok()?;
    Pid::from_raw(rest.split_ascii_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_hide_the_parent() {
        let stat = b"42 (a) S 1 (b)) S 7 42 42 0 -1";
        assert_eq!(parent(stat), Pid::from_raw(7));
        assert_eq!(parent(b"42 (cut"), None);
    }

    #[test]
    fn children_are_found_below_their_parent() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let found = descendants(rustix::process::getpid()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        assert!(found.contains(&pid), "{found:?}");
    }
}
