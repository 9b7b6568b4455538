//! What a user may name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::lint::root;
use crate::problem::ProblemKind;

#[test]
fn a_directory_stands_for_itself_and_a_skill_file_for_its_skill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for name in ["SKILL.md", "skill.md"] {
        fs::write(path.join(name), "").unwrap();
        assert_eq!(root(&path.join(name)).unwrap().path, path);
    }
    assert_eq!(root(path).unwrap().path, path);
    // Loading says that it leads nowhere.
    fs::remove_file(path.join("SKILL.md")).unwrap();
    symlink("gone", path.join("SKILL.md")).unwrap();
    assert_eq!(root(&path.join("SKILL.md")).unwrap().path, path);
}

#[test]
fn anything_else_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("README.md");
    fs::write(&file, "").unwrap();
    let missing = directory.path().join("gone/SKILL.md");
    for path in [&file, &missing, Path::new("")] {
        assert_eq!(root(path).unwrap_err().kind, ProblemKind::Usage, "{path:?}");
    }
}
