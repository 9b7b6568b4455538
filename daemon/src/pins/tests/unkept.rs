//! Pins where something can't be written, or is lost.

use std::fs;

use skills::catalog::Sources;

use super::{Place, applied, described, difference, snapshot, trust};
use crate::pins::Pins;
use crate::protocol::Trust;

impl Place {
    /// Lets nothing be written any more, also not by root.
    fn block(&self) {
        let pins = self.0.path().join("pins");
        fs::rename(&pins, self.0.path().join("away")).unwrap();
        fs::write(pins, "").unwrap();
    }

    fn unblock(&self) {
        let pins = self.0.path().join("pins");
        fs::remove_file(&pins).unwrap();
        fs::rename(self.0.path().join("away"), pins).unwrap();
    }
}

#[test]
fn what_can_not_be_remembered_is_not_trusted_at_first_sight() {
    let place = Place::new();
    let pins = place.pins(true);
    place.block();
    let first = place.sources("Shows it.", &Sources::default());
    for _ in 0..2 {
        let (served, told) = applied(&pins, first.clone());
        assert_eq!(described(&served), ["", ""]);
        assert!(
            told.iter().any(|told| told.contains("can't be remembered")),
            "{told:?}"
        );
    }
    place.unblock();
    let (served, told) = applied(&pins, first);
    assert_eq!(described(&served), ["Shows it.", "Reads PDF files."]);
    assert_eq!(told.len(), 0, "{told:?}");
}

#[test]
fn what_is_trusted_is_on_the_disk_or_not_trusted() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    applied(&pins, first.clone());
    let second = place.sources("Sends it.", &first);
    let (served, _) = applied(&pins, second.clone());
    let asked = Trust {
        entry: "git/log".into(),
        hash: difference(&pins, &served, "git/log").hash,
    };
    // The bytes can be read still; only the ledger can't be replaced.
    let ledger = place.0.path().join("pins/test/ledger.json");
    let text = fs::read(&ledger).unwrap();
    fs::remove_file(&ledger).unwrap();
    fs::create_dir(&ledger).unwrap();
    let pins_of_now: &Pins = &pins;
    let refused = pins_of_now.trust(&snapshot(&served), &asked);
    assert!(refused.is_err());
    fs::remove_dir(&ledger).unwrap();
    fs::write(&ledger, text).unwrap();
    for pins in [&pins, &place.pins(true)] {
        let (served, told) = applied(pins, second.clone());
        assert_eq!((&*described(&served)[0], told.len()), ("Shows it.", 1));
    }
    pins.trust(&snapshot(&served), &asked).unwrap();
    let (served, _) = applied(&place.pins(true), second);
    assert_eq!(described(&served)[0], "Sends it.");
}

#[test]
fn what_can_not_be_shown_is_not_trusted() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    applied(&pins, first.clone());
    let (served, _) = applied(&pins, place.sources("Sends it.", &first));
    let remove = |what: &str| {
        let objects = place.objects().into_iter();
        let has = |object: &std::path::PathBuf| fs::read_to_string(object).unwrap().contains(what);
        let found = objects.filter(has).collect::<Vec<_>>();
        assert!(!found.is_empty());
        found
            .iter()
            .for_each(|object| fs::remove_file(object).unwrap());
    };
    remove("Shows it.");
    let shown = difference(&pins, &served, "git/log");
    let diff = shown.files[0].diff.as_deref().unwrap();
    assert!(diff.contains("+  \"description\": \"Sends it.\""), "{diff}");
    assert!(diff.starts_with("--- /dev/null\n"), "{diff}");
    remove("Sends it.");
    let refused = trust(&pins, &served, "git/log").unwrap_err();
    assert!(refused.message.contains("can't be shown"), "{refused}");
}
