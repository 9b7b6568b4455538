//! A reader finds in the mount what it would find in a copy of it on a disk, and can change nothing.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, Timespec, Timestamps, UTIME_NOW, XattrFlags, mknodat, setxattr,
    utimensat,
};
use rustix::process::geteuid;

use crate::support::needs::{lacks_mount, lacks_program};
use crate::support::shelf::{Finished, Shelf};

const EROFS: i32 = 30;

/// A shelf with a bit of everything: scripts, binary files, empty ones, links, names with spaces, a large file.
fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &["--tools", "20", "--unknown-fields"]);
    shelf.skill("plain", "A plain one.");
    shelf.skill("rich", "One with files of each kind.");
    let script = shelf.write(
        "skills/rich/scripts/say.sh",
        "#!/bin/sh\necho \"said from $0\"\n",
    );
    fs::set_permissions(script, Permissions::from_mode(0o755)).unwrap();
    let binary: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    shelf.write("skills/rich/assets/bytes.bin", binary);
    shelf.write("skills/rich/assets/large.bin", vec![7; 600_000]);
    shelf.write("skills/rich/assets/empty", "");
    shelf.write(
        "skills/rich/assets/deep/er/a name with spaces.txt",
        "needle\n",
    );
    symlink("assets/deep", shelf.path("skills/rich/link")).unwrap();
    shelf.mount();
    shelf.wait_until_counted();
    shelf
}

/// Runs a script here and in the copy.
fn compare(shelf: &Shelf, script: &str) {
    let run = |directory: &str| -> Finished {
        let mut command = shelf.command("bash");
        command.args(["-c", script]).env("LC_ALL", "C");
        Finished::of(command.current_dir(shelf.path(directory)))
    };
    let (mount, copy) = (run("mount"), run("copy"));
    assert_eq!(
        (mount.code, &*mount.stderr),
        (copy.code, &*copy.stderr),
        "{script}"
    );
    assert!(
        mount.stdout == copy.stdout,
        "{script}:\n{}\n---\n{}",
        mount.stdout,
        copy.stdout
    );
    assert!(!mount.stdout.is_empty(), "{script}: it shows nothing");
}

#[test]
fn programs_see_what_they_see_in_a_copy() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.shell("cp -a mount copy").succeeds();
    for script in [
        "find . -type f | sort",
        "find . -type d -printf '%p %n %m\\n' | sort",
        "find . -type f -printf '%p %s %m %n %T@\\n' | sort",
        "find . -type l -printf '%p %l\\n' | sort",
        "find -L . -type f | sort",
        "ls -laR --time-style=full-iso | grep -v ^total | sed 's/ root / /g'",
        "du -a --apparent-size -b | sort",
        "find . -type f -exec wc -c {} + | sort",
        "find . -type f -exec sha256sum {} + | sort",
        "grep -r needle . | sort",
        "grep -rc e . | sort",
        "tar c --sort=name --owner=0 --group=0 . | sha256sum",
        "tar c . | wc -c",
        "rm -rf ../again; cp -r . ../again && (cd ../again && find . -type f -exec sha256sum {} + | sort)",
        "rm -rf ../again; cp -a . ../again && (cd ../again && find . -printf '%p %m %y\\n' | sort)",
        "head -c 3 INDEX.md; tail -c 3 INDEX.md; dd if=skills/rich/assets/bytes.bin bs=1 skip=65000 count=100 status=none | od -c",
        "test -x skills/rich/scripts/say.sh && echo yes; test -x skills/rich/assets/empty || echo no",
        "test -w INDEX.md || echo no",
        "skills/rich/scripts/say.sh",
        "cat mcp/fake/STATUS CHANGES.md | wc -c",
    ] {
        if script.starts_with("test -w") && geteuid().is_root() {
            // Root may write to every file of the copy.
            continue;
        }
        compare(&shelf, script);
    }
}

#[test]
fn ripgrep_sees_what_it_sees_in_a_copy() {
    if lacks_mount() || lacks_program("rg") {
        return;
    }
    let shelf = shelf();
    shelf.shell("cp -a mount copy").succeeds();
    compare(&shelf, "rg --sort path needle");
    compare(&shelf, "rg --sort path -c e");
    compare(&shelf, "rg --sort path --files");
    // The raw schemas are hidden from those who do not name them.
    let schemas = shelf.shell("cd mount && rg --files; echo *").succeeds();
    assert!(!schemas.contains("schemas"), "{schemas}");
    assert!(shelf.shell("ls mount/.schemas/fake/echo.json").code == 0);
}

#[test]
fn git_in_a_parent_directory_sees_what_it_sees_of_a_copy() {
    if lacks_mount() || lacks_program("git") {
        return;
    }
    let shelf = shelf();
    shelf
        .shell("mkdir outer; cp -a mount outer/tools")
        .succeeds();
    let status = |directory: &Path| {
        let mut git = shelf.command("bash");
        git.args([
            "-c",
            "git status --porcelain -uall && git add -n tools | sort",
        ]);
        Finished::of(git.current_dir(directory)).succeeds()
    };
    shelf.shell("git init -q outer").succeeds();
    let of_the_copy = status(&shelf.path("outer"));
    assert!(of_the_copy.contains("tools/INDEX.md"), "{of_the_copy}");
    shelf.unmount();
    shelf.shell("rm -r outer/tools").succeeds();
    let mut mount = shelf.command(crate::support::SHELF);
    mount.args([
        "mount",
        "outer/tools",
        "--config",
        "mcp.json",
        "--skills",
        "skills",
    ]);
    Finished::of(&mut mount).succeeds();
    assert_eq!(status(&shelf.path("outer")), of_the_copy);
    shelf.run(&["unmount", "outer/tools"]).succeeds();
}

#[test]
fn every_attempt_to_write_is_refused_as_read_only() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let (file, directory, new) = (
        shelf.mounted("INDEX.md"),
        shelf.mounted("mcp"),
        shelf.mounted("new"),
    );
    let source = shelf.mounted("skills/rich/SKILL.md");
    let outside = shelf.write("outside", "x");
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    let refused = |what: &str, result: io::Result<()>| {
        let error = result.expect_err(what);
        assert_eq!(error.raw_os_error(), Some(EROFS), "{what}: {error}");
    };
    refused(
        "write",
        OpenOptions::new().write(true).open(&file).map(drop),
    );
    refused(
        "append",
        OpenOptions::new().append(true).open(&source).map(drop),
    );
    refused("truncate", fs::write(&file, "x"));
    refused("create", fs::File::create_new(&new).map(drop));
    refused("mkdir", fs::create_dir(&new));
    refused("symlink", symlink("x", &new));
    refused("link", fs::hard_link(&file, &new));
    refused("unlink", fs::remove_file(&file));
    refused("rmdir", fs::remove_dir(&directory));
    refused("rename", fs::rename(&file, &new));
    refused("rename a directory", fs::rename(&directory, &new));
    refused(
        "chmod",
        fs::set_permissions(&file, Permissions::from_mode(0o777)),
    );
    refused(
        "chown",
        std::os::unix::fs::chown(&file, Some(geteuid().as_raw()), None),
    );
    refused(
        "utimens",
        utimensat(CWD, &file, &times, AtFlags::empty()).map_err(io::Error::from),
    );
    refused(
        "mknod",
        mknodat(CWD, &new, FileType::Fifo, Mode::from_raw_mode(0o600), 0).map_err(io::Error::from),
    );
    refused(
        "setxattr",
        setxattr(&file, "user.x", b"x", XattrFlags::empty()).map_err(io::Error::from),
    );
    assert!(fs::rename(&outside, &new).is_err(), "into the mount");
    assert!(outside.exists());
}

#[test]
fn a_program_of_a_skill_runs_and_its_bytes_are_the_source() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let script = shelf.mounted("skills/rich/scripts/say.sh");
    let said = Finished::of(&mut Command::new(&script)).succeeds();
    assert_eq!(said, format!("said from {}\n", script.display()));
    for file in ["bytes.bin", "large.bin", "empty"] {
        let name = format!("skills/rich/assets/{file}");
        assert!(
            fs::read(shelf.mounted(&name)).unwrap() == fs::read(shelf.path(&name)).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn the_readme_is_short_and_says_how_to_call() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let readme = shelf.read("README.md");
    // At most 200 tokens, of which none has fewer bytes than three on average.
    assert!(readme.len() < 900, "{} bytes", readme.len());
    for word in ["INDEX.md", "ALL.md", "shelf call"] {
        assert!(readme.contains(word), "{word}: {readme}");
    }
}
