use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use skills::search_page::README;

use super::{Fixture, Tree, eventually, has_command};
use crate::mount::search::oracle::Oracle;

fn tree() -> Tree {
    Tree::default()
        .text("INDEX.md", "index\n")
        .text("mcp/x/tool.md", "tool\n")
        .text("mcp/x/other.md", "other\n")
}

fn mounted() -> Option<(Fixture, Arc<Oracle>)> {
    let oracle = Arc::new(Oracle::default());
    oracle.publish("one");
    let fixture = Fixture::with_search(&tree(), oracle.clone())?;
    Some((fixture, oracle))
}

fn answer(words: &str, edition: &str) -> String {
    format!("2 of 9 entries match \"{words}\"\nedition {edition}\n")
}

#[track_caller]
fn fails<T>(result: io::Result<T>, errno: Errno) {
    let error = result.err().expect("it has to fail");
    assert_eq!(error.raw_os_error(), Some(errno.raw_os_error()), "{error}");
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn every_tool_reads_an_answer_whole() {
    let Some((fixture, _oracle)) = mounted() else {
        return;
    };
    let text = answer("create issue", "one");
    let size = text.len();
    let last = "edition one\n";
    for (command, said) in [
        ("cat 'search/create issue'", text.clone()),
        ("cat < 'search/create issue'", text.clone()),
        (
            "cp 'search/create issue' ../copy && cat ../copy",
            text.clone(),
        ),
        (
            "cp -p 'search/create issue' ../kept && cat ../kept",
            text.clone(),
        ),
        ("grep edition 'search/create issue'", last.to_owned()),
        ("head -n 1 'search/create issue'", text.replace(last, "")),
        ("tail -n 1 'search/create issue'", last.to_owned()),
        ("tail -c 4 'search/create issue'", "one\n".to_owned()),
        ("wc -c < 'search/create issue'", format!("{size}\n")),
        (
            "stat -c '%s %F %a' 'search/create issue'",
            format!("{size} regular file 444\n"),
        ),
        ("dd if='search/create issue' bs=7 status=none", text.clone()),
        ("sort 'search/create issue' | tail -n 1", last.to_owned()),
        ("cd search && cat 'create issue'", text.clone()),
        ("diff 'search/create issue' ../copy", String::new()),
    ] {
        let out = fixture.shell(&fixture.point, command);
        assert_eq!(out, format!("{said}exit Some(0)"), "{command}");
    }
    if has_command("rg") {
        let out = fixture.shell(&fixture.point, "rg -N edition 'search/create issue'");
        assert_eq!(out, format!("{last}exit Some(0)"));
    }
}

#[test]
fn the_directory_lists_its_readme_and_walking_searches_nothing() {
    let Some((fixture, oracle)) = mounted() else {
        return;
    };
    assert_eq!(fixture.names("search"), ["README.md"]);
    assert_eq!(fixture.read("search/README.md"), README);
    fixture.read("search/some words");
    // What was looked up is not listed either.
    assert_eq!(fixture.names("search"), ["README.md"]);
    for command in [
        "find . -type f | wc -l",
        "grep -rc e .",
        "ls -laR",
        "cat search/*",
        "du -a",
        "tar c . | wc -c",
        "cp -r . ../everything",
    ] {
        let said = fixture.shell(&fixture.point, command);
        assert!(said.ends_with("exit Some(0)"), "{command}: {said}");
    }
    assert_eq!(oracle.ranked(), ["some words"]);
    assert_eq!(fs::metadata(fixture.path("search")).unwrap().nlink(), 2);
    // The root, `mcp/`, and `search/` itself.
    assert_eq!(fs::metadata(&fixture.point).unwrap().nlink(), 4);
}

#[test]
fn names_that_are_no_words_do_not_exist_and_are_not_searched() {
    let Some((fixture, oracle)) = mounted() else {
        return;
    };
    let not_text = std::ffi::OsStr::from_bytes(b"create \xff issue");
    for name in [
        ".git",
        "node_modules",
        "AGENTS.md",
        "INDEX.md",
        "_x",
        "HEAD",
        "*",
    ] {
        fails(fs::read(fixture.path("search").join(name)), Errno::NOENT);
    }
    fails(
        fs::read(fixture.path("search").join(not_text)),
        Errno::NOENT,
    );
    fails(
        fs::read(fixture.path(&format!("search/{}", "a".repeat(256)))),
        Errno::NAMETOOLONG,
    );
    assert!(oracle.ranked().is_empty());
    // The directory alone has such names.
    fails(fs::read(fixture.path("some words")), Errno::NOENT);
    fails(fs::read(fixture.path("mcp/some words")), Errno::NOENT);
    assert!(oracle.ranked().is_empty());

    fails(fs::read(fixture.path("search/one/two")), Errno::NOTDIR);
    let long = "a".repeat(255);
    assert_eq!(
        fixture.read(&format!("search/{long}")),
        answer(&long, "one")
    );
    assert_eq!(fixture.read("search/課題"), answer("課題", "one"));
}

#[test]
fn nothing_can_be_made_there() {
    let Some((fixture, _oracle)) = mounted() else {
        return;
    };
    fails(File::create(fixture.path("search/new words")), Errno::ROFS);
    fails(File::create(fixture.path("search/.new")), Errno::ROFS);
    fails(fs::create_dir(fixture.path("search/_new")), Errno::ROFS);
    fails(
        fs::remove_file(fixture.path("search/new words")),
        Errno::ROFS,
    );
    let path = fixture.path("search");
    let said = fixture.shell(&path, "sed -i s/a/b/ 'new words'; ln -sf x 'new words'");
    assert_eq!(said.matches("Read-only file system").count(), 2, "{said}");
    // Whatever is words is there already.
    fails(
        fs::create_dir(fixture.path("search/new words")),
        Errno::EXIST,
    );
}

#[test]
fn an_open_is_observed_as_a_search_and_a_stat_is_not() {
    let Some((fixture, oracle)) = mounted() else {
        return;
    };
    let path = fixture.path("search/create issue");
    fs::metadata(&path).unwrap();
    assert!(fixture.recorder.searched.lock().unwrap().is_empty());
    fs::read(&path).unwrap();
    fs::read(&path).unwrap();
    fixture.read("INDEX.md");
    eventually("the opens are observed", || {
        !fixture.recorder.opened.lock().unwrap().is_empty()
            && fixture.recorder.searched.lock().unwrap().len() == 2
    });
    let searched = fixture.recorder.searched.lock().unwrap();
    for (caller, words, matches) in searched.iter() {
        assert_eq!((words.as_str(), *matches), ("create issue", 2));
        assert!(caller.pid != 0);
        assert_eq!(caller.uid, rustix::process::geteuid().as_raw());
    }
    let opened = fixture.recorder.opened.lock().unwrap();
    assert_eq!(opened.len(), 1);
    assert!(oracle.ranked().len() <= 2, "once, or again if it took long");
}

#[test]
fn the_number_changes_with_the_bytes_and_an_open_file_keeps_its_own() {
    let Some((fixture, oracle)) = mounted() else {
        return;
    };
    let path = fixture.path("search/words");
    let mut open = File::open(&path).unwrap();
    let first = inode(&path);
    assert_eq!(open.metadata().unwrap().ino(), first);
    oracle.publish("one");
    fixture.publish(&tree().text("marker", ""));
    eventually("the publish is there", || fixture.path("marker").exists());
    assert_eq!(inode(&path), first);
    assert_eq!(
        fs::metadata(&path).unwrap().mtime(),
        open.metadata().unwrap().mtime()
    );

    // Found by its old number, as by who looked it up before and opens it after the change.
    let early = rustix::fs::open(&path, OFlags::PATH, Mode::empty()).unwrap();
    oracle.publish("two, which is longer");
    assert_ne!(inode(&path), first);
    assert_eq!(
        fixture.read("search/words"),
        answer("words", "two, which is longer")
    );
    let by_number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&early));
    fails(File::open(by_number), Errno::STALE);

    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, answer("words", "one"));
    assert_eq!(open.metadata().unwrap().size(), text.len() as u64);
}

#[test]
fn readers_side_by_side_read_whole_answers_while_they_change() {
    let Some((fixture, oracle)) = mounted() else {
        return;
    };
    let long = "long ".repeat(2000);
    let (done, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let readers: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let text = fixture.read("search/the same words");
                        let whole = text == answer("the same words", "short")
                            || text == answer("the same words", &long)
                            || text == answer("the same words", "one");
                        assert!(whole, "{} bytes: {:.60}", text.len(), text);
                        reads.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            // Far slower than a reader looks up and opens: the kernel tries only twice.
            for (target, edition) in (40..).step_by(40).zip(["short", &long].into_iter().cycle()) {
                while reads.load(Ordering::SeqCst) < target {
                    if done.load(Ordering::SeqCst) {
                        return;
                    }
                    thread::yield_now();
                }
                oracle.publish(edition);
            }
        });
        let results: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(results.iter().all(Result::is_ok));
    });
}

#[test]
fn searches_that_take_for_ever_are_refused_and_other_reads_go_on() {
    let Some((fixture, oracle)) = mounted() else {
        return;
    };
    oracle.hold();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..12)
            .map(|number| {
                let path = fixture.path(&format!("search/words {number}"));
                scope.spawn(move || fs::read(path))
            })
            .collect();
        eventually("ranking is under way", || !oracle.ranked().is_empty());
        // Nothing of this is in a cache.
        assert_eq!(fixture.read("mcp/x/tool.md"), "tool\n");
        assert_eq!(fixture.names("mcp/x"), ["other.md", "tool.md"]);
        assert_eq!(fixture.names("search"), ["README.md"]);
        fixture.publish(&tree().text("mcp/x/tool.md", "new\n"));
        eventually("a change goes through", || {
            fixture.read("mcp/x/tool.md") == "new\n"
        });
        for reader in readers {
            fails(reader.join().unwrap(), Errno::AGAIN);
        }
    });
    oracle.release();
    eventually("a search is answered again", || {
        fixture.read("search/words 0") == answer("words 0", "one")
    });
    fails(fs::read(fixture.path("search/break down")), Errno::IO);
}
