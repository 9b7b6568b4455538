//! What `changes` tells, and the revisions by which it is asked.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use skills::problem::ProblemKind;
use tempfile::TempDir;

use super::{append, lines, server, snapshot, snapshot_of};
use crate::journal::{Journal, Place};
use crate::protocol::{ChangeKind, ChangeList, ChangedKind, Revision};

fn place(directory: &Path) -> Place {
    Place {
        directory: directory.to_owned(),
        name: "x".to_owned(),
    }
}

fn all(directory: &Path) -> ChangeList {
    place(directory).changes(None).expect("it can be read")
}

fn since(directory: &Path, revision: &Revision) -> ChangeList {
    let list = place(directory).changes(Some(revision));
    list.expect("there was such a revision")
}

/// The changes as `<number> <sign> <id>`.
fn told(list: &ChangeList) -> Vec<String> {
    let changes = list.changes.iter();
    changes
        .map(|change| {
            let (number, sign) = (change.revision.number, change.change.sign());
            format!("{number} {sign} {}", change.id)
        })
        .collect()
}

fn at(number: u64, like: &Revision) -> Revision {
    Revision {
        number,
        journal: like.journal.clone(),
    }
}

#[test]
fn numbers_go_on_across_restarts() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    assert_eq!(all(directory).revision, Revision::START, "before anything");
    assert!(all(directory).complete);
    let mut journal = Journal::open(directory, "x").expect("it opens");
    assert_eq!(all(directory).revision, Revision::START);
    journal.record(None, &snapshot("a")).expect("it is written");
    let first = all(directory);
    assert_eq!(told(&first), ["1 + a/"]);
    assert_eq!(first.changes[0].tools, Some(0));

    let mut journal = Journal::open(directory, "x").expect("it opens again");
    journal.record(None, &snapshot("b")).expect("it is written");
    let later = since(directory, &first.revision);
    assert_eq!(told(&later), ["2 + b/"]);
    assert_eq!(later.revision, at(2, &first.revision));
    assert_eq!(told(&all(directory)), ["1 + a/", "2 + b/"]);
    assert_eq!(
        told(&since(directory, &Revision::START)),
        ["1 + a/", "2 + b/"]
    );
    let nothing = since(directory, &later.revision);
    assert_eq!((nothing.changes.len(), nothing.complete), (0, true));
    assert_eq!(nothing.revision, later.revision);
}

#[test]
fn a_revision_that_is_no_longer_kept_is_answered_so() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    let mut journal = Journal::open(directory, "x").expect("it opens");
    for start in (0..50_000).step_by(1_000) {
        append(&mut journal, &lines(start..start + 1_000)).expect("it is written");
    }
    let kept = all(directory);
    assert_eq!(kept.revision.number, 50_000);
    assert!(!kept.complete);
    let first = kept.changes[0].revision.number;
    assert!(first > 1_000, "{first}");
    let from = |number| since(directory, &at(number, &kept.revision));
    assert!(!from(first - 2).complete);
    assert_eq!(from(first - 2).changes.len(), kept.changes.len());
    assert!(
        from(first - 1).complete,
        "the next one is the first that is kept"
    );
    assert_eq!(from(first - 1).changes.len(), kept.changes.len());
    assert_eq!(from(first).changes.len(), kept.changes.len() - 1);
    let newest = from(49_999);
    assert_eq!(told(&newest), ["50000 + server/tool49999"]);

    let mut journal = Journal::open(directory, "x").expect("it opens again");
    append(&mut journal, &lines(50_000..50_001)).expect("it is written");
    let more = from(50_000);
    assert_eq!(told(&more), ["50001 + server/tool50000"]);
    assert!(more.complete);
}

#[test]
fn a_revision_that_can_t_have_been_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    let refused = |revision: &Revision| {
        let problem = place(directory).changes(Some(revision)).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Usage);
        assert!(problem.hint.is_some());
        problem.message
    };
    let foreign: Revision = "1-k3v9qa2c".parse().expect("it is one");
    assert!(refused(&foreign).contains("not of this catalog"));
    let mut journal = Journal::open(directory, "x").expect("it opens");
    journal.record(None, &snapshot("a")).expect("it is written");
    assert!(refused(&foreign).contains("not of this catalog"));
    let revision = all(directory).revision;
    assert!(refused(&at(2, &revision)).contains("not reached yet"));

    fs::remove_file(journal.place.journal_path()).expect("it is deleted");
    fs::remove_file(journal.place.known_path()).expect("it is deleted");
    let mut journal = Journal::open(directory, "x").expect("it opens again");
    journal.record(None, &snapshot("a")).expect("it is written");
    assert!(refused(&revision).contains("begun anew"));
}

#[test]
fn a_journal_of_an_earlier_version_gets_numbers() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    let path = place(directory).journal_path();
    let old = "2026-11-30T06:12:01Z + skills/a\n2026-11-30T06:12:02Z ~ skills/a\n2026-11-30T06:";
    fs::write(&path, old).expect("it is written");
    let read = all(directory);
    assert_eq!(told(&read), ["1 + skills/a", "2 ~ skills/a"]);
    assert_eq!(read.changes[1].kind, ChangedKind::Skill);
    assert_eq!(
        fs::read_to_string(&path).expect("text"),
        old,
        "reading writes nothing"
    );

    let mut journal = Journal::open(directory, "x").expect("it opens");
    append(&mut journal, &["- skills/a".to_owned()]).expect("it is written");
    let more = since(directory, &read.revision);
    assert_eq!(told(&more), ["3 - skills/a"], "its name stays");
    let text = fs::read_to_string(&path).expect("text");
    let name = &read.revision.journal;
    let head = format!("journal {name}\n1 2026-11-30T06:12:01Z + skills/a\n2 2026");
    assert!(text.starts_with(&head), "{text}");
}

#[test]
fn damage_neither_hides_the_rest_nor_takes_a_number_twice() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    let path = place(directory).journal_path();
    let time = "2026-11-30T06:12:01Z";
    let text = format!(
        "journal a\n4 {time} + s/a\n4 {time} + s/b\nnonsense\n\n9 {time} ! s/c\n9 {time} - nothing\n12 {time} ~ s/d\n13 "
    );
    fs::write(path, text).expect("it is written");
    let list = all(directory);
    assert_eq!(told(&list), ["4 + s/a", "5 + s/b", "12 ~ s/d"]);
    assert_eq!(list.revision.to_string(), "12-a");
    let revision = |number| at(number, &list.revision);
    for number in [0, 4, 5, 10] {
        assert!(!since(directory, &revision(number)).complete, "{number}");
    }
    assert!(since(directory, &revision(11)).complete);

    let mut journal = Journal::open(directory, "x").expect("it opens");
    let problem = journal.damage().expect("it is damaged");
    assert!(problem.message.starts_with("4 lines"), "{problem}");
    fs::remove_file(journal.place.journal_path()).expect("it was there");
    journal.record(None, &snapshot("a")).expect("it is written");
    assert_eq!(journal.damage(), None);
}

#[test]
fn a_journal_that_was_lost_does_not_pass_for_a_whole_one() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    let mut journal = Journal::open(directory, "x").expect("it opens");
    journal.record(None, &snapshot("a")).expect("it is written");
    assert!(all(directory).complete);
    fs::remove_file(journal.place.journal_path()).expect("it was there");
    let lost = all(directory);
    assert_eq!((lost.changes.len(), lost.complete), (0, false));
    assert!(!since(directory, &Revision::START).complete);

    let servers = [server("a", &[]), server("b", &[])];
    let mut journal = Journal::open(directory, "x").expect("it opens again");
    journal
        .record(None, &snapshot_of(None, &servers))
        .expect("it is written");
    let anew = all(directory);
    assert_eq!(told(&anew), ["2 + b/"]);
    assert!(!anew.complete, "a/ is not told");
    assert!(!since(directory, &Revision::START).complete);
    let more = [server("a", &[]), server("b", &[]), server("c", &[])];
    journal
        .record(None, &snapshot_of(None, &more))
        .expect("it is written");
    let since = since(directory, &anew.revision);
    assert_eq!(told(&since), ["3 + c/"]);
    assert!(since.complete, "nothing is missing since");
}

#[test]
fn a_server_that_is_first_seen_is_followed_by_the_tools_that_it_had_then() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    let mut journal = Journal::open(directory, "x").expect("it opens");
    let mut before = None;
    for tools in [
        &[("a", "1"), ("b", "1")][..],
        &[("b", "2"), ("c", "1")],
        &[("a", "1"), ("b", "2")],
    ] {
        let after = snapshot_of(before.as_ref(), &[server("s", tools)]);
        journal
            .record(before.as_ref(), &after)
            .expect("it is written");
        before = Some(after);
    }
    let list = all(directory);
    let expected = [
        "1 + s/", "1 + s/a", "1 + s/b", "2 - s/a", "3 ~ s/b", "4 + s/c", "5 + s/a", "6 - s/c",
    ];
    assert_eq!(told(&list), expected);
    assert_eq!(list.changes[0].tools, Some(2));
    assert_eq!(list.changes[0].kind, ChangedKind::Server);
    assert_eq!(
        told(&since(directory, &at(1, &list.revision))),
        expected[3..]
    );
}

/// What two servers have at one moment: no server, or the versions of three tools of which each may be absent.
fn moments() -> impl Strategy<Value = Vec<[Option<[Option<u8>; 3]>; 2]>> {
    let tool = prop::option::of(0..2_u8);
    let server = prop::option::weighted(0.8, prop::array::uniform3(tool));
    prop::collection::vec(prop::array::uniform2(server), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Every answer is a beginning of the later ones, the rest of it is what `since` gives, and the entries that it adds and
    /// removes come to those that there are.
    #[test]
    fn the_list_only_grows_and_comes_to_what_there_is(moments in moments()) {
        let directory = TempDir::new().expect("a directory");
        let directory = directory.path();
        let mut journal = Journal::open(directory, "x").expect("it opens");
        let mut before = None;
        let mut answers: Vec<ChangeList> = Vec::new();
        for (number, moment) in moments.iter().enumerate() {
            let mut there = BTreeSet::new();
            let mut servers = Vec::new();
            for (name, tools) in ["s", "t"].into_iter().zip(moment) {
                let Some(tools) = tools else { continue };
                let tools = ["a", "b", "c"].into_iter().zip(tools);
                let tools = tools.filter_map(|(tool, version)| Some((tool, version.as_ref()?.to_string())));
                let tools: Vec<_> = tools.collect();
                there.extend(tools.iter().map(|(tool, _)| format!("{name}/{tool}")));
                let tools: Vec<_> = tools.iter().map(|(tool, version)| (*tool, version.as_str())).collect();
                servers.push(server(name, &tools));
            }
            if number % 3 == 2 {
                journal = Journal::open(directory, "x").expect("it opens again");
                before = None;
            }
            let after = snapshot_of(before.as_ref(), &servers);
            journal.record(before.as_ref(), &after).expect("it is written");
            before = Some(after);
            let now = all(directory);
            for earlier in &answers {
                prop_assert!(now.changes.starts_with(&earlier.changes));
                let rest = since(directory, &earlier.revision);
                prop_assert_eq!(&rest.changes[..], &now.changes[earlier.changes.len()..]);
            }
            let mut replayed = BTreeSet::new();
            for change in now.changes.iter().filter(|change| change.kind == ChangedKind::Tool) {
                let id = change.id.to_string();
                match change.change {
                    ChangeKind::Added => prop_assert!(replayed.insert(id)),
                    ChangeKind::Removed => prop_assert!(replayed.remove(&id)),
                    ChangeKind::Changed | ChangeKind::Held => {
                        prop_assert!(replayed.contains(&id));
                    }
                }
            }
            prop_assert_eq!(replayed, there);
            answers.push(now);
        }
    }
}
