//! What a user put there or changed, and links that lead elsewhere, are left alone.

use std::fs;
use std::os::unix::fs::symlink;

use skills::problem::ProblemKind;

use super::{Place, directory, example, text, tree};

#[test]
fn a_changed_file_stays_and_is_reported() {
    let place = Place::new();
    place.mirror(&example(&place));
    place.put("INDEX.md", "mine");
    assert_eq!(
        place.mirror_but(&example(&place), "INDEX.md"),
        ProblemKind::Collision
    );
    assert_eq!(place.read("INDEX.md"), "mine");
    // Also when the shelf no longer has it; from then on it is the user's.
    let without = tree(vec![]);
    assert_eq!(
        place.mirror_but(&without, "INDEX.md"),
        ProblemKind::Collision
    );
    assert_eq!(place.mirror(&without).problems, []);
    assert_eq!(place.read("INDEX.md"), "mine");
}

#[test]
fn a_file_that_was_there_before_stays() {
    let place = Place::new();
    place.put("INDEX.md", "mine");
    place.put("skills/notes.txt", "mine, too");
    assert_eq!(
        place.mirror_but(&example(&place), "INDEX.md"),
        ProblemKind::Collision
    );
    assert_eq!(place.read("INDEX.md"), "mine");
    // The user made `skills`, so it is not the mirror's to remove.
    assert_eq!(place.mirror(&tree(vec![])).problems, []);
    assert_eq!(place.read("skills/notes.txt"), "mine, too");
    assert!(!place.target("skills/pdf").exists());
}

#[test]
fn a_directory_with_somebody_elses_file_stays() {
    let place = Place::new();
    place.mirror(&example(&place));
    place.put("skills/pdf/notes.txt", "mine");
    let report = place.mirror(&tree(vec![]));
    assert_eq!(report.problems.len(), 2, "{:?}", report.problems);
    assert_eq!(place.read("skills/pdf/notes.txt"), "mine");
    fs::remove_file(place.target("skills/pdf/notes.txt")).expect("it is there");
    assert_eq!(place.mirror(&tree(vec![])).problems, []);
    assert!(!place.target("skills").exists());
}

#[test]
fn links_in_the_target_lead_nowhere() {
    let place = Place::new();
    let outside = place.place.path().join("outside");
    fs::create_dir_all(outside.join("pdf")).expect("it is new");
    fs::create_dir_all(place.target("")).expect("it is new");
    fs::write(outside.join("INDEX.md"), "precious").expect("it is new");
    symlink(&outside, place.target("skills")).expect("it is new");
    symlink(outside.join("INDEX.md"), place.target("INDEX.md")).expect("it is new");
    symlink(
        outside.join("INDEX.md"),
        place.target(".shelf-mirror-partial"),
    )
    .expect("it is new");
    fs::create_dir(place.target("sub")).expect("it is new");
    symlink(
        outside.join("INDEX.md"),
        place.target("sub/.shelf-mirror-partial"),
    )
    .expect("it is new");
    let mut children = vec![("sub", directory(vec![("x", text("x"))]))];
    children.push(("INDEX.md", text("index")));
    children.push((
        "skills",
        directory(vec![("pdf", directory(vec![("SKILL.md", text("s"))]))]),
    ));
    let report = place.mirror(&tree(children));
    assert_eq!(report.problems.len(), 2, "{:?}", report.problems);
    assert_eq!(place.read("sub/x"), "x");
    assert_eq!(
        fs::read_to_string(outside.join("INDEX.md")).expect("it is there"),
        "precious"
    );
    assert_eq!(
        fs::read_dir(outside.join("pdf"))
            .expect("it is there")
            .count(),
        0
    );
}

#[test]
fn removal_does_not_follow_a_link_that_took_the_place_of_a_directory() {
    let place = Place::new();
    place.mirror(&example(&place));
    let outside = place.place.path().join("outside");
    fs::rename(place.target("skills"), &outside).expect("it moves");
    symlink(&outside, place.target("skills")).expect("the place is free");
    place.mirror(&tree(vec![]));
    assert!(outside.join("pdf/SKILL.md").exists());
}
