//! What a test needs of the machine. Where it is missing the test is skipped and says so; with `CI` set it fails instead.

#![allow(clippy::print_stderr, reason = "a test that was skipped has to say so")]

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Skips what needs something that is missing.
#[track_caller]
pub(crate) fn lacking(what: &str) -> bool {
    assert!(
        std::env::var_os("CI").is_none(),
        "{what} is missing, and CI is set"
    );
    eprintln!("skipped: {what} is missing");
    true
}

/// Whether a program is missing.
#[track_caller]
pub(crate) fn lacks_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .any(|directory| access(directory.join(name), Access::EXEC_OK).is_ok());
    !found && lacking(name)
}

/// Whether nothing can be mounted here, or the fake servers can't run.
#[track_caller]
pub(crate) fn lacks_mount() -> bool {
    let usable = access("/dev/fuse", Access::READ_OK | Access::WRITE_OK).is_ok();
    let is_root = rustix::process::geteuid().is_root();
    (!usable && lacking("a usable /dev/fuse"))
        || (!is_root && lacks_program("fusermount3"))
        || lacks_program("python3")
}

/// Whether the tests run without the rights of root, which some of them need.
#[track_caller]
pub(crate) fn lacks_root() -> bool {
    !rustix::process::geteuid().is_root() && lacking("root")
}

/// The directory with the programs of the real servers.
#[track_caller]
pub(crate) fn real_servers() -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("SHELF_TEST_SERVERS") else {
        lacking("SHELF_TEST_SERVERS, which tests/run sets,");
        return None;
    };
    Some(Path::new(&directory).join("bin"))
}

/// The folder beside the repository that holds real definitions and skills. It is no part of it, so nobody has to have it.
pub(crate) fn shared() -> Option<PathBuf> {
    let directory = workspace().join("../shared");
    if directory.join("corpus").is_dir() {
        return Some(directory.canonicalize().unwrap());
    }
    eprintln!("skipped: ../shared/corpus is not there");
    None
}

/// The root of the repository.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies in the workspace")
}
