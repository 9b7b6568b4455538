//! What pins say of what is hidden, of what is gone, and of names that deceive.

use std::fs;
use std::sync::Arc;

use skills::catalog::{Hides, Hiding, Sources};
use skills::entry_id::{EntryId, ServerName};
use skills::offers::Kind;
use skills::tool::Tool;

use super::{Place, applied, described, difference, snapshot, trust};
use crate::protocol::Differences;

#[derive(Debug)]
struct HidesAll;

impl Hides for HidesAll {
    fn hides_tool(&self, _: &ServerName, id: &EntryId, tool: &Tool) -> bool {
        id.as_str() == "git/log" && &*tool.name == "log"
    }

    fn hides_offers(&self, _: &ServerName, _: &EntryId, _: Kind) -> bool {
        false
    }

    fn hides_skill(&self, id: &EntryId) -> bool {
        id.as_str() == "skills/pdf"
    }

    fn rules(&self) -> String {
        "all".to_owned()
    }
}

#[test]
fn nothing_that_is_hidden_is_named() {
    let place = Place::new();
    let pins = place.pins(true);
    let hidden = |mut sources: Sources| {
        sources.hiding = Hiding::by(Arc::new(HidesAll));
        sources
    };
    let first = hidden(place.sources("Shows it.", &Sources::default()));
    applied(&pins, first.clone());
    place.skill("Sends files.");
    let (served, told) = applied(&pins, hidden(place.sources("Sends it.", &first)));
    assert_eq!(described(&served), ["Shows it.", "Reads PDF files."]);
    assert_eq!(told, [""; 0]);
    let shown = snapshot(&served);
    assert!(shown.entries.is_empty());
    assert_eq!(pins.journal_lines(&shown), [""; 0]);
    let all = Differences {
        held: true,
        ..Differences::default()
    };
    assert_eq!(pins.differences(&shown, &all).unwrap().len(), 0);
    for id in ["git/log", "skills/pdf"] {
        let one = Differences {
            entries: vec![id.into()],
            ..Differences::default()
        };
        assert!(pins.differences(&shown, &one).is_err(), "{id}");
    }
}

#[test]
fn a_skill_that_went_with_trust_is_compared_when_it_comes_back() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    applied(&pins, first.clone());
    fs::remove_dir_all(place.0.path().join("skills/pdf")).unwrap();
    let gone = place.sources("Shows it.", &first);
    let (served, _) = applied(&pins, gone.clone());
    trust(&pins, &served, "skills/pdf").unwrap();
    let (served, told) = applied(&pins, gone.clone());
    assert_eq!((served.skills.len(), told.len()), (0, 0));
    pins.journal_lines(&snapshot(&served));
    place.skill("Sends files.");
    let (served, told) = applied(&pins, place.sources("Shows it.", &gone));
    assert_eq!(
        (&*described(&served)[1], told.len()),
        ("Reads PDF files.", 1)
    );
    assert_eq!(pins.journal_lines(&snapshot(&served)), ["? skills/pdf"]);
}

#[test]
fn the_name_of_a_file_forges_no_line() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    applied(&pins, first.clone());
    let name = "a\n--- trusted\u{1b}[2K";
    fs::write(place.0.path().join("skills/pdf").join(name), "x\n").unwrap();
    std::os::unix::fs::symlink("b\n+c", place.0.path().join("skills/pdf/link")).unwrap();
    let (served, _) = applied(&pins, place.sources("Shows it.", &first));
    let files = difference(&pins, &served, "skills/pdf").files;
    assert_eq!(files[0].path.as_deref(), Some(name));
    let diff = files[0].diff.as_deref().unwrap();
    assert!(
        diff.contains("+++ skills/pdf/a\\u{a}--- trusted\\u{1b}[2K (now)\n"),
        "{diff}"
    );
    let diff = files[1].diff.as_deref().unwrap();
    assert!(diff.ends_with("+link to b\\u{a}+c\n"), "{diff}");
}
