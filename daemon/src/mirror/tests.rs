mod foreign;
mod keeping;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use skills::problem::ProblemKind;
use skills::tree::{Content, Directory, File, Link, Node, SourceFile, SourceStat};
use tempfile::TempDir;

use super::{Mirror, MirrorReport};

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
fn directories_of_skills_are_as_closed_as_their_sources() {
    let place = Place::new();
    let with_mode = |mode| {
        let mut skill = Directory::new(vec![("SKILL.md".as_bytes().into(), text("x"))], time());
        skill.mode = mode;
        tree(vec![("pdf", Node::Directory(Arc::new(skill)))])
    };
    let mode = || fs::metadata(place.target("pdf")).unwrap().mode() & 0o7777;
    // Whatever it is, the mirror can go on.
    for (of_source, mirrored) in [
        (0o700, 0o700),
        (0o755, 0o755),
        (0o050, 0o750),
        (0o711, 0o711),
    ] {
        assert_eq!(place.mirror(&with_mode(Some(of_source))).problems, []);
        assert_eq!(mode(), mirrored);
    }
    // That of a rendered one is left to the user.
    assert_eq!(place.mirror(&with_mode(None)).problems, []);
    assert_eq!(mode(), 0o711);
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
