//! How a symbolic link inside a skill is shown (SEMANTICS 13).
//!
//! The reader's kernel follows what the mount shows, so a link must lead to the same file there, or nowhere.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

/// A directory that does not exist: links into it dangle, and say where they would have led.
const OUTSIDE: &str = ".outside";

/// The longest encoded target, in bytes, so that it can stand as one file name.
const MAX_ENCODED: usize = 240;

/// What can't stand in a file name, and what the encoding itself uses.
const ENCODED: &AsciiSet = &CONTROLS.add(b'/').add(b'%');

/// A link as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Its target in the mount.
    pub(super) target: Box<[u8]>,
    /// Whether it stays inside the skill.
    pub(super) inside: bool,
}

/// Decides how a link is shown that stands in `directory`, a path below the skill's real directory `root` without a link in it.
pub(super) fn show(root: &Path, directory: &Path, target: &Path) -> Shown {
    let mut at = root.join(directory);
    let mut left = target.is_absolute();
    for component in target.components() {
        match component {
            Component::RootDir => at = PathBuf::from("/"),
            // `at` has no link in it as far as it exists, so its parent is what the kernel takes.
            Component::ParentDir => {
                at.pop();
            }
            Component::Normal(name) => {
                at.push(name);
                if let Ok(real) = fs::canonicalize(&at) {
                    at = real;
                }
            }
            Component::CurDir | Component::Prefix(_) => {}
        }
        left |= !at.starts_with(root);
    }
    match at.strip_prefix(root) {
        Ok(below) => Shown {
            target: if left {
                relative(directory, below)
            } else {
                target.as_os_str().as_bytes().into()
            },
            inside: true,
        },
        Err(_) => Shown {
            target: outside(directory, target),
            inside: false,
        },
    }
}

/// The path from one directory below the root to another node below it.
fn relative(from: &Path, to: &Path) -> Box<[u8]> {
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(shared).map(|_| OsStr::new(".."));
    let down = to.components().skip(shared).map(Component::as_os_str);
    let path: PathBuf = up.chain(down).collect();
    if path.as_os_str().is_empty() {
        return (*b".").into();
    }
    path.as_os_str().as_bytes().into()
}

/// The path from a directory below the root to what stands for a target outside of it.
fn outside(from: &Path, target: &Path) -> Box<[u8]> {
    let mut encoded = percent_encode(target.as_os_str().as_bytes(), ENCODED).to_string();
    encoded.truncate(MAX_ENCODED);
    if encoded == ".." {
        encoded = "%2E%2E".to_owned();
    }
    let mut path: PathBuf = from.components().map(|_| OsStr::new("..")).collect();
    path.push(OUTSIDE);
    path.push(encoded);
    path.as_os_str().as_bytes().into()
}
