//! Real skills, where a corpus of them lies beside the workspace.

use super::*;

/// Real input, where it is at hand: every SKILL.md of it loads, and every directory is shown as it is.
#[test]
fn the_corpus_loads() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/skills");
    let Ok(archives) = fs::read_dir(&corpus) else {
        eprintln!("skipped: no corpus here");
        return;
    };
    for archive in archives {
        let directory = tempfile::tempdir().unwrap();
        let unpacked = std::process::Command::new("tar")
            .arg("xzf")
            .arg(archive.unwrap().path())
            .arg("-C")
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(unpacked.success());
        let found = scan(&[directory.path()]);
        let files = walkdir::WalkDir::new(directory.path())
            .into_iter()
            .flatten();
        let files = files
            .filter(|entry| entry.file_name() == "SKILL.md")
            .count();
        assert!(files > 0);
        assert_eq!(found.skills.len(), files, "{:#?}", found.problems);
        for skill in &found.skills {
            assert_same(&skill.tree, &skill.directory);
        }
        println!("{files} skills, {} problems", found.problems.len());
        for problem in &found.problems {
            println!("{problem}");
        }
    }
}

/// The tree shows every entry of the directory, each file with its size and its execute bits.
fn assert_same(tree: &crate::tree::Directory, directory: &Path) {
    use crate::tree::Node;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let entries: Vec<fs::DirEntry> = fs::read_dir(directory).unwrap().flatten().collect();
    assert_eq!(
        tree.children().len(),
        entries.len(),
        "{}",
        directory.display()
    );
    for entry in entries {
        let metadata = entry.metadata().unwrap();
        match tree.get(entry.file_name().as_bytes()).unwrap() {
            Node::Directory(below) => assert_same(below, &entry.path()),
            Node::File(file) => {
                assert_eq!(file.size(), metadata.len());
                assert_eq!(file.mode & 0o111, metadata.permissions().mode() & 0o111);
            }
            Node::Link(_) => assert!(metadata.is_symlink()),
        }
    }
}
