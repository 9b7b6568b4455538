//! `shelf brief`: the same bytes for the same place, and a block of a file that is somebody else's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::needs::lacks_mount;
use crate::support::shelf::Shelf;

#[test]
fn without_a_shelf_it_names_the_place_that_is_given_or_the_usual_one() {
    let shelf = Shelf::new();
    let text = shelf.run(&["brief", "/mnt/tools"]).succeeds();
    assert!(text.contains("in `/mnt/tools`. "), "{text}");
    let usual = shelf.run(&["brief"]).succeeds();
    let place = shelf.path("home");
    assert!(usual.contains(place.to_str().unwrap()), "{usual}");
    assert_eq!(shelf.running(), []);
}

#[test]
fn a_running_shelf_says_its_place_and_its_overview() {
    if lacks_mount() {
        return;
    }
    let shelf = Shelf::new();
    shelf.skill("tea", "Makes tea.");
    shelf.mount();
    let mount = shelf.path("mount");
    let text = shelf.run(&["brief"]).succeeds();
    for part in ["mount", "mount/mcp", "mount/ALL.md"] {
        assert_eq!(shelf.run(&["brief", part]).succeeds(), text);
    }
    assert!(
        text.contains(&format!("in `{}`. ", mount.display())),
        "{text}"
    );

    let with_index = shelf.run(&["brief", "--with-index"]).succeeds();
    let overview = with_index.strip_prefix(&text).unwrap();
    assert_eq!(overview, format!("\n{}", shelf.read("INDEX.md")));

    for number in 0..40 {
        shelf.skill(&format!("tea{number}"), "Makes yet another kind of tea.");
    }
    shelf.wait_for_text("ALL.md", |all| all.lines().count() == 41);
    let short = shelf.run(&["brief", "--with-index=256"]).succeeds();
    let overview = short.strip_prefix(&text).unwrap().trim_start();
    assert!(
        overview.starts_with("Overview of 41 entries."),
        "{overview}"
    );
    assert!(overview.len() <= 256, "{overview}");
    shelf.unmount();
}

#[test]
fn a_block_of_a_file_is_kept_and_the_rest_is_left_alone() {
    let shelf = Shelf::new();
    let file = shelf.write("docs/AGENTS.md", "# Ours\r\n\r\nKeep this.\r\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("docs/AGENTS.md", shelf.path("CLAUDE.md")).unwrap();
    let write = |place| shelf.run(&["brief", place, "--write", "CLAUDE.md"]);
    let first = write("/mnt/one");
    assert!(first.stderr.contains("was written to"), "{}", first.stderr);
    assert_eq!(first.succeeds(), "");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# Ours\r\n\r\nKeep this.\r\n\r\n<!-- shelf brief"),
        "{text}"
    );
    assert!(text.contains("`/mnt/one`"));
    assert!(!text.replace("\r\n", "").contains('\n'));

    let again = write("/mnt/one");
    assert!(again.stderr.contains("is as it was"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    write("/mnt/two").succeeds();
    let other = fs::read_to_string(&file).unwrap();
    assert_eq!(other, text.replace("/mnt/one", "/mnt/two"));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(shelf.path("CLAUDE.md").is_symlink());

    shelf.run(&["brief", "/x", "--write", "new.md"]).succeeds();
    assert!(
        fs::read_to_string(shelf.path("new.md"))
            .unwrap()
            .contains("`/x`")
    );
}

#[test]
fn a_place_that_is_no_visible_text_is_refused() {
    let shelf = Shelf::new();
    for place in ["/a\nb", "/a\u{202e}b"] {
        let complaint = shelf.run(&["brief", place]).fails(2);
        assert!(complaint.contains("can't be written"), "{complaint}");
    }
}

#[test]
fn a_file_that_is_in_doubt_is_left_as_it_is() {
    let shelf = Shelf::new();
    let half = "a\n<!-- shelf brief: begin -->\nb\n";
    for (name, bytes, what) in [
        (
            "half.md",
            half.as_bytes(),
            "half.md:2: the block that begins here is not ended",
        ),
        ("bytes.md", b"\xff\xfe", "is not UTF-8"),
    ] {
        let file = shelf.write(name, bytes);
        let complaint = shelf.run(&["brief", "/x", "--write", name]).fails(2);
        assert!(complaint.contains(what), "{complaint}");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    let complaint = shelf
        .run(&["brief", "/x", "--write", "no/such/place.md"])
        .fails(2);
    assert!(
        complaint.contains("no/such/place.md: can't be written"),
        "{complaint}"
    );
}
