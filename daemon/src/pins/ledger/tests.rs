use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use jiff::Timestamp;
use skills::entry_id::ServerName;

use super::Ledger;
use crate::pins::hash::Hash;
use crate::pins::subject::{PinnedServer, Subject};
use crate::pins::transition::{Held, Looked, Pin, Version};

fn server() -> PinnedServer {
    PinnedServer {
        project: Some("/p\n".into()),
        name: ServerName::new("a b"),
    }
}

fn version(byte: u8) -> Version {
    Version {
        hash: Hash([byte; 32]),
        since: Timestamp::UNIX_EPOCH,
    }
}

fn subjects() -> [Subject; 3] {
    [
        Subject::Server(server()),
        Subject::Tool {
            server: server(),
            name: "é/\n".into(),
        },
        Subject::Skill {
            source: Some("team".into()),
            found: PathBuf::from("/skills/pdf"),
        },
    ]
}

fn pin(byte: u8) -> Pin {
    Pin {
        before: Some(version(byte + 1)),
        held: Some(Held::Changed(version(byte + 2))),
        gone: Some(Timestamp::UNIX_EPOCH),
        looked: Some(Looked {
            stat: Hash([7; 32]),
            hash: Hash([8; 32]),
            whole: true,
        }),
        ..Pin::new(version(byte))
    }
}

#[test]
fn what_is_written_is_read_again_also_by_others() {
    let place = tempfile::tempdir().unwrap();
    let mut one = Ledger::open(place.path());
    let mut other = Ledger::open(place.path());
    assert!(!one.take_news());
    one.update(|pins| pins.extend(subjects().map(|subject| (subject, pin(1)))))
        .unwrap();
    let mode = one.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    other.refresh();
    assert!(other.take_news());
    assert_eq!(other.pins(), one.pins());
    let mut reader = Ledger::read(place.path());
    reader.refresh();
    assert_eq!(reader.pins(), one.pins());
    // Of two that write, none takes back what the other wrote.
    let [first, second, third] = subjects();
    one.update(|pins| pins.remove(&first)).unwrap();
    other.update(|pins| pins.remove(&second)).unwrap();
    one.refresh();
    assert_eq!(one.pins().keys().collect::<Vec<_>>(), [&third]);
}

#[test]
fn a_file_that_can_not_be_read_stays_and_nothing_is_added() {
    let place = tempfile::tempdir().unwrap();
    let [first, second, _] = subjects();
    let mut running = Ledger::open(place.path());
    let insert = |ledger: &mut Ledger, subject: &Subject| {
        ledger.update(|pins| pins.insert(subject.clone(), pin(1)))
    };
    insert(&mut running, &first).unwrap();
    let good = fs::read(running.path()).unwrap();
    for bad in [&good[..good.len() / 2], b"", br#"{"version":99,"pins":[]}"#] {
        fs::write(running.path(), bad).unwrap();
        let mut new = Ledger::open(place.path());
        assert!(!new.is_usable() && new.pins().is_empty());
        assert!(insert(&mut new, &second).is_none());
        assert!(new.problem(true).unwrap().message.contains("can't be used"));
        // Who knew them before goes by what it knows.
        assert!(insert(&mut running, &second).is_none());
        assert!(running.get(&first).is_some() && running.get(&second).is_none());
        assert_eq!(fs::read(running.path()).unwrap(), bad);
    }
    fs::write(running.path(), &good).unwrap();
    assert!(insert(&mut running, &second).is_some(), "it is mended");
    // One that others could have written counts for nothing.
    fs::set_permissions(running.path(), Permissions::from_mode(0o666)).unwrap();
    assert!(!Ledger::open(place.path()).is_usable());
}

#[test]
fn where_nothing_is_strict_it_is_begun_anew() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("ledger.json"), "oops").unwrap();
    let mut ledger = Ledger::open(place.path());
    ledger.begin_anew();
    assert!(
        ledger
            .problem(false)
            .unwrap()
            .hint
            .unwrap()
            .contains("begun anew")
    );
    assert!(
        ledger
            .update(|pins| pins.insert(subjects()[0].clone(), pin(1)))
            .is_some()
    );
    assert!(Ledger::open(place.path()).is_usable());
}

#[test]
fn a_file_that_was_removed_is_written_again() {
    let place = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(place.path());
    ledger
        .update(|pins| pins.insert(subjects()[0].clone(), pin(1)))
        .unwrap();
    fs::remove_file(ledger.path()).unwrap();
    ledger.refresh();
    assert_eq!(ledger.pins().len(), 1);
    ledger.update(|_| ()).unwrap();
    assert_eq!(Ledger::open(place.path()).pins().len(), 1);
}

#[test]
fn who_only_reads_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::read(&place.path().join("absent"));
    ledger
        .update(|pins| pins.insert(subjects()[0].clone(), pin(1)))
        .unwrap();
    assert_eq!(ledger.pins().len(), 1);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}
