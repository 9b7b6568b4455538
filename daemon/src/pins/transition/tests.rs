use jiff::Timestamp;
use skills::entry_id::ServerName;

use super::{Held, Noticed, PinsBySubject, Sighting, Told, is_news, see};
use crate::pins::hash::Hash;
use crate::pins::subject::{PinnedServer, Subject};

fn subject() -> Subject {
    Subject::Server(PinnedServer {
        project: None,
        name: ServerName::new("a"),
    })
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Sees a version, or with `None` that it is gone; checks that only what changes anything is news.
#[track_caller]
fn look(
    pins: &mut PinsBySubject,
    version: Option<u8>,
    strict: bool,
    second: i64,
) -> Option<Noticed> {
    let sighting = Sighting {
        subject: subject(),
        hash: version.map(|version| Hash([version; 32])),
        looked: None,
        strict,
        told: Told::Now,
        takes_over: false,
    };
    let before = pins.clone();
    let news = is_news(pins, &sighting);
    let noticed = see(pins, &sighting, at(second));
    assert_eq!(news, *pins != before);
    assert!(!is_news(pins, &sighting), "it is no news any more");
    noticed
}

fn trusted(pins: &PinsBySubject) -> u8 {
    pins[&subject()].trusted_hash().unwrap().0[0]
}

fn held(pins: &PinsBySubject) -> Option<u8> {
    match &pins[&subject()].held {
        Some(Held::Changed(version)) => Some(version.hash.0[0]),
        Some(Held::Gone(_)) => Some(0),
        None => None,
    }
}

#[test]
fn what_is_seen_first_is_trusted_and_what_follows_is_not() {
    let mut pins = PinsBySubject::new();
    assert_eq!(look(&mut pins, Some(1), true, 1), None);
    assert_eq!((trusted(&pins), held(&pins)), (1, None));
    assert_eq!(
        look(&mut pins, Some(2), true, 2),
        Some(Noticed::Held(subject()))
    );
    assert_eq!((trusted(&pins), held(&pins)), (1, Some(2)));
    assert_eq!(look(&mut pins, Some(2), true, 3), None, "told once");
    assert!(look(&mut pins, Some(3), true, 4).is_some(), "changed again");
    assert_eq!((trusted(&pins), held(&pins)), (1, Some(3)));
    assert_eq!(look(&mut pins, Some(1), true, 5), None, "as it was");
    assert_eq!((trusted(&pins), held(&pins)), (1, None));
    assert!(look(&mut pins, Some(3), true, 6).is_some());
}

#[test]
fn what_goes_and_comes_back_as_another_is_not_trusted() {
    for strict in [true, false] {
        let mut pins = PinsBySubject::new();
        look(&mut pins, Some(1), true, 1);
        let noticed = look(&mut pins, None, strict, 2);
        assert_eq!(noticed.is_some(), strict);
        assert_eq!(pins[&subject()].gone.is_some(), !strict);
        assert!(look(&mut pins, Some(2), true, 3).is_some());
        assert_eq!((trusted(&pins), held(&pins)), (1, Some(2)));
        assert_eq!(pins[&subject()].gone, None);
    }
}

#[test]
fn where_nobody_is_asked_the_last_version_is_the_trusted_one() {
    let mut pins = PinsBySubject::new();
    look(&mut pins, Some(1), false, 1);
    let noticed = look(&mut pins, Some(2), false, 2);
    assert!(matches!(noticed, Some(Noticed::Changed { .. })));
    let pin = &pins[&subject()];
    assert_eq!(pin.before.as_ref().unwrap().hash, Hash([1; 32]));
    assert_eq!((trusted(&pins), held(&pins)), (2, None));
    // What was held back is served as soon as nobody is asked any more, and known since it was seen.
    look(&mut pins, Some(3), true, 3);
    look(&mut pins, Some(3), false, 4);
    let pin = &pins[&subject()];
    assert_eq!((trusted(&pins), held(&pins)), (3, None));
    assert_eq!(pin.trusted.as_ref().unwrap().since, at(3));
    assert_eq!(pin.before.as_ref().unwrap().hash, Hash([2; 32]));
}

#[test]
fn what_was_never_there_can_not_go() {
    let mut pins = PinsBySubject::new();
    assert_eq!(look(&mut pins, None, true, 1), None);
    assert!(pins.is_empty());
}
