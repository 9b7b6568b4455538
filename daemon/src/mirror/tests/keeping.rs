//! A mirror that follows the catalog.

use std::fs;

use super::super::is_held;
use super::{Place, directory, text, tree};

#[test]
fn of_what_is_kept_only_the_directories_that_changed_are_looked_at() {
    let place = Place::new();
    let mut mirror = place.keep();
    let same = directory(vec![("a.md", text("a"))]);
    let with = |other: &str| {
        tree(vec![
            ("other", directory(vec![("b.md", text(other))])),
            ("same", same.clone()),
        ])
    };
    let first = with("one");
    assert_eq!(mirror.write(&first).unwrap().written, 2);
    assert!(mirror.has_written(&first));

    let second = with("two");
    assert!(!mirror.has_written(&second));
    let report = mirror.write(&second).unwrap();
    assert_eq!((report.written, report.unchanged), (1, 0));
    assert_eq!(place.read("other/b.md"), "two");
    assert_eq!(place.read("same/a.md"), "a");
}

#[test]
fn a_directory_that_somebody_removed_is_written_again_although_it_is_the_same() {
    let place = Place::new();
    let mut mirror = place.keep();
    let same = directory(vec![("a.md", text("a"))]);
    mirror.write(&tree(vec![("same", same.clone())])).unwrap();
    fs::remove_dir_all(place.target("same")).unwrap();
    let next = tree(vec![("more.md", text("more")), ("same", same)]);
    assert_eq!(mirror.write(&next).unwrap().problems, []);
    assert_eq!(place.read("same/a.md"), "a");
}

#[test]
fn what_could_not_be_written_is_said_until_it_can() {
    let place = Place::new();
    let mut mirror = place.keep();
    place.put("same/a.md", "mine");
    let same = directory(vec![("a.md", text("a"))]);
    let with = |other: &str| tree(vec![("other.md", text(other)), ("same", same.clone())]);
    assert_eq!(mirror.write(&with("one")).unwrap().problems.len(), 1);
    assert_eq!(mirror.write(&with("two")).unwrap().problems.len(), 1);
    fs::remove_file(place.target("same/a.md")).unwrap();
    assert_eq!(mirror.write(&with("three")).unwrap().problems, []);
    assert_eq!(place.read("same/a.md"), "a");
}

#[test]
fn a_directory_that_is_kept_is_held_and_missed_when_it_goes() {
    let place = Place::new();
    let target = place.target("");
    assert!(!is_held(&target));
    let mirror = place.keep();
    assert!(is_held(&target) && mirror.is_in_place());
    let refused = place.try_mirror(&tree(vec![])).unwrap_err();
    assert!(refused.hint.unwrap().contains("shelf unmount"));
    fs::remove_dir_all(&target).unwrap();
    assert!(!mirror.is_in_place());
    fs::create_dir(&target).unwrap();
    assert!(!mirror.is_in_place(), "another one of the same name");
    drop(mirror);
    assert!(!is_held(&target));
}
