use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::MountTable;

const TABLE: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
40 22 0:50 / /mnt/my\\040tools\\134x ro,nosuid master:3 shared:7 - fuse.shelf shelf:abc ro,user_id=0
41 22 0:50 /mcp /srv/bound ro - fuse shelf:abc ro
42 22 0:51 / /mnt/covered ro - fuse.shelf shelf:old ro
43 42 0:52 / /mnt/covered rw - tmpfs tmpfs rw
44 22 0:53 / /mnt/deep/tools ro - fuse.shelf shelf:hidden ro
45 22 0:54 / /mnt/deep rw - tmpfs tmpfs rw
46 22 0:55 / /mnt/sshfs rw - fuse.sshfs shelf:not-ours-by-type rw
47 22 0:56 / /mnt/ext rw - ext4 shelf:not-fuse rw
broken line
";

fn instance_at(path: &str) -> Option<String> {
    let table = MountTable::parse(TABLE.as_bytes());
    table
        .mount_at(Path::new(path))
        .and_then(super::MountEntry::shelf)
        .map(|mount| mount.instance)
}

#[test]
fn a_path_lies_in_the_mount_that_the_kernel_would_find() {
    assert_eq!(
        instance_at("/mnt/my tools\\x/INDEX.md").as_deref(),
        Some("abc")
    );
    assert_eq!(instance_at("/mnt/my tools\\x").as_deref(), Some("abc"));
    assert_eq!(instance_at("/mnt/my tools\\xy"), None);
    assert_eq!(instance_at("/srv/bound/github").as_deref(), Some("abc"));
    assert_eq!(instance_at("/mnt"), None);
    assert_eq!(instance_at("/mnt/ext"), None);
}

#[test]
fn a_covered_mount_is_not_found() {
    assert_eq!(instance_at("/mnt/covered/x"), None);
    assert_eq!(instance_at("/mnt/deep/tools/x"), None);
}

#[test]
fn the_mounts_are_listed_with_the_part_that_is_bound() {
    let table = MountTable::parse(TABLE.as_bytes());
    let mounts = table.shelf_mounts();
    assert_eq!(mounts[0].mount_point, PathBuf::from("/mnt/my tools\\x"));
    assert_eq!(mounts[0].root, PathBuf::from("/"));
    assert_eq!(mounts[1].root, PathBuf::from("/mcp"));
    assert_eq!((mounts[0].user, mounts[1].user), (Some(0), None));
    assert!(mounts.iter().all(|mount| mount.instance != "not-fuse"));
}

#[test]
fn resolving_follows_links_and_stops_at_what_does_not_exist() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    std::fs::create_dir(base.join("real")).unwrap();
    symlink("real", base.join("link")).unwrap();
    symlink("loop", base.join("loop")).unwrap();
    let table = MountTable::parse(TABLE.as_bytes());

    let resolved = table.resolve(&base.join("link/../link/missing/x")).unwrap();
    assert_eq!(resolved, base.join("real/missing/x"));
    assert!(table.resolve(&base.join("loop/x")).is_err());
}

#[test]
fn resolving_does_not_touch_a_shelf_mount() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    std::fs::create_dir(base.join("tools")).unwrap();
    // Were the mount touched, this link would be followed.
    symlink("/elsewhere", base.join("tools/x")).unwrap();
    let line = format!(
        "22 1 254:0 / / rw - ext4 /dev/vda rw\n50 22 0:60 / {}/tools ro - fuse.shelf shelf:dead ro\n",
        base.display()
    );
    let table = MountTable::parse(line.as_bytes());

    let resolved = table.resolve(&base.join("tools/x/y")).unwrap();
    assert_eq!(resolved, base.join("tools/x/y"));
    assert_eq!(
        table.resolve(&base.join("tools/../tools")).unwrap(),
        base.join("tools")
    );
}
