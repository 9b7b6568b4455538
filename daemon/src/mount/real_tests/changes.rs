use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use rustix::fs::{Dir, Mode, OFlags};

use super::{DEADLINE, Fixture, Tree, eventually, has_command};

fn tree() -> Tree {
    Tree::default()
        .text("a/one", "first\n")
        .text("a/two", "two\n")
        .text("b/deep/file", "deep\n")
        .link("link", "a/one")
        .volatile("STATUS", "cold\n")
}

/// Fills every cache of the kernel.
fn warm(fixture: &Fixture) {
    let said = fixture.shell(
        &fixture.point,
        "ls -lR; cat a/* b/deep/* link STATUS; ls a/none b/none none; ls -lR",
    );
    assert!(said.contains("first"), "{said}");
}

#[test]
fn edits_additions_and_removals_are_seen_in_every_way() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    warm(&fixture);
    let directory = fs::metadata(fixture.path("a")).unwrap();

    fixture.publish(&tree().text("a/one", "second, longer\n"));
    eventually("the edit is read", || {
        fixture.read("a/one") == "second, longer\n"
    });
    eventually("the edit is read through the link", || {
        fixture.read("link") == "second, longer\n"
    });
    assert_eq!(fs::metadata(fixture.path("a/one")).unwrap().size(), 15);

    fixture.publish(
        &tree()
            .text("a/none", "now\n")
            .without("a/two")
            .text("none", "top\n"),
    );
    eventually("the addition is found by name", || {
        fixture.read("a/none") == "now\n"
    });
    eventually("the addition is listed", || {
        fixture.names("a") == ["none", "one"]
    });
    eventually("the removal is seen", || !fixture.path("a/two").exists());
    assert_eq!(fixture.names(""), ["STATUS", "a", "b", "link", "none"]);
    assert_eq!(
        fs::metadata(fixture.path("a")).unwrap().ino(),
        directory.ino()
    );
}

#[test]
fn a_listing_that_was_cached_is_renewed_though_the_name_was_never_looked_up() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    // Listed from the cache, twice; the new name is not looked up, so only the directory's own invalidation can help.
    for _ in 0..2 {
        assert_eq!(fixture.names("b/deep"), ["file"]);
    }
    fixture.publish(&tree().text("b/deep/unknown", "x"));
    eventually("the new name is listed", || {
        fixture.names("b/deep") == ["file", "unknown"]
    });
}

#[test]
fn a_directory_opened_before_a_publish_does_not_poison_the_listing() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let early = File::open(fixture.path("a")).unwrap();
    fixture.publish(&tree().text("a/three", "3"));
    eventually("the publish is there", || fixture.path("a/three").exists());
    let names = |directory: &mut Dir| -> Vec<String> {
        let mut names: Vec<String> = directory
            .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    };
    let mut directory = Dir::read_from(&early).unwrap();
    assert_eq!(names(&mut directory), ["one", "three", "two"]);
    for _ in 0..2 {
        assert_eq!(fixture.names("a"), ["one", "three", "two"]);
    }
}

#[test]
fn a_listing_that_is_under_way_at_a_publish_does_not_poison_the_next() {
    let many = |from: usize| {
        let mut tree = tree();
        for number in from..from + 4000 {
            tree = tree.text(&format!("many/{number:05}-{}", "x".repeat(60)), "x");
        }
        tree
    };
    let Some(fixture) = Fixture::new(&many(0)) else {
        return;
    };
    for from in [10, 500, 3000] {
        let directory = rustix::fs::open(
            fixture.path("many"),
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )
        .unwrap();
        let mut under_way = Dir::read_from(&directory).unwrap();
        assert_eq!(under_way.by_ref().take(100).count(), 100);
        fixture.publish(&many(from));
        let first = format!("many/{from:05}-{}", "x".repeat(60));
        let last = format!("many/{:05}-{}", from + 3999, "x".repeat(60));
        eventually("the publish is there", || fixture.path(&last).exists());
        // One that lists from the start, in the middle of the other.
        fixture.names("many");
        let rest = under_way.count();
        assert!(rest > 0);
        eventually("the listing is the new one", || {
            fixture.names("many").len() == 4000
        });
        assert!(fixture.path(&first).exists());
        assert_eq!(
            fixture
                .names("many")
                .first()
                .map(|name| format!("many/{name}")),
            Some(first)
        );
    }
}

#[test]
fn a_directory_becomes_a_file_and_a_directory_again() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    warm(&fixture);
    let before = fs::metadata(fixture.path("b/deep")).unwrap().ino();

    fixture.publish(&tree().without("b/deep/file").text("b/deep", "a file now\n"));
    eventually("the file is read", || {
        fixture.read("b/deep") == "a file now\n"
    });
    assert!(!fixture.path("b/deep/file").exists());

    fixture.publish(&tree());
    eventually("the directory is back", || {
        fixture.read("b/deep/file") == "deep\n"
    });
    assert_ne!(fs::metadata(fixture.path("b/deep")).unwrap().ino(), before);
}

#[test]
fn link_targets_change() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    warm(&fixture);
    fixture.publish(&tree().link("link", "a/two"));
    eventually("the link leads on", || fixture.read("link") == "two\n");
}

#[test]
fn an_open_file_keeps_its_bytes_and_attributes() {
    let Some(fixture) = Fixture::new(&tree().text("big", &"old ".repeat(50_000))) else {
        return;
    };
    let mut open = File::open(fixture.path("big")).unwrap();
    let mut start = [0; 4];
    open.read_exact(&mut start).unwrap();
    fixture.publish(&tree().text("big", "new"));
    eventually("the new version is there", || fixture.read("big") == "new");
    fixture.publish(&tree());
    eventually("it is gone", || !fixture.path("big").exists());

    let mut rest = String::new();
    open.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "old ".repeat(49_999));
    assert_eq!(open.metadata().unwrap().size(), 200_000);
}

#[test]
fn a_volatile_file_that_was_listed_keeps_its_attributes_while_open() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let open = File::open(fixture.path("STATUS")).unwrap();
    // The listing brings the attributes anew, to be kept for no time, so that the stat below asks.
    fixture.names("");
    let next = tree().volatile("STATUS", "ready and more\n");
    fixture.publish(&next.text("marker", ""));
    eventually("the publish is there", || fixture.path("marker").exists());
    assert_eq!(open.metadata().unwrap().size(), 5);
    let mut bytes = [0; 5];
    open.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"cold\n");
    assert_eq!(fixture.read("STATUS"), "ready and more\n");
}

#[test]
fn volatile_files_are_copied_whole_and_keep_their_number() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let inode = fs::metadata(fixture.path("STATUS")).unwrap().ino();
    assert_eq!(fs::metadata(fixture.path("STATUS")).unwrap().ino(), inode);
    let said = fixture.shell(
        &fixture.point,
        "cp STATUS ../copied && cat ../copied && wc -c < STATUS",
    );
    assert_eq!(said, "cold\n5\nexit Some(0)");
}

#[test]
fn a_mapped_file_keeps_its_bytes() {
    if !has_command("python3") {
        return;
    }
    let Some(fixture) = Fixture::new(&tree().text("big", &"old ".repeat(50_000))) else {
        return;
    };
    let program = "import mmap,sys\nf=open('big')\nm=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)\n\
        print(m[:3].decode(),flush=True)\nsys.stdin.readline()\nprint(m[:]==b'old '*50000)";
    let mut reader = Command::new("python3")
        .args(["-c", program])
        .current_dir(&fixture.point)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(reader.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    fixture.publish(&tree().text("big", "new"));
    eventually("the new version is there", || fixture.read("big") == "new");
    reader.stdin.take().unwrap().write_all(b"\n").unwrap();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "old\nTrue\n");
    assert!(reader.wait().unwrap().success());
}

#[test]
fn publishing_under_load_neither_hangs_nor_shows_anything_old() {
    let Some(fixture) = Fixture::new(&tree()) else {
        return;
    };
    let done = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|number| {
            let done = done.clone();
            let point = fixture.point.clone();
            thread::spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    for path in ["a", "b/deep", ""] {
                        for entry in fs::read_dir(point.join(path))
                            .into_iter()
                            .flatten()
                            .flatten()
                        {
                            let _ = entry.metadata();
                            let _ = fs::read(entry.path());
                        }
                    }
                    let _ = fs::metadata(point.join(format!("a/none-{number}")));
                }
            })
        })
        .collect();
    let start = Instant::now();
    for round in 0..200 {
        let text = format!("round {round}\n");
        let mut tree = tree()
            .text("a/one", &text)
            .text(&format!("a/new-{}", round % 3), &text);
        if round % 2 == 0 {
            tree = tree.without("b/deep/file").text("b/other", &text);
        }
        fixture.publish(&tree);
        eventually("the round is read", || fixture.read("a/one") == text);
        eventually("the round is listed", || {
            fixture.names("a").contains(&format!("new-{}", round % 3))
        });
        eventually("the directory went or came", || {
            fixture.path("b/deep/file").exists() == (round % 2 != 0)
        });
        assert!(start.elapsed() < 6 * DEADLINE);
    }
    done.store(true, Ordering::SeqCst);
    for thread in load {
        thread.join().unwrap();
    }
}
