//! Where a shelf may be mounted, and what from: everything that would go wrong later is refused at once.

use std::fs;

use crate::support::needs::{lacks_mount, lacks_root};
use crate::support::processes::mounts_below;
use crate::support::shelf::{Finished, Shelf};
use crate::support::wait_until;

#[test]
fn a_directory_with_contents_is_hidden_only_when_asked_for() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    let kept = shelf.write("mount/kept", "here before");
    let refused = shelf.mount_with(&[]).fails(6);
    assert!(
        refused.contains("not empty") && refused.contains("--nonempty"),
        "{refused}"
    );
    shelf.mount_with(&["--nonempty"]).succeeds();
    assert!(!kept.exists());
    shelf.unmount();
    assert_eq!(fs::read_to_string(kept).unwrap(), "here before");
}

#[test]
fn a_directory_that_is_missing_is_made() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    fs::remove_dir(shelf.path("mount")).unwrap();
    shelf.mount();
    assert!(shelf.read("README.md").len() > 100);
}

#[test]
fn one_shelf_is_not_mounted_over_another() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.mount();
    let refused = shelf.mount_with(&[]).fails(6);
    assert!(refused.contains("mounted here already"), "{refused}");
    assert!(refused.contains("shelf unmount"), "{refused}");
    let refused = shelf.mount_with(&["--nonempty"]).fails(6);
    assert!(refused.contains("mounted here already"), "{refused}");
    assert_eq!(mounts_below(shelf.root()).len(), 1);
    assert!(shelf.read("README.md").len() > 100, "the first one lives");
}

#[test]
fn no_configuration_and_no_skills_are_read_from_a_shelf() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("inner", "Lies within the mount.");
    shelf.write("skills/inner/mcp.json", "{}");
    shelf.mount();
    let other = shelf.path("other");
    let mount = |arguments: &[&str]| -> Finished {
        let mut command = shelf.command(crate::support::SHELF);
        Finished::of(command.arg("mount").arg(&other).args(arguments))
    };
    let refused = mount(&["--config", "mount/skills/inner/mcp.json"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("lies in the shelf mount"),
        "{}",
        refused.stderr
    );
    // A root of skills is one of several: it is left out, and that is said.
    for root in ["mount/skills", "mount"] {
        let mounted = mount(&["--skills", root]);
        assert!(
            mounted.stderr.contains("shelf mount"),
            "{root}: {}",
            mounted.stderr
        );
        if mounted.code == 0 {
            assert!(!other.join("skills/inner").exists());
            shelf.run(&["unmount", "other"]).succeeds();
        }
    }
}

#[test]
fn a_root_around_the_mount_point_does_not_lead_into_the_mount() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.write(
        "around/first/SKILL.md",
        "---\ndescription: The first.\n---\n",
    );
    let point = shelf.path("around/mount");
    let mut command = shelf.command(crate::support::SHELF);
    command
        .arg("mount")
        .arg(&point)
        .args(["--skills", "around", "--skills", "skills"]);
    let mounted = Finished::of(&mut command);
    if mounted.code != 0 {
        assert!(mounted.stderr.contains("mount"), "{}", mounted.stderr);
        return;
    }
    let names = || -> Vec<_> {
        let names = fs::read_dir(point.join("skills")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["INDEX.md", "first"]);
    // And not when the root is looked through again, with the mount in it.
    shelf.write(
        "around/second/SKILL.md",
        "---\ndescription: The second.\n---\n",
    );
    wait_until("the second skill shows", || {
        names() == ["INDEX.md", "first", "second"]
    });
    shelf.write(
        "around/first/SKILL.md",
        "---\ndescription: Once more.\n---\n",
    );
    wait_until("the first skill changes", || {
        fs::read_to_string(point.join("ALL.md"))
            .unwrap()
            .contains("Once more")
    });
    assert_eq!(names(), ["INDEX.md", "first", "second"]);
    shelf.run(&["unmount", point.to_str().unwrap()]).succeeds();
}

#[test]
fn a_bind_of_a_part_still_leads_to_the_daemon() {
    if lacks_mount() || lacks_root() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.mount();
    let script =
        "mkdir bound && mount --bind ../mount/mcp bound 2>/dev/null || mount --bind mount/mcp bound
        shelf show bound/fake/echo.md; shelf call bound/fake/echo.md --text bound; umount bound";
    // In a namespace of its own, where nobody else sees the bind.
    let shown = shelf
        .shell(&format!("unshare -m bash -c '{script}'"))
        .succeeds();
    assert!(
        shown.contains("Says it again.") && shown.contains("\nbound"),
        "{shown}"
    );
}
