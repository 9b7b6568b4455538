use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher};
use skills::skill::Skill;
use skills::tree::Node;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::catalog::SourceUpdate;

/// Far more than the 200 ms that a change may take: the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(20);

const MACHINE: Machine = Machine {
    mounts: Vec::new,
    notify: watcher::inotify,
};

/// A running source over one root, and what it last said.
struct Shelf {
    directory: tempfile::TempDir,
    source: SkillSource,
    updates: UnboundedReceiver<SourceUpdate>,
    skills: Vec<Arc<Skill>>,
    problems: Vec<Problem>,
}

impl Shelf {
    fn new(prepare: impl FnOnce(&Path)) -> Self {
        Self::on(MACHINE, prepare)
    }

    fn on(machine: Machine, prepare: impl FnOnce(&Path)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        prepare(directory.path());
        let (sender, updates) = unbounded_channel();
        let roots = vec![root(directory.path().join("root"))];
        let source = SkillSource::start_on(machine, roots, None, Limits::default(), sender);
        let mut shelf = Self {
            directory,
            source,
            updates,
            skills: Vec::new(),
            problems: Vec::new(),
        };
        assert!(
            shelf.receive(),
            "the first scan is sent before start returns"
        );
        shelf
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Takes the updates that have come; whether there were any.
    fn receive(&mut self) -> bool {
        let mut any = false;
        while let Ok(update) = self.updates.try_recv() {
            let SourceUpdate::Skills { skills, problems } = update else {
                panic!("only skills come from this source");
            };
            (self.skills, self.problems, any) = (skills, problems, true);
        }
        any
    }

    fn wait(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_so(self) {
            assert!(
                Instant::now() < deadline,
                "{what}: {:?}",
                self.descriptions()
            );
            std::thread::sleep(Duration::from_millis(5));
            self.receive();
        }
    }

    fn descriptions(&self) -> Vec<(&str, &str)> {
        let skills = self.skills.iter();
        skills
            .map(|s| (s.name.to_str().unwrap(), s.description.as_str()))
            .collect()
    }

    fn has(&self, name: &str, description: &str) -> bool {
        self.descriptions().contains(&(name, description))
    }
}

fn root(path: PathBuf) -> SkillRoot {
    SkillRoot {
        path,
        source: None,
        optional: true,
    }
}

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n")
}

fn write(directory: &Path, description: &str) {
    fs::create_dir_all(directory).unwrap();
    let name = directory.file_name().unwrap().to_str().unwrap();
    fs::write(directory.join("SKILL.md"), text(name, description)).unwrap();
}

#[test]
fn a_skill_that_is_written_anew_in_place_does_not_vanish() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/pack"), "0"));
    let file = shelf.path("root/pack/SKILL.md");
    for attempt in 1..100 {
        let begun = Instant::now();
        fs::File::create(&file).unwrap();
        let mut fewest = 1;
        thread::scope(|scope| {
            scope.spawn(|| shelf.source.rescan(&file));
            // Time enough for the scan to find it empty.
            thread::sleep(Duration::from_millis(20));
            fs::write(&file, text("pack", &attempt.to_string())).unwrap();
        });
        let in_time = begun.elapsed() < Duration::from_millis(80);
        while let Ok(SourceUpdate::Skills { skills, .. }) = shelf.updates.try_recv() {
            fewest = fewest.min(skills.len());
            shelf.skills = skills;
        }
        // A busy machine may have taken longer than a rewrite may.
        if in_time {
            assert_eq!(fewest, 1, "it was said to be gone");
            assert!(shelf.has("pack", &attempt.to_string()));
            return;
        }
    }
    panic!("the machine is too busy");
}

#[test]
fn a_skill_that_stays_empty_is_gone() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/pack"), "one"));
    fs::File::create(shelf.path("root/pack/SKILL.md")).unwrap();
    shelf.wait("it is skipped", |shelf| shelf.skills.is_empty());
    assert!(!shelf.problems.is_empty());
}

#[test]
fn an_edit_is_seen() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/pack"), "one"));
    assert!(shelf.has("pack", "one"));
    write(&shelf.path("root/pack"), "two");
    shelf.wait("edited", |s| s.has("pack", "two"));
}

#[test]
fn a_file_that_is_replaced_atomically_is_seen_each_time() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/pack"), "one"));
    for description in ["two", "three", "four"] {
        let temporary = shelf.path("root/pack/.SKILL.md.tmp");
        fs::write(&temporary, text("pack", description)).unwrap();
        fs::rename(&temporary, shelf.path("root/pack/SKILL.md")).unwrap();
        shelf.wait("replaced", |s| {
            s.has("pack", description) && s.skills[0].tree.children().len() == 1
        });
    }
}

#[test]
fn a_skill_that_comes_goes_and_comes_again_is_seen() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/stays"), "here"));
    for round in 0..3 {
        write(&shelf.path("root/group/pack"), "one");
        shelf.wait("created", |s| s.has("pack", "one"));
        write(&shelf.path("root/group/pack"), "two");
        shelf.wait("edited", |s| s.has("pack", "two"));
        let gone = shelf.path(if round == 1 {
            "root/group"
        } else {
            "root/group/pack"
        });
        fs::remove_dir_all(gone).unwrap();
        shelf.wait("deleted", |s| s.descriptions() == [("stays", "here")]);
    }
}

#[test]
fn a_renamed_skill_is_seen_and_goes_on_being_watched() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/pack/part"), "one"));
    fs::rename(shelf.path("root/pack"), shelf.path("root/boxes")).unwrap();
    shelf.wait("renamed", |s| {
        s.skills.len() == 1 && s.skills[0].found.ends_with("boxes/part")
    });
    write(&shelf.path("root/boxes/part"), "two");
    shelf.wait("edited", |s| s.has("part", "two"));
    write(&shelf.path("root/pack/part"), "three");
    shelf.wait("a new one under the old name", |s| s.has("part", "three"));
    write(&shelf.path("root/pack/part"), "four");
    shelf.wait("the new one edited", |s| s.has("part", "four"));
}

#[test]
fn a_directory_that_is_replaced_goes_on_being_watched() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/pack"), "one"));
    write(&shelf.path("root/pack"), "two");
    shelf.wait("watched", |s| s.has("pack", "two"));
    // At once, so that no scan sees the path without a directory.
    fs::rename(shelf.path("root/pack"), shelf.path("old")).unwrap();
    write(&shelf.path("root/pack"), "three");
    shelf.wait("replaced", |s| s.has("pack", "three"));
    write(&shelf.path("root/pack"), "four");
    shelf.wait("the new one edited", |s| s.has("pack", "four"));
}

#[test]
fn an_edit_below_a_skill_is_seen() {
    let mut shelf = Shelf::new(|path| {
        write(&path.join("root/pack"), "one");
        fs::create_dir_all(path.join("root/pack/a/b")).unwrap();
    });
    fs::write(shelf.path("root/pack/a/b/new"), "x").unwrap();
    shelf.wait("new file", |s| {
        matches!(s.skills[0].tree.find(b"a/b/new"), Some(Node::File(_)))
    });
}

#[test]
fn the_target_of_a_linked_file_is_watched() {
    let mut shelf = Shelf::new(|path| {
        write(
            &path.join("root/.shared/text/deep/deeper/deepest/very/far"),
            "one",
        );
        fs::create_dir(path.join("root/pack")).unwrap();
        symlink(
            "../.shared/text/deep/deeper/deepest/very/far/SKILL.md",
            path.join("root/pack/SKILL.md"),
        )
        .unwrap();
    });
    assert_eq!(
        shelf.descriptions(),
        [("pack", "one")],
        "the target lies too deep to be found"
    );
    write(
        &shelf.path("root/.shared/text/deep/deeper/deepest/very/far"),
        "two",
    );
    shelf.wait("edited", |s| s.has("pack", "two"));
}

#[test]
fn a_linked_directory_is_watched_and_so_is_its_link() {
    let mut shelf = Shelf::new(|path| {
        write(&path.join("elsewhere/one"), "one");
        write(&path.join("elsewhere/two"), "two");
        symlink("../elsewhere/one", path.join("root/pack")).unwrap();
    });
    write(&shelf.path("elsewhere/one"), "edited");
    shelf.wait("edited", |s| s.has("pack", "edited"));
    fs::remove_file(shelf.path("root/pack")).unwrap();
    symlink("../elsewhere/two", shelf.path("root/pack")).unwrap();
    shelf.wait("led elsewhere", |s| s.has("pack", "two"));
}

#[test]
fn a_link_whose_target_comes_to_be_is_seen() {
    let mut shelf = Shelf::new(|path| {
        symlink("../later/deep/pack", path.join("root/pack")).unwrap();
    });
    assert_eq!(shelf.problems.len(), 1);
    write(&shelf.path("later/deep/pack"), "one");
    shelf.wait("created", |s| s.has("pack", "one") && s.problems.is_empty());
}

#[test]
fn a_root_that_comes_goes_and_comes_again_is_seen() {
    let mut shelf = Shelf::new(|path| fs::remove_dir(path.join("root")).unwrap());
    for description in ["one", "two"] {
        write(&shelf.path("root/pack"), description);
        shelf.wait("created", |s| s.has("pack", description));
        fs::remove_dir_all(shelf.path("root")).unwrap();
        shelf.wait("deleted", |s| s.skills.is_empty());
    }
}

#[test]
fn what_did_not_change_is_not_sent_again() {
    let mut shelf = Shelf::new(|path| write(&path.join("root/pack"), "one"));
    shelf.source.rescan(Path::new("anything"));
    assert!(!shelf.receive());
    let before = Arc::clone(&shelf.skills[0]);
    write(&shelf.path("root/other"), "one");
    shelf.source.rescan(&shelf.path("root/other/SKILL.md"));
    assert!(shelf.receive(), "sent before it returns");
    assert!(shelf.has("other", "one"));
    assert!(shelf.skills.iter().any(|skill| Arc::ptr_eq(skill, &before)));
}

#[test]
fn new_roots_are_scanned_and_watched() {
    let mut shelf = Shelf::new(|path| {
        write(&path.join("root/first"), "one");
        write(&path.join("second/pack"), "one");
    });
    write(&shelf.path("root/first"), "two");
    shelf.wait("watched", |s| s.has("first", "two"));
    shelf.source.set_roots(vec![root(shelf.path("second"))]);
    assert!(shelf.receive());
    assert!(shelf.has("pack", "one"));
    write(&shelf.path("second/pack"), "two");
    shelf.wait("edited", |s| s.has("pack", "two"));
}

#[test]
fn polls_and_says_so_when_watches_run_out() {
    struct NoWatches;
    impl Watcher for NoWatches {
        fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
            Ok(Self)
        }
        fn watch(&mut self, _: &Path, _: RecursiveMode) -> notify::Result<()> {
            Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch))
        }
        fn unwatch(&mut self, _: &Path) -> notify::Result<()> {
            Ok(())
        }
        fn kind() -> notify::WatcherKind {
            notify::WatcherKind::NullWatcher
        }
    }
    let limited: fn(Sender<Wake>) -> _ = |_| Ok(Box::new(NoWatches) as Notify);
    let none: fn(Sender<Wake>) -> _ = |_| {
        Err(notify::Error::io(std::io::Error::other(
            "too many open files",
        )))
    };
    for notify in [limited, none] {
        let machine = Machine { notify, ..MACHINE };
        let mut shelf = Shelf::on(machine, |path| write(&path.join("root/pack"), "one"));
        shelf.wait("reported", |s| {
            s.problems
                .iter()
                .any(|p| p.message.contains("looked at every 2 s"))
        });
        write(&shelf.path("root/pack"), "two");
        shelf.wait("edited", |s| s.has("pack", "two"));
    }
}

#[test]
fn a_root_in_a_mount_or_around_one_is_refused() {
    let machine = Machine {
        mounts: || {
            vec![ShelfMount {
                mount_point: PathBuf::from("/usr/shelf-under-test"),
                instance: "x".to_owned(),
                root: PathBuf::from("/"),
                user: None,
            }]
        },
        ..MACHINE
    };
    let mut shelf = Shelf::on(machine, |path| {
        write(&path.join("root/pack"), "one");
        symlink("/usr", path.join("link")).unwrap();
    });
    assert_eq!(shelf.problems, []);
    shelf.source.set_roots(vec![
        root(PathBuf::from("/usr/shelf-under-test/skills")),
        root(shelf.path("link")),
        root(shelf.path("root")),
    ]);
    assert!(shelf.receive());
    assert!(shelf.has("pack", "one"));
    let messages: Vec<&str> = shelf.problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the skills root lies in the shelf mount /usr/shelf-under-test",
            "the skills root contains the shelf mount /usr/shelf-under-test",
        ]
    );
}
