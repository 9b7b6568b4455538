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
        assert_eq!(mounted.code, 0, "{root}: {}", mounted.stderr);
        assert!(
            mounted.stderr.contains("lies in the shelf mount"),
            "{root}: {}",
            mounted.stderr
        );
        assert!(!other.join("skills/inner").exists());
        shelf.run(&["unmount", "other"]).succeeds();
    }
}

#[test]
fn a_shelf_is_not_shown_within_its_own_skills() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("first", "The first.");
    for place in ["skills", "skills/mount", "skills/deep/mount"] {
        for arguments in [
            ["mount", place, "--skills", "skills"],
            ["mirror", place, "--once", "--skills=skills"],
        ] {
            let refused = shelf.run(&arguments).fails(2);
            assert!(
                refused.contains("contains the place of the shelf"),
                "{arguments:?}: {refused}"
            );
        }
    }
    assert_eq!(mounts_below(shelf.root()), [""; 0]);
}

#[test]
fn a_root_that_is_configured_later_does_not_lead_into_the_mount() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("first", "The first.");
    let config = shelf.write("shelf.toml", "");
    let mut command = shelf.command(crate::support::SHELF);
    command.args(["mount", "mount", "--skills", "skills", "--config"]);
    Finished::of(command.arg(&config)).succeeds();
    // The root is the place itself, which has the mount in it.
    fs::write(&config, "skills = [\".\"]\n").unwrap();
    wait_until("the root is refused", || {
        shelf.status()["problems"]
            .to_string()
            .contains("contains the shelf mount")
    });
    assert_eq!(shelf.status()["skill_entries"], 1);
}

#[test]
fn a_bind_of_a_part_still_leads_to_the_daemon() {
    if lacks_mount() || lacks_root() {
        return;
    }
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.mount();
    let script = "set -e; mkdir bound; mount --bind mount/mcp bound
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

#[test]
fn a_mount_that_fails_leaves_no_directory_that_it_made() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.write("broken.json", "{");
    shelf.write("there/kept", "");
    let mount = |place: &str| {
        let place = shelf.path(place);
        let place = place.to_str().unwrap();
        shelf
            .run(&["mount", place, "--config", "broken.json"])
            .fails(2);
    };
    mount("new/below/mount");
    assert!(!shelf.path("new").exists());
    mount("there/new");
    assert!(shelf.path("there/kept").exists() && !shelf.path("there/new").exists());
    // One that was there is not its own.
    mount("mount");
    assert!(shelf.path("mount").exists());
}

#[test]
fn a_mount_that_would_hide_its_own_configuration_is_refused() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.write("mount/mcp.json", "{}");
    let mount = |directory: &str| {
        let arguments = [
            "mount",
            directory,
            "--nonempty",
            "--config",
            "mount/mcp.json",
        ];
        shelf.run(&arguments)
    };
    for directory in ["mount", "."] {
        let refused = mount(directory).fails(2);
        assert!(
            refused.contains("lies in the place of the shelf"),
            "{refused}"
        );
    }
    assert_eq!(mounts_below(shelf.root()).len(), 0);
    mount("mount/below").succeeds();
    shelf.run(&["unmount", "mount/below"]).succeeds();
    // A mirror hides nothing.
    let mirror = ["mirror", "mount", "--once", "--config", "mount/mcp.json"];
    shelf.run(&mirror).succeeds();
    assert_eq!(
        fs::read_to_string(shelf.path("mount/mcp.json")).unwrap(),
        "{}"
    );
}
