//! Pins that several daemons of one configuration share, some of which have something beside it.

use std::fs;
use std::path::PathBuf;

use skills::catalog::Sources;
use skills::entry_id::ServerName;

use super::{Place, applied, described, difference, shown, snapshot, trust};
use crate::pins::{Pinning, Pins, Scope};
use crate::protocol::DifferenceState;

/// The pins of a daemon that has no root, and maybe a project that brings the server.
fn rootless(place: &Place, project: Option<&str>) -> Pins {
    let pins = Pins::open(place.0.path(), "test");
    let servers = [ServerName::new("git")].into();
    pins.set_scope(Scope {
        pinning: Pinning {
            strict: true,
            ..Pinning::default()
        },
        roots: Vec::new(),
        project: project.map(|project| (PathBuf::from(project), servers)),
    });
    pins
}

#[test]
fn what_is_trusted_does_not_depend_on_what_stands_beside_the_configuration() {
    let place = Place::new();
    let first = place.sources("Shows it.", &Sources::default());
    applied(&place.pins(true), first.clone());
    let mut evil = place.sources("Sends it.", &first);
    evil.skills.clear();
    let (served, told) = applied(&rootless(&place, None), evil);
    assert_eq!(described(&served), ["Shows it.", ""]);
    // Whoever does not have the root knows nothing of the skill, also not that it is gone.
    assert_eq!(told.len(), 1, "{told:?}");
    let (served, told) = shown(&place.pins(true), first);
    assert_eq!(described(&served), ["Shows it.", "Reads PDF files."]);
    assert_eq!(told, [""; 0], "all of it is as it is trusted");
}

#[test]
fn servers_of_one_name_in_two_projects_are_two() {
    let place = Place::new();
    let says = |description| {
        let mut sources = place.sources(description, &Sources::default());
        sources.skills.clear();
        sources
    };
    let [none, one, two] = [None, Some("/one"), Some("/two")].map(|it| rootless(&place, it));
    for (pins, description) in [(&none, "Own."), (&one, "One."), (&two, "Two.")] {
        let (served, told) = applied(pins, says(description));
        assert_eq!(
            (described(&served)[0].as_str(), told.len()),
            (description, 0)
        );
    }
    for (project, description) in [
        (None, "Own."),
        (Some("/one"), "One."),
        (Some("/two"), "Two."),
    ] {
        let pins = rootless(&place, project);
        let (served, told) = applied(&pins, says("Sends it."));
        assert_eq!(
            (described(&served)[0].as_str(), told.len()),
            (description, 1)
        );
        let differences = crate::protocol::Differences {
            held: true,
            ..crate::protocol::Differences::default()
        };
        let held = pins.differences(&snapshot(&served), &differences).unwrap();
        assert_eq!(held.len(), 1, "of its own alone");
    }
}

#[test]
fn what_one_daemon_has_seen_another_does_not_undo_by_knowing_less() {
    let place = Place::new();
    let (sees, lags) = (place.pins(true), place.pins(true));
    let old = place.sources("Shows it.", &Sources::default());
    for pins in [&sees, &lags] {
        applied(pins, old.clone());
    }
    let new = place.sources("Sends it.", &old);
    applied(&sees, new.clone());
    assert_eq!(sees.journal_lines(&snapshot(&new)), ["? git/log"]);
    for _ in 0..3 {
        for (pins, sources, count) in [(&lags, &old, 0), (&sees, &new, 1)] {
            let (served, told) = shown(pins, sources.clone());
            assert_eq!((&*described(&served)[0], told.len()), ("Shows it.", count));
            assert_eq!(pins.journal_lines(&snapshot(&served)), [""; 0]);
        }
    }
    // What was kept of an earlier listing says no more than that.
    let (served, _) = shown(&place.pins(true), old.clone());
    assert_eq!(described(&served)[0], "Shows it.");
    trust(&lags, &served, "git/log").unwrap();
    for _ in 0..2 {
        for (pins, sources) in [(&lags, &old), (&sees, &new)] {
            let (served, told) = shown(pins, sources.clone());
            assert_eq!((&*described(&served)[0], told.len()), ("Sends it.", 0));
            assert_eq!(pins.journal_lines(&snapshot(&served)), [""; 0]);
        }
    }
    // A new listing counts: it is the old version again, which nobody trusts any more.
    let (served, told) = applied(&lags, old.clone());
    assert_eq!((&*described(&served)[0], told.len()), ("Sends it.", 1));
    let (_, told) = applied(&lags, new);
    assert_eq!(told.len(), 0, "as it is trusted");
}

#[test]
fn no_new_skill_takes_the_name_of_a_trusted_one() {
    let place = Place::new();
    let pins = place.pins(true);
    let first = place.sources("Shows it.", &Sources::default());
    applied(&pins, first.clone());
    let new = place.0.path().join("skills/a/PDF");
    fs::create_dir_all(&new).unwrap();
    let text = "---\nname: pdf\ndescription: Sends files.\n---\n";
    fs::write(new.join("SKILL.md"), text).unwrap();
    let second = place.sources("Shows it.", &first);
    assert_eq!(second.skills.len(), 2);
    let (served, told) = applied(&pins, second.clone());
    assert_eq!(served.skills.len(), 1);
    assert_eq!(described(&served)[1], "Reads PDF files.");
    assert!(told[0].contains("is new, and is not served"), "{told:?}");
    let lines = pins.journal_lines(&snapshot(&served));
    assert_eq!(lines.len(), 1, "{lines:?}");
    let id = lines[0].strip_prefix("? ").unwrap();
    assert_ne!(id, "skills/pdf");
    let difference = difference(&pins, &served, id);
    assert_eq!(difference.state, DifferenceState::NotTrusted);
    let diff = difference.files[0].diff.as_deref().unwrap();
    assert!(diff.contains("+description: Sends files."), "{diff}");
    // It stays so, also for others, until somebody trusts it.
    let (served, _) = applied(&place.pins(true), second.clone());
    assert_eq!(served.skills.len(), 1);
    trust(&pins, &served, id).unwrap();
    let (served, told) = applied(&pins, second);
    assert_eq!((served.skills.len(), told.len()), (2, 0));
}
