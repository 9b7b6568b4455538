use std::fs;
use std::os::unix::fs::symlink;

use std::path::Path;
use std::sync::Arc;

use skills::tree::{SourceFile, SourceStat};

use super::{OpenSource, SourceError, check};

fn source(root: &Path, path: &str) -> Arc<SourceFile> {
    let stat = SourceStat::of(&fs::metadata(root.join(path)).unwrap());
    Arc::new(SourceFile {
        root: root.to_owned(),
        path: path.into(),
        stat,
    })
}

#[test]
fn a_path_that_leads_out_of_its_root_is_refused_even_when_the_file_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("inside")).unwrap();
    fs::create_dir(directory.path().join("outside")).unwrap();
    fs::write(root.join("inside/file"), "inside").unwrap();
    fs::write(directory.path().join("outside/file"), "outside").unwrap();
    symlink("../outside", root.join("relative")).unwrap();
    symlink(directory.path().join("outside"), root.join("absolute")).unwrap();

    let inside = OpenSource::open(&source(&root, "inside/file")).unwrap();
    assert_eq!(inside.read_whole().unwrap(), b"inside");
    for path in ["relative/file", "absolute/file", "../outside/file"] {
        let known = source(&root, path);
        let opened = OpenSource::open(&known);
        assert!(matches!(opened, Err(SourceError::Changed)), "{path}");
        assert!(matches!(check(&known), Err(SourceError::Changed)), "{path}");
    }
}

#[test]
fn parts_end_where_the_file_ends() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "0123456789").unwrap();
    let opened = OpenSource::open(&source(root.path(), "file")).unwrap();
    assert_eq!(opened.read(4, 3).unwrap(), b"456");
    assert_eq!(opened.read(8, 100).unwrap(), b"89");
    assert_eq!(opened.read(10, 100).unwrap(), b"");
    assert_eq!(opened.read(u64::MAX, 100).unwrap(), b"");
}

#[test]
fn a_file_that_shrank_is_another_version() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "0123456789").unwrap();
    let known = source(root.path(), "file");
    let opened = OpenSource::open(&known).unwrap();
    fs::write(root.path().join("file"), "01").unwrap();
    assert!(matches!(opened.read_whole(), Err(SourceError::Changed)));
    assert!(matches!(check(&known), Err(SourceError::Changed)));
}
