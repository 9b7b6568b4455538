use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, Flag};
use notify::{Event, Result};

use super::{ConfigWatch, MOST, concerns};

/// Far more than a change takes to be told.
const PATIENCE: Duration = Duration::from_secs(20);

/// Does something again and again, with less time between than the files have to be quiet, until it is dropped.
struct Restless {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Restless {
    fn start(act: impl Fn() + Send + 'static) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                act();
                std::thread::sleep(MOST / 100);
            }
        });
        let thread = Some(thread);
        Self { ended, thread }
    }
}

impl Drop for Restless {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn told(watch: &mut ConfigWatch) -> bool {
    matches!(
        tokio::time::timeout(PATIENCE, watch.changed()).await,
        Ok(Some(()))
    )
}

#[tokio::test]
async fn what_else_happens_in_the_directory_delays_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (file, notes) = (place.path().join("shelf.toml"), place.path().join("notes"));
    fs::write(&notes, "read me").unwrap();
    let mut watch = ConfigWatch::start(std::slice::from_ref(&file)).unwrap();
    let again = file.clone();
    let _restless = Restless::start(move || {
        fs::write(&notes, fs::read(&notes).unwrap()).unwrap();
        let _ = fs::read(&again);
    });
    let idle = tokio::time::timeout(MOST * 2, watch.changed()).await;
    assert!(idle.is_err(), "nothing changed");
    fs::write(&file, "").unwrap();
    assert!(told(&mut watch).await);
}

#[tokio::test]
async fn a_file_that_is_written_on_and_on_is_told_all_the_same() {
    let place = tempfile::tempdir().unwrap();
    let (file, other) = (place.path().join("shelf.toml"), place.path().join("trust"));
    fs::write(&file, "").unwrap();
    let mut watch = ConfigWatch::start(&[file.clone(), other.clone()]).unwrap();
    let _restless = Restless::start(move || fs::write(&file, "").unwrap());
    // Again and again, and so also what changes meanwhile.
    assert!(told(&mut watch).await);
    fs::write(&other, "").unwrap();
    assert!(told(&mut watch).await);
    assert!(told(&mut watch).await);
}

#[tokio::test]
async fn what_a_link_leads_to_is_watched_when_it_was_gone_meanwhile() {
    let place = tempfile::tempdir().unwrap();
    let (file, target) = (place.path().join("shelf.toml"), place.path().join("mine"));
    std::os::unix::fs::symlink("mine", &file).unwrap();
    fs::write(&target, "").unwrap();
    let mut watch = ConfigWatch::start(&[file]).unwrap();
    fs::write(&target, "x").unwrap();
    assert!(told(&mut watch).await);
    fs::remove_file(&target).unwrap();
    fs::write(&target, "y").unwrap();
    assert!(told(&mut watch).await);
}

#[test]
fn only_what_changes_a_file_concerns() {
    let files = [PathBuf::from("/x/shelf.toml")];
    let event = |kind, path: &str| -> Result<Event> {
        Ok(Event::new(kind).add_path(Path::new("/x").join(path)))
    };
    let made = EventKind::Create(CreateKind::File);
    assert!(concerns(&files, &event(made, "shelf.toml")));
    assert!(!concerns(&files, &event(made, "shelf.toml.swp")));
    for mode in [AccessMode::Read, AccessMode::Any] {
        let read = EventKind::Access(AccessKind::Open(mode));
        assert!(!concerns(&files, &event(read, "shelf.toml")));
    }
    // The kernel keeps only so many events that nobody has fetched: any could be among those that are lost.
    let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
    assert!(concerns(&files, &Ok(lost)));
}
