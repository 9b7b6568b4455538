use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::basis::FORM;
use super::super::tests::{catalog, query};
use super::{CHECKSUM, StoredIndex};
use crate::catalog::fixtures::{server, skill, sources, tool};
use crate::catalog::{EntryOptions, Hides, Hiding, Outline, Sources};
use crate::entry_id::{EntryId, ServerName};
use crate::offers;
use crate::search::{Basis, Query, SearchIndex, SearchOptions};
use crate::server::Phase;
use crate::tool::Tool;

fn built(sources: &Sources, options: &SearchOptions) -> (Outline, SearchIndex) {
    let outline = Outline::new(sources.clone());
    let index = SearchIndex::of_outline(&outline, options);
    (outline, index)
}

fn bytes(index: &SearchIndex, basis: &Basis) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.store(basis, &mut bytes).unwrap();
    bytes
}

/// Checks that an index that was kept is in no way different from the one that was built.
#[track_caller]
fn check(sources: &Sources, options: &SearchOptions, words: &[&str]) {
    let (outline, index) = built(sources, options);
    let basis = index.basis(sources);
    let bytes = bytes(&index, &basis);
    assert_eq!(StoredIndex::basis_in(&bytes), Some(basis));
    let stored = StoredIndex::read(&bytes).unwrap();
    let kept = stored.into_index(&basis, &outline, options).unwrap();
    assert_eq!(
        kept.lines().collect::<Vec<_>>(),
        index.lines().collect::<Vec<_>>()
    );
    for words in words {
        for lexical in [false, true] {
            let query = Query {
                lexical,
                ..query(words)
            };
            let (kept, built) = (kept.search(&query), index.search(&query));
            assert_eq!(kept, built, "{words}");
            let bits = |answer: &super::super::Answer| {
                let matches = answer.matches.iter();
                matches
                    .map(|found| found.score.to_bits())
                    .collect::<Vec<_>>()
            };
            assert_eq!(bits(&kept), bits(&built), "{words}");
        }
    }
    // Written again it is the same.
    assert_eq!(self::bytes(&kept, &basis), bytes);
}

#[test]
fn what_was_kept_answers_as_what_was_built() {
    let words = ["create an issue", "pdf", "ticket", "qwxz", "trackr", ""];
    let mut said = catalog();
    let id = EntryId("files/move_file".into());
    let options = EntryOptions {
        summary: Some("**Moves**\nwhat is there".to_owned()),
        keywords: vec!["shift".to_owned()],
        ..EntryOptions::default()
    };
    said.entries = Arc::new(BTreeMap::from([(id, options)]));
    let keywords = BTreeMap::from([("snark".to_owned(), vec!["merge".to_owned()])]);
    for lexical in [false, true] {
        let keywords = keywords.clone();
        let options = SearchOptions { keywords, lexical };
        check(&said, &options, &words);
        check(&said, &options, &["moves", "shift", "snark"]);
        check(&Sources::default(), &options, &words);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_on_the_shelf(
        tools in prop::collection::vec(("[a-z_/%]{1,12}", "[ -~é𝄞]{0,60}"), 0..12),
        skills in prop::collection::vec("[a-z]{1,8}", 0..4),
        words in "[ -~é]{0,30}",
    ) {
        let tools = tools.iter().map(|(name, description)| tool(name, description));
        let skills = skills.iter().map(|name| skill(name, 0, None)).collect();
        let sources = sources(
            vec![server("one", Some(tools.collect())), server("two", None)],
            skills,
        );
        check(&sources, &SearchOptions::default(), &[&words]);
    }
}

#[test]
fn what_is_damaged_is_not_read() {
    let sources = catalog();
    let (outline, index) = built(&sources, &SearchOptions::default());
    let basis = index.basis(&sources);
    let whole = bytes(&index, &basis);
    for length in 0..whole.len() {
        assert!(StoredIndex::read(&whole[..length]).is_none(), "{length}");
    }
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x20;
        assert!(StoredIndex::read(&damaged).is_none(), "{place}");
    }
    let longer = [&whole[..], b"x"].concat();
    assert!(StoredIndex::read(&longer).is_none());
    let other = Basis([7; 32]);
    let stored = StoredIndex::read(&whole).unwrap();
    let options = SearchOptions::default();
    assert!(stored.into_index(&other, &outline, &options).is_none());
}

#[test]
fn what_somebody_made_up_does_no_harm() {
    let sources = catalog();
    let options = SearchOptions::default();
    let (outline, index) = built(&sources, &options);
    let basis = index.basis(&sources);
    let whole = bytes(&index, &basis);
    let body = whole.len() - CHECKSUM;
    // Each place in turn would take long; this step meets every byte of numbers and texts somewhere.
    for place in (StoredIndex::BEGINNING..body).step_by(7) {
        for value in [0, 1, 0xff] {
            let mut made_up = whole[..body].to_vec();
            made_up[place] = value;
            let checksum = blake3::hash(&made_up);
            made_up.extend_from_slice(checksum.as_bytes());
            let index = StoredIndex::read(&made_up)
                .and_then(|stored| stored.into_index(&basis, &outline, &options));
            // Ranking is what would go out of bounds, and is the same work wherever a byte differs.
            if let Some(index) = index.filter(|_| value == 0xff) {
                index.search(&query("issue"));
            }
        }
    }
}

#[derive(Debug)]
struct NoTool(&'static str);

impl Hides for NoTool {
    fn hides_tool(&self, _: &ServerName, _: &EntryId, tool: &Tool) -> bool {
        &*tool.name == self.0
    }

    fn hides_skill(&self, _: &EntryId) -> bool {
        false
    }

    fn hides_offers(&self, _: &ServerName, _: &EntryId, _: offers::Kind) -> bool {
        false
    }

    fn rules(&self) -> String {
        self.0.to_owned()
    }
}

#[test]
fn each_thing_that_makes_another_index_makes_another_basis() {
    let said = |options: EntryOptions| {
        let id = EntryId("files/move_file".into());
        Arc::new(BTreeMap::from([(id, options)]))
    };
    let with = |change: &dyn Fn(&mut Sources)| {
        let mut sources = catalog();
        change(&mut sources);
        Basis::of(&sources, &SearchOptions::default())
    };
    let of_skill = |change: &dyn Fn(&mut crate::skill::Skill)| {
        with(&|sources| change(Arc::make_mut(&mut sources.skills[0])))
    };
    let named = |name: &str, tools| {
        (
            ServerName::new(name),
            (server(name, tools), Default::default()),
        )
    };
    let none = with(&|_| {});
    assert_eq!(none, with(&|_| {}));
    let lexical = SearchOptions {
        lexical: true,
        ..SearchOptions::default()
    };
    let keywords = SearchOptions {
        keywords: BTreeMap::from([("a".to_owned(), vec!["b".to_owned()])]),
        ..SearchOptions::default()
    };
    let all = [
        none,
        Basis::of(&catalog(), &lexical),
        Basis::of(&catalog(), &keywords),
        with(&|sources| sources.servers.extend([named("new", None)])),
        with(&|sources| sources.servers.extend([named("new", Some(Vec::new()))])),
        with(&|sources| {
            sources
                .servers
                .extend([named("files", Some(vec![tool("x", "")]))])
        }),
        with(&|sources| sources.skills.clear()),
        of_skill(&|skill| skill.text = b"another".as_slice().into()),
        of_skill(&|skill| skill.name = "other".into()),
        of_skill(&|skill| skill.source = Some("acme".to_owned())),
        of_skill(&|skill| skill.precedence += 1),
        of_skill(&|skill| skill.found = "/elsewhere".into()),
        with(&|sources| sources.hiding = Hiding::by(Arc::new(NoTool("list_issues")))),
        with(&|sources| {
            sources.entries = said(EntryOptions {
                summary: Some("S".to_owned()),
                ..EntryOptions::default()
            });
        }),
        with(&|sources| {
            sources.entries = said(EntryOptions {
                keywords: vec!["S".to_owned()],
                ..EntryOptions::default()
            });
        }),
    ];
    for (place, basis) in all.iter().enumerate() {
        assert!(!all[..place].contains(basis), "{place}");
    }

    // What a server does, and what its definitions say of other things, changes no index.
    let busy = with(&|sources| {
        let state = &mut sources
            .servers
            .get_mut(&ServerName::new("files"))
            .unwrap()
            .1;
        state.phase = Phase::Failed("it broke".to_owned());
    });
    assert_eq!(busy, none);
}

/// An index that is made otherwise under the same basis would be found, and be wrong. So when this fails, raise [`FORM`], and then take
/// over what it is now.
#[test]
fn what_is_made_of_the_same_is_the_same_as_long_as_the_form_is() {
    let mut sources = catalog();
    let instructions = "Use Issues for everything. Don't use mail; it's v2.0.";
    let said = crate::server::Definitions {
        instructions: Some(instructions.to_owned()),
        tools: vec![tool(
            "getUserByID",
            "**Gets** users' e-mail addresses (naïve).\n\nAnd more.",
        )],
        ..Default::default()
    };
    let name = ServerName::new("people");
    let people = crate::server::Server {
        name: name.clone(),
        directory: None,
        roots: Vec::new(),
        definitions: Some(Arc::new(said)),
    };
    sources
        .servers
        .insert(name, (Arc::new(people), Default::default()));
    let (_, index) = built(&sources, &SearchOptions::default());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes(&index, &index.basis(&sources)));
    for table in super::super::model::compiled_in() {
        hasher.update(table);
    }
    let made = hasher.finalize().to_hex()[..16].to_owned();
    assert_eq!((FORM, made.as_str()), (1, "2ad4acf50ebfab44"));
}
