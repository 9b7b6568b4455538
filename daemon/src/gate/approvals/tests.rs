use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use skills::entry_id::EntryId;
use skills::offers::Kind;
use skills::problem::ProblemKind;

use super::{Approvals, Key, LIFETIME, MOST, Standing};
use crate::gate::remembered::Remembered;
use crate::protocol::{Approval, ApprovalState};

fn approvals(state: &Path) -> Approvals {
    Approvals::new(Remembered::below(state, "test"))
}

fn key(arguments: u8) -> Key {
    Key {
        uid: 1000,
        server: "github".into(),
        tool: "delete".into(),
        offered: None,
        definition: [1; 32],
        arguments: [arguments; 32],
    }
}

fn shown() -> Approval {
    Approval {
        id: String::new(),
        entry: EntryId("github/delete".into()),
        server: "github".into(),
        tool: "delete".into(),
        offered: None,
        arguments: Vec::new(),
        more: 0,
        rule: "ask".into(),
        uid: 1000,
        pid: 1,
        command: "agent".into(),
        session: String::new(),
        since: Timestamp::UNIX_EPOCH,
        until: Timestamp::UNIX_EPOCH,
        state: ApprovalState::Waiting,
    }
}

fn waiting(approvals: &Approvals, now: Instant) -> String {
    approvals.wait(key(1), shown(), now).unwrap()
}

#[test]
fn an_approval_is_for_exactly_one_call_and_once() {
    let state = tempfile::tempdir().unwrap();
    let (approvals, now) = (approvals(state.path()), Instant::now());
    let id = waiting(&approvals, now);
    assert_eq!(approvals.take(&key(1), now), Standing::Undecided);
    approvals.approve(&id, false, 1000, now).unwrap();
    let others = [
        key(2),
        Key { uid: 0, ..key(1) },
        Key {
            server: "gitlab".into(),
            ..key(1)
        },
        Key {
            tool: "merge".into(),
            ..key(1)
        },
        Key {
            definition: [2; 32],
            ..key(1)
        },
    ];
    for other in &others {
        assert_eq!(approvals.take(other, now), Standing::Undecided, "{other:?}");
    }
    assert_eq!(approvals.take(&key(1), now), Standing::Approved);
    assert_eq!(approvals.take(&key(1), now), Standing::Undecided);
    assert!(approvals.list(now).unwrap().waiting.is_empty());
    let gone = approvals.approve(&id, false, 1000, now).unwrap_err();
    assert_eq!(gone.kind, ProblemKind::NotFound);
}

#[test]
fn who_asks_again_waits_under_the_same_id() {
    let state = tempfile::tempdir().unwrap();
    let (approvals, now) = (approvals(state.path()), Instant::now());
    let id = waiting(&approvals, now);
    let later = now + LIFETIME - Duration::from_secs(1);
    assert_eq!(waiting(&approvals, later), id);
    // Its time began anew.
    assert_eq!(waiting(&approvals, later + LIFETIME / 2), id);
    assert_eq!(approvals.list(now).unwrap().waiting.len(), 1);
    assert_ne!(approvals.wait(key(2), shown(), later).unwrap(), id);
}

#[test]
fn everything_has_its_time() {
    let state = tempfile::tempdir().unwrap();
    let (approvals, now) = (approvals(state.path()), Instant::now());
    let id = waiting(&approvals, now);
    let end = now + LIFETIME;
    assert!(approvals.approve(&id, false, 1000, end).is_err());
    let id = waiting(&approvals, now);
    approvals.approve(&id, false, 1000, now).unwrap();
    assert_eq!(approvals.take(&key(1), end), Standing::Undecided);
    let id = waiting(&approvals, now);
    approvals.deny(&id, now).unwrap();
    assert_eq!(approvals.take(&key(1), now), Standing::Denied);
    assert_eq!(approvals.take(&key(1), end), Standing::Undecided);
}

#[test]
fn an_approval_can_be_taken_back() {
    let state = tempfile::tempdir().unwrap();
    let (approvals, now) = (approvals(state.path()), Instant::now());
    let id = waiting(&approvals, now);
    approvals.approve(&id, false, 1000, now).unwrap();
    approvals.deny(&id, now).unwrap();
    assert_eq!(approvals.take(&key(1), now), Standing::Denied);

    let id = approvals.wait(key(2), shown(), now).unwrap();
    approvals.approve(&id, true, 1000, now).unwrap();
    assert_eq!(approvals.take(&key(2), now), Standing::Approved);
    approvals.deny(&id, now).unwrap();
    assert_eq!(approvals.take(&key(2), now), Standing::Undecided);
    assert!(approvals.deny(&id, now).is_err());
}

#[test]
fn what_is_for_good_outlives_the_daemon_and_not_the_definition() {
    let state = tempfile::tempdir().unwrap();
    let now = Instant::now();
    let before = approvals(state.path());
    let id = waiting(&before, now);
    before.approve(&id, true, 1000, now).unwrap();
    let after = approvals(state.path());
    for arguments in [1, 2, 1] {
        assert_eq!(after.take(&key(arguments), now), Standing::Approved);
    }
    let others = [
        Key { uid: 0, ..key(1) },
        Key {
            server: "gitlab".into(),
            ..key(1)
        },
        Key {
            tool: "merge".into(),
            ..key(1)
        },
        Key {
            definition: [2; 32],
            ..key(1)
        },
    ];
    for other in &others {
        assert_eq!(after.take(other, now), Standing::Undecided, "{other:?}");
    }
    // A newer definition takes the place of the older.
    let newer = Key {
        definition: [2; 32],
        ..key(1)
    };
    let id = after.wait(newer, shown(), now).unwrap();
    after.approve(&id, true, 1000, now).unwrap();
    assert_eq!(after.list(now).unwrap().always.len(), 1);
    assert_eq!(after.take(&key(1), now), Standing::Undecided);
}

#[test]
fn a_tool_with_the_name_of_a_kind_is_not_what_is_offered() {
    let state = tempfile::tempdir().unwrap();
    let (approvals, now) = (approvals(state.path()), Instant::now());
    let reads = Key {
        tool: "RESOURCES".into(),
        offered: Some(Kind::Resources),
        ..key(1)
    };
    // Whatever its definition is.
    let tool = Key {
        offered: None,
        ..reads.clone()
    };
    for key in [&reads, &tool] {
        let id = approvals.wait(key.clone(), shown(), now).unwrap();
        assert_eq!(approvals.take(key, now), Standing::Undecided);
        approvals.approve(&id, true, 1000, now).unwrap();
    }
    for key in [&reads, &tool] {
        assert_eq!(approvals.take(key, now), Standing::Approved, "{key:?}");
    }
    assert_eq!(approvals.list(now).unwrap().always.len(), 2);
}

#[test]
fn a_file_that_is_not_to_be_trusted_approves_nothing() {
    let state = tempfile::tempdir().unwrap();
    let (approvals, now) = (approvals(state.path()), Instant::now());
    let id = waiting(&approvals, now);
    approvals.approve(&id, true, 1000, now).unwrap();
    let path = state.path().join("approvals/test.json");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(approvals.take(&key(1), now), Standing::Approved);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
    assert_eq!(approvals.take(&key(1), now), Standing::Undecided);
    assert!(approvals.list(now).is_err());
    let id = waiting(&approvals, now);
    assert!(approvals.approve(&id, true, 1000, now).is_err());
    assert_eq!(approvals.take(&key(1), now), Standing::Undecided);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(approvals.take(&key(1), now), Standing::Approved);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(approvals.take(&key(1), now), Standing::Undecided);
    fs::rename(&path, path.with_extension("moved")).unwrap();
    fs::write(path.with_extension("moved"), &whole).unwrap();
    std::os::unix::fs::symlink(path.with_extension("moved"), &path).unwrap();
    assert_eq!(approvals.take(&key(1), now), Standing::Undecided);
}

#[test]
fn no_more_wait_than_fit() {
    let state = tempfile::tempdir().unwrap();
    let (approvals, now) = (approvals(state.path()), Instant::now());
    let first = waiting(&approvals, now);
    for number in 0..MOST {
        let key = Key {
            tool: number.to_string(),
            ..key(1)
        };
        approvals.wait(key, shown(), now).unwrap();
    }
    assert_eq!(approvals.list(now).unwrap().waiting.len(), MOST);
    assert!(approvals.approve(&first, false, 1000, now).is_err());
}
