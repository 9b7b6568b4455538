use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use skills::tree::{Content, Directory, File, Link, Node};

use super::{Body, ROOT, Usage, View, ViewNode};
use crate::mount::refusal::Refusal;

/// A tree to be made.
#[derive(Clone, Debug)]
enum Shape {
    File(u8),
    Link(u8),
    Directory(BTreeMap<String, Shape>),
}

fn file(content: &[u8]) -> File {
    File {
        content: Content::Bytes(content.into()),
        mode: 0o444,
        modified: SystemTime::UNIX_EPOCH,
        volatile: false,
        entry: None,
        origin: None,
    }
}

fn directory(children: Vec<(&str, Node)>) -> Arc<Directory> {
    let children = children
        .into_iter()
        .map(|(name, node)| (name.as_bytes().into(), node))
        .collect();
    Arc::new(Directory::new(children, SystemTime::UNIX_EPOCH))
}

fn make(children: &BTreeMap<String, Shape>) -> Arc<Directory> {
    let children = children
        .iter()
        .map(|(name, shape)| (name.as_str(), node(shape)))
        .collect();
    directory(children)
}

fn node(shape: &Shape) -> Node {
    match shape {
        Shape::File(content) => {
            Node::File(Arc::new(file(&vec![b'x'; usize::from(*content) * 100])))
        }
        Shape::Link(target) => Node::Link(Arc::new(Link {
            target: target.to_string().as_bytes().into(),
            modified: SystemTime::UNIX_EPOCH,
        })),
        Shape::Directory(children) => Node::Directory(make(children)),
    }
}

fn names() -> impl Strategy<Value = String> {
    "[a-d]"
}

fn shapes() -> impl Strategy<Value = BTreeMap<String, Shape>> {
    let leaf = prop_oneof![
        (0_u8..3).prop_map(Shape::File),
        (0_u8..3).prop_map(Shape::Link),
    ];
    let node = leaf.prop_recursive(3, 30, 4, |inner| {
        prop::collection::btree_map(names(), inner, 0..4).prop_map(Shape::Directory)
    });
    prop::collection::btree_map(names(), node, 0..5)
}

/// Everything below a directory, by path, after checking that all ways to see it agree.
fn walk(view: &View, inode: u64, path: &Path, into: &mut BTreeMap<PathBuf, Arc<ViewNode>>) {
    for listed in view.list(inode, 2).unwrap() {
        let name = OsStr::from_bytes(listed.name);
        let found = view.lookup(inode, name).unwrap().unwrap();
        assert_eq!(found.inode, listed.node.inode);
        let path = path.join(name);
        assert_eq!(view.path(found), path);
        into.insert(path.clone(), found.clone());
        if let Body::Directory(_) = &found.body {
            let up = view.list(found.inode, 1).unwrap().next().unwrap();
            assert_eq!((up.name, up.node.inode), (b"..".as_slice(), inode));
            walk(view, found.inode, &path, into);
        }
    }
}

fn nodes(view: &View) -> BTreeMap<PathBuf, Arc<ViewNode>> {
    let mut nodes = BTreeMap::new();
    nodes.insert(PathBuf::new(), view.get(ROOT).unwrap().clone());
    walk(view, ROOT, Path::new(""), &mut nodes);
    let usage = Usage {
        blocks: nodes.values().map(|node| node.blocks()).sum(),
        nodes: nodes.len() as u64,
    };
    assert_eq!(view.usage(), usage);
    nodes
}

fn same(a: &ViewNode, b: &ViewNode) -> bool {
    match (&a.body, &b.body) {
        (Body::Directory(_), Body::Directory(_)) => true,
        (Body::File(a), Body::File(b)) => a.same_version(b),
        (Body::Link(a), Body::Link(b)) => a.target == b.target,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_and_changes_follow_the_tree(generations in prop::collection::vec(shapes(), 2..6)) {
        let mut view = View::new(&make(&generations[0]));
        let mut before = nodes(&view);
        let mut used: HashSet<u64> = before.values().map(|node| node.inode).collect();
        for shape in &generations[1..] {
            let (next, changes) = view.adopt(&make(shape));
            let after = nodes(&next);
            let mut fresh = HashSet::new();
            for (path, node) in &after {
                // A directory that stands in for another one between two generations is not the same directory.
                let kept = before.get(path).is_some_and(|old| same(old, node));
                if kept {
                    prop_assert_eq!(before[path].inode, node.inode);
                } else {
                    prop_assert!(!used.contains(&node.inode) && fresh.insert(node.inode));
                }
            }
            used.extend(fresh);

            let mut expected = BTreeMap::new();
            for (path, node) in &before {
                let (Body::Directory(_), Some(now)) = (&node.body, after.get(path)) else { continue };
                if now.inode != node.inode { continue }
                let inodes = |nodes: &BTreeMap<PathBuf, Arc<ViewNode>>| -> BTreeSet<(PathBuf, u64)> {
                    nodes.iter()
                        .filter(|(child, _)| child.parent() == Some(path) && *child != path)
                        .map(|(child, node)| (child.clone(), node.inode))
                        .collect()
                };
                let names: BTreeSet<Vec<u8>> = inodes(&before)
                    .symmetric_difference(&inodes(&after))
                    .map(|(child, _)| child.file_name().unwrap().as_bytes().to_vec())
                    .collect();
                if !names.is_empty() {
                    expected.insert(node.inode, names);
                }
            }
            let said: BTreeMap<u64, BTreeSet<Vec<u8>>> = changes
                .iter()
                .map(|change| (change.directory, change.names.iter().map(|name| name.to_vec()).collect()))
                .collect();
            prop_assert_eq!(said, expected);
            view = next;
            before = after;
        }
    }

    #[test]
    fn a_listing_that_goes_on_after_a_publish_has_each_name_that_stayed_once(
        old in shapes(), new in shapes(), newest in shapes(), first in 0_usize..6, second in 0_usize..6,
    ) {
        let mut listed = Vec::new();
        let mut cookie = 0;
        let mut view = View::new(&make(&old));
        for (count, next) in [(first, Some(&new)), (second, Some(&newest)), (usize::MAX, None)] {
            for entry in view.list(ROOT, cookie).unwrap().take(count) {
                cookie = entry.cookie;
                listed.push(String::from_utf8(entry.name.to_vec()).unwrap());
            }
            if let Some(next) = next {
                view = view.adopt(&make(next)).0;
            }
        }
        let stayed = old.keys().filter(|name| new.contains_key(*name) && newest.contains_key(*name));
        for name in stayed.map(String::as_str).chain([".", ".."]) {
            let times = listed.iter().filter(|listed| *listed == name).count();
            prop_assert_eq!(times, 1, "{} in {:?}", name, listed);
        }
    }
}

#[test]
fn shared_subtrees_are_not_walked() {
    let shared = directory(vec![("x", Node::File(Arc::new(file(b"x"))))]);
    let tree = |other: &[u8]| {
        directory(vec![
            ("other", Node::File(Arc::new(file(other)))),
            ("shared", Node::Directory(shared.clone())),
        ])
    };
    let view = View::new(&tree(b"1"));
    let (next, changes) = view.adopt(&tree(b"2"));
    let at = |view: &View, name: &str| {
        view.lookup(ROOT, OsStr::new(name))
            .unwrap()
            .unwrap()
            .clone()
    };
    assert!(Arc::ptr_eq(&at(&view, "shared"), &at(&next, "shared")));
    assert_ne!(at(&view, "other").inode, at(&next, "other").inode);
    assert_eq!(changes.len(), 1);
}

#[test]
fn the_same_tree_again_changes_nothing() {
    let tree = directory(vec![("a", Node::File(Arc::new(file(b"a"))))]);
    let again = directory(vec![("a", Node::File(Arc::new(file(b"a"))))]);
    let (_, changes) = View::new(&tree).adopt(&again);
    assert!(changes.is_empty());
}

#[test]
fn a_change_of_time_alone_is_told_for_the_directory() {
    let tree = directory(vec![]);
    let later = Arc::new(Directory::new(
        vec![],
        SystemTime::UNIX_EPOCH + Duration::from_secs(1),
    ));
    let (_, changes) = View::new(&tree).adopt(&later);
    assert_eq!(changes.len(), 1);
    assert!(changes[0].names.is_empty());
}

#[test]
fn a_change_of_mode_or_owner_alone_is_told_for_the_directory() {
    let with = |mode, owner| {
        let mut directory = Directory::new(vec![], SystemTime::UNIX_EPOCH);
        directory.mode = Some(mode);
        directory.owner = Some(skills::tree::Owner { uid: owner, gid: 0 });
        Arc::new(directory)
    };
    let view = View::new(&with(0o755, 0));
    for (mode, owner, changes) in [(0o755, 0, 0), (0o700, 0, 1), (0o755, 1, 1)] {
        assert_eq!(
            view.adopt(&with(mode, owner)).1.len(),
            changes,
            "{mode:o} {owner}"
        );
    }
}

#[test]
fn a_version_that_stays_takes_over_its_new_origin() {
    let tree = |size| {
        let mut file = file(b"same");
        file.origin = Some(Arc::new(skills::tree::SourceFile {
            root: "/root".into(),
            path: "SKILL.md".into(),
            stat: skills::tree::SourceStat {
                device: 1,
                inode: 1,
                size,
                modified_ns: 0,
                changed_ns: 0,
                owner: skills::tree::Owner { uid: 0, gid: 0 },
            },
        }));
        directory(vec![("SKILL.md", Node::File(Arc::new(file)))])
    };
    let view = View::new(&tree(1));
    let (next, changes) = view.adopt(&tree(2));
    assert!(changes.is_empty());
    let node = next.lookup(ROOT, OsStr::new("SKILL.md")).unwrap().unwrap();
    let Body::File(file) = &node.body else {
        panic!("a file became something else");
    };
    assert_eq!(file.origin.as_ref().unwrap().stat.size, 2);
}

#[test]
fn what_is_gone_is_stale_and_what_never_was_is_nothing() {
    let view = View::new(&directory(vec![("a", Node::File(Arc::new(file(b"a"))))]));
    assert!(view.lookup(ROOT, OsStr::new("b")).unwrap().is_none());
    assert!(matches!(
        view.lookup(99, OsStr::new("b")),
        Err(Refusal::Stale)
    ));
    assert!(matches!(
        view.lookup(2, OsStr::new("b")),
        Err(Refusal::NotADirectory)
    ));
    let long = "n".repeat(256);
    assert!(matches!(
        view.lookup(ROOT, OsStr::new(&long)),
        Err(Refusal::NameTooLong)
    ));
}
