use std::fs;
use std::os::unix::fs::MetadataExt;

use super::{Fixture, Tree, has_command};

/// Names, sizes around the block size, links, empty things, scripts, bytes that are no text.
fn tree() -> Tree {
    let mut tree = Tree::default()
        .text("INDEX.md", "# Index\n\nneedle\n")
        .text("empty", "")
        .text("block", &"b".repeat(4096))
        .text("over", &"o\n".repeat(2049))
        .text("large", &"0123456789abcde\n".repeat(9000))
        .text("spaces and\ttabs\nand lines", "needle\n")
        .text("mcp/server/tool.md", "no\nneedle\nno\n")
        .text(".schemas/server/tool.json", "{}\n")
        .script("bin/run", "#!/bin/sh\necho \"ran $0 with $1\"\n")
        .link("skills/link", "real/SKILL.md")
        .link("skills/long-link", &"../".repeat(30))
        .link("skills/dangling", ".outside/nothing")
        .text("skills/real/SKILL.md", "---\nname: real\n---\nneedle\n")
        .text("skills/binary", "\u{0}needle\u{0}\n")
        .empty_directory("void");
    // As many as fit one block of a directory on ext4: one that outgrew it has a size that depends on a hash's seed.
    for number in 0..30 {
        let path = format!("many/{number:03}-{}.md", "long".repeat(20));
        tree = tree.text(&path, &format!("file {number}\n"));
    }
    tree
}

#[test]
fn tools_see_what_they_see_on_a_copy() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let copy = fixture.scratch("copy");
    let made = fixture.shell(fixture.directory.path(), "cp -a 'mount point' copy");
    assert_eq!(made, "exit Some(0)");

    for command in [
        "find . -type f | sort",
        "find . -type d -printf '%p %y %m %n %T@\\n' | sort",
        "find . ! -type d -printf '%p %y %s %m %n %l %T@\\n' | sort",
        "find . -type f -exec wc -c {} + | sort",
        "find . -type f -exec cksum {} + | sort",
        "grep -rn needle . | sort",
        "grep -rL needle many | sort",
        "tar c --sort=name --mtime=@0 --numeric-owner . | cksum",
        "du -a --apparent-size many/* | sort -k2",
        "ls -1aR",
        "cat skills/link; cat skills/dangling",
        "head -c 5 large; tail -c 5 large; wc -l large",
        "bin/run x",
        "test -w INDEX.md; test -x bin/run && ! test -x INDEX.md",
        "stat -c '%b %B %o' empty block over large skills/link skills/long-link",
    ] {
        assert_eq!(
            fixture
                .shell(&fixture.point, command)
                .replace("mount point", "copy"),
            fixture.shell(&copy, command),
            "{command}"
        );
    }
}

#[test]
fn disk_usage_is_that_of_a_copy() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    fixture.shell(fixture.directory.path(), "cp -a 'mount point' copy");
    let plain = fs::metadata(fixture.scratch("copy/void")).unwrap();
    if plain.size() != 4096 || plain.blocks() != 8 {
        eprintln!("skipped: the copy is not on ext4, directories there have another size");
        return;
    }
    for command in ["du -a | sort", "du -sb", "du -S many", "ls -lsR"] {
        assert_eq!(
            fixture.shell(&fixture.point, command),
            fixture.shell(&fixture.scratch("copy"), command),
            "{command}"
        );
    }
}

#[test]
fn ripgrep_sees_what_it_sees_on_a_copy() {
    if !has_command("rg") {
        return;
    }
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    fixture.shell(fixture.directory.path(), "cp -a 'mount point' copy");
    for command in [
        "rg -n --sort path needle",
        "rg --mmap --sort path -c .",
        "rg nothing-like-this",
        "rg --files --hidden --sort path",
    ] {
        assert_eq!(
            fixture.shell(&fixture.point, command),
            fixture.shell(&fixture.scratch("copy"), command),
            "{command}"
        );
    }
}

#[test]
fn git_sees_what_it_sees_on_a_copy() {
    if !has_command("git") {
        return;
    }
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let base = fixture.directory.path();
    let git = "git -c safe.directory='*' -c core.excludesFile=/dev/null";
    fixture.shell(base, "git init -q");
    let mounted = fixture.shell(base, &format!("{git} status --porcelain -uall"));
    fixture.shell(
        base,
        "mkdir elsewhere && git init -q elsewhere && cp -a 'mount point' elsewhere",
    );
    let copied = fixture.shell(
        &base.join("elsewhere"),
        &format!("{git} status --porcelain -uall"),
    );
    assert!(mounted.contains("INDEX.md") && mounted.contains("exit Some(0)"));
    let mounted: String = mounted
        .lines()
        .filter(|line| !line.contains("elsewhere"))
        .collect();
    let copied: String = copied.lines().collect();
    assert_eq!(mounted, copied);
}

#[test]
fn link_counts_and_parents_are_right() {
    let tree = Tree::default()
        .text("a/b/c/file", "x")
        .text("a/d/file", "x")
        .link("a/link", "b");
    let Some(fixture) = Fixture::new(&tree) else {
        return;
    };
    let links = |path: &str| fs::symlink_metadata(fixture.path(path)).unwrap().nlink();
    assert_eq!(links(""), 3);
    assert_eq!(links("a"), 4);
    assert_eq!(links("a/b/c"), 2);
    assert_eq!(links("a/d/file"), 1);
    let inode = |path: &str| fs::symlink_metadata(fixture.path(path)).unwrap().ino();
    assert_eq!(inode("a/b/.."), inode("a"));
    assert_eq!(inode(""), 1);
    // The numbers that a listing says are those that stat says.
    for path in ["", "a", "a/b"] {
        let listed = fixture.shell(&fixture.path(path), "ls -ai1U | sed 's/^ *//' | sort");
        let stated = fixture.shell(
            &fixture.path(path),
            "for f in $(ls -aU); do test $f = .. || stat -c '%i %n' $f; done | sort",
        );
        let known: Vec<&str> = listed
            .lines()
            .filter(|line| !line.ends_with(" .."))
            .collect();
        assert_eq!(known, stated.lines().collect::<Vec<_>>());
    }
}

#[test]
fn the_file_system_is_neither_full_nor_empty() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let said = rustix::fs::statvfs(&fixture.point).unwrap();
    assert!(said.f_blocks > 0 && said.f_bavail > 0 && said.f_bavail < said.f_blocks);
    assert!(said.f_files > 0 && said.f_ffree > 0 && said.f_ffree < said.f_files);
    assert_eq!((said.f_bsize, said.f_namemax), (4096, 255));
}

#[test]
fn opens_are_observed_with_path_and_entry() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    fixture.names("mcp/server");
    assert!(fixture.recorder.opened.lock().unwrap().is_empty());
    // Before the open returns, and not some time after it, or what happens next would seem to be earlier.
    for number in 1..=100 {
        fixture.read("mcp/server/tool.md");
        let opened = fixture.recorder.opened.lock().unwrap();
        assert_eq!(opened.len(), number);
        let (caller, path, entry) = opened.last().unwrap();
        assert_eq!(path.as_os_str(), "mcp/server/tool.md");
        assert_eq!(caller.uid, rustix::process::geteuid().as_raw());
        assert!(caller.pid != 0 && entry.is_some());
    }
}
