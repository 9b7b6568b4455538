//! What a second scan takes over from the first, and what is watched in between.

use super::*;

#[test]
fn an_unchanged_skill_keeps_its_arc() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for name in ["a", "b"] {
        skill(&path.join(name));
    }
    fs::create_dir(path.join("b/assets")).unwrap();
    fs::write(path.join("b/assets/x"), "x").unwrap();
    fs::write(path.join("b/notes"), "1").unwrap();
    let roots = [root(path)];
    let first = discover(&roots, Limits::default(), &[]);
    let second = discover(&roots, Limits::default(), &first.skills);
    for (before, after) in first.skills.iter().zip(&second.skills) {
        assert!(Arc::ptr_eq(before, after));
    }
    fs::write(path.join("b/notes"), "22").unwrap();
    let third = discover(&roots, Limits::default(), &second.skills);
    assert!(Arc::ptr_eq(&second.skills[0], &third.skills[0]));
    let (before, after) = (&second.skills[1], &third.skills[1]);
    assert!(!Arc::ptr_eq(before, after));
    assert!(
        Arc::ptr_eq(&before.text, &after.text),
        "SKILL.md is not read again"
    );
    assert!(
        same_directory(before, after, b"assets"),
        "the subtree is shared"
    );
}

fn same_directory(a: &Skill, b: &Skill, name: &[u8]) -> bool {
    use crate::tree::Node;
    match (a.tree.get(name), b.tree.get(name)) {
        (Some(Node::Directory(a)), Some(Node::Directory(b))) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

#[test]
fn the_warnings_of_an_unchanged_skill_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir(path.join("pack")).unwrap();
    fs::write(
        path.join("pack/SKILL.md"),
        "---\nname: Pack\ndescription: a: b\n---\n",
    )
    .unwrap();
    let roots = [root(path)];
    let first = discover(&roots, Limits::default(), &[]);
    assert_eq!(first.problems.len(), 3);
    let second = discover(&roots, Limits::default(), &first.skills);
    assert!(Arc::ptr_eq(&first.skills[0], &second.skills[0]));
    assert_eq!(first.problems, second.problems);
}

#[test]
fn the_target_of_a_linked_file_is_watched_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("shared/pack"));
    fs::create_dir_all(path.join("root/pack")).unwrap();
    symlink(
        "../../shared/pack/SKILL.md",
        path.join("root/pack/SKILL.md"),
    )
    .unwrap();
    let found = scan(&[&path.join("root")]);
    let target = fs::canonicalize(path.join("shared/pack")).unwrap();
    assert!(found.watch.concerns(&target.join("SKILL.md")));
    assert!(!found.watch.concerns(&target.join("other")));
}
