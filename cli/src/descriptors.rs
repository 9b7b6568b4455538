//! The descriptors that this process was given, and who may have them: nobody that it starts.

use std::os::fd::RawFd;
use std::path::Path;

/// Keeps every descriptor above standard error from what is started from now on, but for `kept`. A lock or a pipe of the
/// caller would else live as long as the daemon, its guards and the servers.
pub(crate) fn withhold(kept: &[RawFd]) {
    close_fds::set_fds_cloexec_threadsafe(rustix::stdio::raw_stderr() + 1, kept);
}

/// The descriptor that a path names, as that of `--config <(…)` does.
pub(crate) fn named_by(path: &Path) -> Option<RawFd> {
    let number = ["/dev/fd", "/proc/self/fd"]
        .iter()
        .find_map(|directory| path.strip_prefix(directory).ok())?;
    number.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::named_by;

    #[test]
    fn only_paths_of_descriptors_name_one() {
        assert_eq!(named_by(Path::new("/dev/fd/63")), Some(63));
        assert_eq!(named_by(Path::new("/proc/self/fd/9")), Some(9));
        for path in ["/dev/fd", "/dev/fd/x", "/dev/fd/3/4", "/etc/mcp.json", "63"] {
            assert_eq!(named_by(Path::new(path)), None, "{path}");
        }
    }
}
