//! Tests on a real mount. Where there is no FUSE they are skipped with a word, but never on CI.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use skills::entry_id::EntryId;
use skills::tree::{Content, Directory, File, Link, Node, SourceFile, SourceStat};
use tempfile::TempDir;

use super::{Mount, MountOptions, Observer, Searching};
use crate::caller::Caller;

mod changes;
mod contents;
mod life_cycle;
mod read_only;
mod search;
mod sources;

/// Longer than anything here takes, short enough that a hang is told.
const DEADLINE: Duration = Duration::from_secs(10);

/// A tree in the making: paths to leaves; directories come by themselves.
#[derive(Clone, Default)]
struct Tree(BTreeMap<String, Node>);

impl Tree {
    fn with(mut self, path: &str, node: Node) -> Self {
        self.0.insert(path.to_owned(), node);
        self
    }

    fn text(self, path: &str, text: &str) -> Self {
        self.with(path, Node::File(Arc::new(file(text.as_bytes(), 0o444))))
    }

    fn script(self, path: &str, text: &str) -> Self {
        self.with(path, Node::File(Arc::new(file(text.as_bytes(), 0o555))))
    }

    fn volatile(self, path: &str, text: &str) -> Self {
        let mut file = file(text.as_bytes(), 0o444);
        file.volatile = true;
        self.with(path, Node::File(Arc::new(file)))
    }

    fn link(self, path: &str, target: &str) -> Self {
        let link = Link {
            target: target.as_bytes().into(),
            modified: time(),
        };
        self.with(path, Node::Link(Arc::new(link)))
    }

    fn empty_directory(self, path: &str) -> Self {
        self.with(
            path,
            Node::Directory(Arc::new(Directory::new(vec![], time()))),
        )
    }

    fn without(mut self, path: &str) -> Self {
        self.0
            .remove(path)
            .expect("the tree has what it is to lose");
        self
    }

    fn build(&self) -> Arc<Directory> {
        let paths: Vec<(&str, &Node)> = self
            .0
            .iter()
            .map(|(path, node)| (path.as_str(), node))
            .collect();
        build(&paths)
    }
}

fn build(paths: &[(&str, &Node)]) -> Arc<Directory> {
    let mut children: BTreeMap<&str, Vec<(&str, &Node)>> = BTreeMap::new();
    for (path, node) in paths {
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        children.entry(name).or_default().push((rest, node));
    }
    let children = children
        .into_iter()
        .map(|(name, below)| {
            let node = match below.as_slice() {
                [("", node)] => (*node).clone(),
                below => Node::Directory(build(below)),
            };
            (name.as_bytes().into(), node)
        })
        .collect();
    Arc::new(Directory::new(children, time()))
}

fn time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn file(bytes: &[u8], mode: u32) -> File {
    File {
        content: Content::Bytes(bytes.into()),
        mode,
        modified: time(),
        volatile: false,
        entry: Some(EntryId::skill("test")),
        origin: None,
    }
}

/// The source file at a path as it is now.
fn source(root: &Path, path: &str) -> Arc<SourceFile> {
    let stat = SourceStat::of(&fs::metadata(root.join(path)).unwrap());
    Arc::new(SourceFile {
        root: root.to_owned(),
        path: path.into(),
        stat,
    })
}

type SourceChanged = dyn Fn(&SourceFile) -> Option<u64> + Send + Sync;

/// Notes what is opened; a changed source is told to whom the test names.
#[derive(Default)]
struct Recorder {
    opened: Mutex<Vec<(Caller, PathBuf, Option<EntryId>)>>,
    searched: Mutex<Vec<(Caller, String, usize)>>,
    source_changed: Mutex<Option<Arc<SourceChanged>>>,
}

impl Observer for Recorder {
    fn identify(&self, thread: u32, uid: u32) -> Caller {
        Caller {
            pid: thread,
            uid,
            command: String::new(),
            session: String::new(),
        }
    }

    fn opened(&self, caller: Caller, path: PathBuf, entry: Option<EntryId>) {
        self.opened.lock().unwrap().push((caller, path, entry));
    }

    fn searched(&self, caller: Caller, words: &str, matches: usize) {
        let mut searched = self.searched.lock().unwrap();
        searched.push((caller, words.to_owned(), matches));
    }

    fn source_changed(&self, source: &SourceFile) -> Option<u64> {
        let told = self.source_changed.lock().unwrap().clone()?;
        told(source)
    }
}

/// A mount on a directory of its own, unmounted when it is dropped.
struct Fixture {
    mount: Option<Mount>,
    point: PathBuf,
    directory: TempDir,
    recorder: Arc<Recorder>,
    generation: AtomicU64,
}

impl Fixture {
    fn new(tree: &Tree) -> Option<Self> {
        Self::start(tree, None)
    }

    /// A mount whose `search/` is answered.
    fn with_search(tree: &Tree, searching: Arc<dyn Searching>) -> Option<Self> {
        Self::start(tree, Some(searching))
    }

    fn start(tree: &Tree, searching: Option<Arc<dyn Searching>>) -> Option<Self> {
        if !fuse_is_usable() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let point = base.join("mount point");
        fs::create_dir(&point).unwrap();
        let recorder = Arc::new(Recorder::default());
        let (tree, observer) = (tree.build(), recorder.clone());
        let mount = Mount::start(&point, &options(), 1, tree, observer, searching).unwrap();
        Some(Self {
            mount: Some(mount),
            point,
            directory,
            recorder,
            generation: AtomicU64::new(1),
        })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.point.join(path)
    }

    fn scratch(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| format!("{error}"))
    }

    fn publish(&self, tree: &Tree) -> u64 {
        let generation = self.generation.fetch_add(1, Ordering::SeqCst) + 1;
        let mount = self
            .mount
            .as_ref()
            .expect("a fixture publishes while it is mounted");
        mount.publish(generation, tree.build());
        generation
    }

    fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs a shell command at a directory and returns what it printed, with its exit status.
    fn shell(&self, directory: &Path, command: &str) -> String {
        shell(directory, command)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        drop(self.mount.take());
    }
}

fn options() -> MountOptions {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    MountOptions {
        instance: format!(
            "test-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::SeqCst)
        ),
        allow_other: false,
        nonempty: false,
    }
}

fn fuse_is_usable() -> bool {
    match fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
    {
        Ok(_) => true,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "/dev/fuse: {error}");
            eprintln!("skipped: /dev/fuse: {error}");
            false
        }
    }
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: only root may mount and unmount as this test does");
    }
    root
}

fn has_command(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {name} is not installed");
    }
    found
}

fn shell(directory: &Path, command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(directory)
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    format!(
        "{}{}exit {:?}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code()
    )
}

/// Waits until it holds.
#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < DEADLINE,
            "not within {DEADLINE:?}: {what}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}
