use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use skills::problem::ProblemKind;
use skills::tree::{Content, Directory, File, Link, Node, SourceFile, SourceStat};
use tempfile::TempDir;

use super::{Mirror, MirrorReport, is_held};

fn time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789)
}

fn file(content: Content, mode: u32) -> Node {
    Node::File(Arc::new(File {
        content,
        mode,
        modified: time(),
        volatile: false,
        entry: None,
        origin: None,
    }))
}

fn text(text: &str) -> Node {
    file(Content::Bytes(text.as_bytes().into()), 0o444)
}

fn link(target: &str) -> Node {
    Node::Link(Arc::new(Link {
        target: target.as_bytes().into(),
        modified: time(),
    }))
}

fn tree(children: Vec<(&str, Node)>) -> Arc<Directory> {
    let children = children
        .into_iter()
        .map(|(name, node)| (name.as_bytes().into(), node));
    Arc::new(Directory::new(children.collect(), time()))
}

fn directory(children: Vec<(&str, Node)>) -> Node {
    Node::Directory(tree(children))
}

fn source(root: &Path, path: &str) -> Content {
    let metadata = fs::metadata(root.join(path)).expect("the source is there");
    Content::Source(Arc::new(SourceFile {
        root: root.to_owned(),
        path: path.into(),
        stat: SourceStat::of(&metadata),
    }))
}

struct Place {
    place: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = TempDir::new().expect("a directory");
        fs::create_dir(place.path().join("skill")).expect("it is new");
        Self { place }
    }

    fn skill(&self) -> PathBuf {
        self.place.path().join("skill")
    }

    fn target(&self, path: &str) -> PathBuf {
        self.place.path().join("target").join(path)
    }

    fn try_mirror(&self, tree: &Arc<Directory>) -> Result<MirrorReport, skills::problem::Problem> {
        let manifest = self.place.path().join("state").join("manifest");
        Mirror::open(&self.place.path().join("target"), &manifest)?.write(tree)
    }

    /// A mirror that is kept.
    fn keep(&self) -> Mirror {
        let manifest = self.place.path().join("state").join("manifest");
        Mirror::open(&self.place.path().join("target"), &manifest).expect("the target can be used")
    }

    fn mirror(&self, tree: &Arc<Directory>) -> MirrorReport {
        self.try_mirror(tree).expect("the target can be used")
    }

    /// Mirrors and expects that the only problem is with this path.
    fn mirror_but(&self, tree: &Arc<Directory>, path: &str) -> ProblemKind {
        let report = self.mirror(tree);
        let [problem] = report.problems.as_slice() else {
            panic!("not one problem: {:?}", report.problems);
        };
        let expected = format!("{}: ", self.target(path).display());
        assert!(problem.to_string().starts_with(&expected), "{problem}");
        problem.kind
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.target(path)).expect("it is there")
    }

    /// A user's own file in place of whatever is there.
    fn put(&self, path: &str, text: &str) {
        let path = self.target(path);
        if path.exists() {
            fs::remove_file(&path).expect("it can be removed");
        }
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
}

fn example(place: &Place) -> Arc<Directory> {
    let script = place.skill().join("run.sh");
    if !script.exists() {
        fs::write(&script, "echo").expect("it can be written");
    }
    let skill = vec![
        ("SKILL.md", text("read me")),
        ("run.sh", file(source(&place.skill(), "run.sh"), 0o555)),
        ("latest", link("run.sh")),
    ];
    tree(vec![
        ("INDEX.md", text("index")),
        ("skills", directory(vec![("pdf", directory(skill))])),
    ])
}

#[test]
fn the_root_of_all_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("link");
    symlink("/", &link).unwrap();
    let manifest = place.path().join("manifest");
    let problem = Mirror::open(&link, &manifest).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Usage);
    assert!(!manifest.exists());
}

#[test]
fn everything_is_written_with_modes_times_and_links() {
    let place = Place::new();
    let report = place.mirror(&example(&place));
    assert_eq!(
        report,
        MirrorReport {
            written: 4,
            ..MirrorReport::default()
        }
    );
    assert_eq!(place.read("INDEX.md"), "index");
    assert_eq!(place.read("skills/pdf/run.sh"), "echo");
    assert_eq!(place.read("skills/pdf/latest"), "echo");
    for (path, mode) in [
        ("INDEX.md", 0o444),
        ("skills/pdf/run.sh", 0o555),
        ("skills/pdf", 0o755),
    ] {
        let metadata = fs::metadata(place.target(path)).expect("it is there");
        assert_eq!(metadata.permissions().mode() & 0o7777, mode, "{path}");
        assert_eq!(
            metadata.modified().expect("it has a time"),
            time(),
            "{path}"
        );
    }
    let link = fs::symlink_metadata(place.target("skills/pdf/latest")).expect("it is there");
    assert_eq!(link.modified().expect("it has a time"), time());
}

#[test]
fn twice_in_a_row_writes_nothing() {
    let place = Place::new();
    place.mirror(&example(&place));
    let before = fs::metadata(place.target("INDEX.md")).expect("it is there");
    let report = place.mirror(&example(&place));
    assert_eq!(
        report,
        MirrorReport {
            unchanged: 4,
            ..MirrorReport::default()
        }
    );
    let after = fs::metadata(place.target("INDEX.md")).expect("it is there");
    assert_eq!(
        (before.ino(), before.ctime_nsec()),
        (after.ino(), after.ctime_nsec())
    );
}

#[test]
fn what_changed_is_replaced_and_what_vanished_removed() {
    let place = Place::new();
    place.mirror(&example(&place));
    let report = place.mirror(&tree(vec![("INDEX.md", text("other"))]));
    assert_eq!(
        report,
        MirrorReport {
            written: 1,
            removed: 5,
            ..MirrorReport::default()
        }
    );
    assert_eq!(place.read("INDEX.md"), "other");
    assert!(!place.target("skills").exists());
}

#[test]
fn an_entry_may_become_another_kind() {
    let place = Place::new();
    place.mirror(&tree(vec![
        ("a", text("file")),
        ("b", directory(vec![("c", text("c"))])),
        ("d", link("a")),
    ]));
    let turned = tree(vec![
        ("a", directory(vec![("c", text("c"))])),
        ("b", link("a/c")),
        ("d", text("file")),
    ]);
    assert_eq!(place.mirror(&turned).problems, []);
    assert_eq!(place.read("a/c"), "c");
    assert_eq!(place.read("b"), "c");
    assert_eq!(place.read("d"), "file");
}

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

#[test]
fn a_source_that_changed_is_reported_and_the_old_copy_stays() {
    let place = Place::new();
    let before = example(&place);
    place.mirror(&before);
    fs::write(place.skill().join("run.sh"), "echo more").expect("it can be written");
    let after = example(&place);
    fs::write(place.skill().join("run.sh"), "echo even more").expect("it can be written");
    let kind = place.mirror_but(&after, "skills/pdf/run.sh");
    assert_eq!(kind, ProblemKind::Unreadable);
    assert_eq!(place.read("skills/pdf/run.sh"), "echo");
    assert_eq!(place.mirror(&example(&place)).written, 1);
    assert_eq!(place.read("skills/pdf/run.sh"), "echo even more");
    fs::remove_file(place.skill().join("run.sh")).expect("it is there");
    fs::write(place.skill().join("run.sh"), "new").expect("it can be written");
    let gone = example(&place);
    fs::remove_file(place.skill().join("run.sh")).expect("it is there");
    place.mirror_but(&gone, "skills/pdf/run.sh");
    assert!(!place.target("skills/pdf/.shelf-mirror-partial").exists());
}

#[test]
fn a_source_that_became_a_link_out_is_not_copied() {
    let place = Place::new();
    let tree = example(&place);
    fs::remove_file(place.skill().join("run.sh")).expect("it is there");
    symlink("/etc/passwd", place.skill().join("run.sh")).expect("the place is free");
    place.mirror_but(&tree, "skills/pdf/run.sh");
    assert!(!place.target("skills/pdf/run.sh").exists());
}

#[test]
fn a_lost_manifest_alarms_nobody_while_nothing_changed() {
    let place = Place::new();
    place.mirror(&example(&place));
    fs::remove_dir_all(place.place.path().join("state")).expect("it is there");
    let report = place.mirror(&example(&place));
    assert_eq!(
        report,
        MirrorReport {
            unchanged: 4,
            ..MirrorReport::default()
        }
    );
}

#[test]
fn a_mirror_that_was_killed_still_knows_its_own() {
    let place = Place::new();
    place.mirror(&tree(vec![("a", text("old"))]));
    let manifest = place.place.path().join("state/manifest");
    let old = fs::read(&manifest).expect("it is there");
    place.mirror(&tree(vec![("a", text("new"))]));
    // As it is between the announcement and the rename, and torn besides.
    let mut both = old.clone();
    both.extend(fs::read(&manifest).expect("it is there"));
    both.extend(b"torn");
    for there in ["old", "new"] {
        fs::write(&manifest, &both).expect("it can be written");
        fs::remove_file(place.target("a")).expect("it is there");
        fs::write(place.target("a"), there).expect("the place is free");
        assert_eq!(
            place.mirror(&tree(vec![("a", text("newest"))])).problems,
            [],
            "{there}"
        );
        assert_eq!(place.read("a"), "newest");
    }
}

#[test]
fn two_mirrors_do_not_write_at_once() {
    let place = Place::new();
    fs::create_dir(place.target("")).expect("it is new");
    let target = fs::File::open(place.target("")).expect("it is there");
    rustix::fs::flock(&target, rustix::fs::FlockOperation::LockExclusive).expect("it is free");
    let problem = place
        .try_mirror(&tree(vec![]))
        .expect_err("it is being written");
    assert_eq!(problem.kind, ProblemKind::Usage);
}

#[test]
fn of_what_is_kept_only_the_directories_that_changed_are_looked_at() {
    let place = Place::new();
    let mut mirror = place.keep();
    let same = directory(vec![("a.md", text("a"))]);
    let with = |other: &str| {
        tree(vec![
            ("other", directory(vec![("b.md", text(other))])),
            ("same", same.clone()),
        ])
    };
    let first = with("one");
    assert_eq!(mirror.write(&first).unwrap().written, 2);
    assert!(mirror.has_written(&first));

    let second = with("two");
    assert!(!mirror.has_written(&second));
    let report = mirror.write(&second).unwrap();
    assert_eq!((report.written, report.unchanged), (1, 0));
    assert_eq!(place.read("other/b.md"), "two");
    assert_eq!(place.read("same/a.md"), "a");
}

#[test]
fn a_directory_that_somebody_removed_is_written_again_although_it_is_the_same() {
    let place = Place::new();
    let mut mirror = place.keep();
    let same = directory(vec![("a.md", text("a"))]);
    mirror.write(&tree(vec![("same", same.clone())])).unwrap();
    fs::remove_dir_all(place.target("same")).unwrap();
    let next = tree(vec![("more.md", text("more")), ("same", same)]);
    assert_eq!(mirror.write(&next).unwrap().problems, []);
    assert_eq!(place.read("same/a.md"), "a");
}

#[test]
fn what_could_not_be_written_is_said_until_it_can() {
    let place = Place::new();
    let mut mirror = place.keep();
    place.put("same/a.md", "mine");
    let same = directory(vec![("a.md", text("a"))]);
    let with = |other: &str| tree(vec![("other.md", text(other)), ("same", same.clone())]);
    assert_eq!(mirror.write(&with("one")).unwrap().problems.len(), 1);
    assert_eq!(mirror.write(&with("two")).unwrap().problems.len(), 1);
    fs::remove_file(place.target("same/a.md")).unwrap();
    assert_eq!(mirror.write(&with("three")).unwrap().problems, []);
    assert_eq!(place.read("same/a.md"), "a");
}

#[test]
fn a_directory_that_is_kept_is_held_and_missed_when_it_goes() {
    let place = Place::new();
    let target = place.target("");
    assert!(!is_held(&target));
    let mirror = place.keep();
    assert!(is_held(&target) && mirror.is_in_place());
    let refused = place.try_mirror(&tree(vec![])).unwrap_err();
    assert!(refused.hint.unwrap().contains("shelf unmount"));
    fs::remove_dir_all(&target).unwrap();
    assert!(!mirror.is_in_place());
    fs::create_dir(&target).unwrap();
    assert!(!mirror.is_in_place(), "another one of the same name");
    drop(mirror);
    assert!(!is_held(&target));
}
