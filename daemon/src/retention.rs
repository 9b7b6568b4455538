//! How long files stay that nobody removes: a daemon takes away what has not been touched for too long, when it starts and each day.
//!
//! It must not touch what has no end: the manifests of mirrors, without which a mirror would not know its own files.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::surroundings::Directories;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Images, audio and blobs of results, and results that were too long to be printed.
const RESULTS: Duration = DAY.saturating_mul(7);
/// The logs of daemons and servers.
const LOGS: Duration = DAY.saturating_mul(90);
/// What is known of a configuration: it is touched at each of its starts.
const KNOWLEDGE: Duration = DAY.saturating_mul(365);

/// Removes what is too old, at once and each day: a daemon may live longer than what it keeps. Never ends.
pub(crate) async fn day_by_day(directories: Directories) {
    let mut days = tokio::time::interval(DAY);
    loop {
        days.tick().await;
        let directories = directories.clone();
        let removing = move || remove_old(&directories, SystemTime::now());
        let _ = tokio::task::spawn_blocking(removing).await;
    }
}

/// Removes what is too old. What can't be removed stays: that is no fault of this daemon's work.
fn remove_old(directories: &Directories, now: SystemTime) {
    let Directories {
        cache,
        state,
        runtime,
    } = directories;
    for (directory, age) in [
        (cache.join("results"), RESULTS),
        // Where results go when there is no home directory.
        (runtime.join("results"), RESULTS),
        (state.join("log"), LOGS),
        (state.join("daemons"), LOGS),
        (state.join("servers"), LOGS),
        (state.join("catalogs"), KNOWLEDGE),
        (cache.join("definitions"), KNOWLEDGE),
        (cache.join("tokens"), KNOWLEDGE),
        (cache.join("search"), KNOWLEDGE),
    ] {
        remove_below(&directory, now, age);
    }
    remove_pins(&state.join("pins"), now);
}

/// Pins go as a whole, by the age of their ledger: a part of them would be worse than none.
fn remove_pins(directory: &Path, now: SystemTime) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let ledger = fs::symlink_metadata(entry.path().join(crate::pins::LEDGER));
        if ledger.is_ok_and(|ledger| is_old(&ledger, now, KNOWLEDGE)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn remove_below(directory: &Path, now: SystemTime, age: Duration) {
    // No place, nothing in it.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let is_old = entry
            .metadata()
            .is_ok_and(|metadata| is_old(&metadata, now, age));
        if kind.is_dir() {
            remove_below(&entry.path(), now, age);
            if is_old {
                // Fails when something is in it.
                let _ = fs::remove_dir(entry.path());
            }
        } else if kind.is_file() && is_old {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_old(metadata: &Metadata, now: SystemTime, age: Duration) -> bool {
    let modified = metadata.modified();
    modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|since| since > age))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::time::SystemTime;

    use super::{DAY, remove_old};
    use crate::surroundings::Directories;

    #[test]
    fn what_was_left_alone_for_long_goes_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let directories = Directories {
            cache: place.path().join("cache"),
            state: place.path().join("state"),
            runtime: place.path().join("runtime"),
        };
        let now = SystemTime::now();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let make = |path: &str, days: u32| {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = File::create(&path).unwrap();
            file.set_modified(now - DAY * days).unwrap();
            path
        };
        let gone = [
            make("cache/results/old.png", 8),
            make("runtime/results/old.txt", 8),
            make("cache/definitions/a/old", 366),
            make("cache/tokens/old", 366),
            make("cache/search/old", 366),
            make("state/log/old.jsonl", 91),
            make("state/log/old.jsonl.4", 91),
            make("state/daemons/old.stderr", 91),
            make("state/servers/place/old.log", 91),
            make("state/catalogs/old.journal", 366),
            make("state/pins/old/ledger.json", 366),
            make("state/pins/old/objects/new", 1),
        ];
        let kept = [
            make("cache/key", 999),
            make("cache/results/new.png", 6),
            make("cache/definitions/a/new", 364),
            make("cache/tokens/new", 364),
            make("cache/search/new", 364),
            make("state/log/new.jsonl", 89),
            make("state/servers/place/new.log", 89),
            make("state/catalogs/new.journal", 364),
            make("state/pins/new/ledger.json", 364),
            make("state/pins/new/objects/old", 999),
            make("state/mirrors/old.manifest", 999),
            make("outside/old", 999),
        ];
        symlink(&outside, directories.state.join("log/link")).unwrap();
        remove_old(&directories, now);
        for path in gone {
            assert!(!path.exists(), "{}", path.display());
        }
        for path in kept {
            assert!(path.exists(), "{}", path.display());
        }
    }
}
