use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use proptest::prelude::*;

use super::{Claim, MAX_BYTES, Taken, Ties, allot, decode, encode, nearest, with_suffix};

/// Names as a stranger could make them: plain, full of what must be encoded, and far too long.
fn hostile_name() -> impl Strategy<Value = String> {
    let awkward = proptest::sample::select(vec![
        '/', '\0', '.', '%', '~', '\n', '\u{7f}', '\u{85}', '\u{2028}', '\u{202e}', '\u{200b}',
        '\u{feff}', 'é', '語', '🎯', 'a', '-', ' ',
    ]);
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(awkward, 0..400).prop_map(|all| all.into_iter().collect()),
        "[a-z_]{230,260}",
    ]
}

fn is_safe(file_name: &str) -> bool {
    !file_name.is_empty()
        && !file_name.starts_with(['.', '-'])
        && !file_name.contains(['/', '\u{2028}', '\u{202e}', '\u{200b}', '\u{feff}'])
        && !file_name.chars().any(char::is_control)
}

proptest! {
    #[test]
    fn every_name_becomes_a_safe_file_name_and_comes_back(name in hostile_name(), source in any::<String>()) {
        let encoded = encode(&name);
        prop_assert!(is_safe(&encoded), "{encoded:?}");
        prop_assert!(encoded.len() <= MAX_BYTES);
        if encoded.contains('~') {
            prop_assert_eq!(decode(&encoded), None);
        } else {
            prop_assert_eq!(decode(&encoded), Some(name.clone()));
        }
        let suffixed = with_suffix(&name, &source);
        prop_assert!(is_safe(&suffixed), "{suffixed:?}");
        prop_assert!(suffixed.len() + ".json".len() <= 255);
        prop_assert_eq!(decode(&suffixed), None);
    }

    #[test]
    fn what_decodes_is_what_encode_makes(file_name in "[a-z%~.0-9A-F]{0,12}") {
        if let Some(name) = decode(&file_name) {
            prop_assert_eq!(encode(&name), file_name);
        }
    }

    #[test]
    fn allotted_names_are_unique_whatever_the_order(
        names in proptest::collection::btree_set("[abI]{1,2}|INDEX|x{300}", 1..12),
        turn in 0_usize..12,
    ) {
        let names: Vec<String> = names.into_iter().collect();
        let allotted = |names: &[String]| -> BTreeSet<(String, String)> {
            let claims: Vec<_> = names.iter().map(|name| Claim { name: OsStr::new(name), source: OsStr::new("server") }).collect();
            let files = allot(&claims, &["INDEX"], Ties::NoneKeeps);
            names.iter().cloned().zip(files.into_iter().map(|name| name.file_name)).collect()
        };
        let first = allotted(&names);
        let files: BTreeSet<_> = first.iter().map(|(_, file)| file).collect();
        prop_assert_eq!(files.len(), names.len());
        prop_assert!(!files.contains(&"INDEX".to_owned()));
        let mut turned = names.clone();
        turned.rotate_left(turn % names.len());
        prop_assert_eq!(allotted(&turned), first);
    }
}

#[test]
fn plain_names_stay_as_they_are() {
    for name in ["create_issue", "a.b", "Größe", "with space", "a:b", "a-x"] {
        assert_eq!(encode(name), name);
    }
}

#[test]
fn what_cannot_stand_is_percent_encoded() {
    assert_eq!(encode(""), "%");
    assert_eq!(encode("."), "%2E");
    assert_eq!(encode(".."), "%2E.");
    assert_eq!(encode("--help"), "%2D-help");
    assert_eq!(encode("a/b"), "a%2Fb");
    assert_eq!(encode("50%~\n"), "50%25%7E%0A");
    assert_eq!(encode("\u{202e}x"), "%E2%80%AEx");
}

#[test]
fn bytes_that_are_no_text_stay_apart() {
    let bytes = |name| encode(OsStr::from_bytes(name));
    assert_eq!(bytes(b"bad\xff"), "bad%FF");
    assert_eq!(bytes(b"\xff.x\xe2\x80"), "%FF.x%E2%80");
    assert_ne!(bytes(b"bad\xff"), encode("bad%FF"));
    assert_ne!(bytes(b"bad\xff"), encode("bad\u{fffd}"));
}

#[test]
fn decode_refuses_what_encode_never_makes() {
    for name in [
        ".", "..", ".x", "-x", "%2e.", "%41", "%zz", "a/b", "a~abcdef", "%%",
    ] {
        assert_eq!(decode(name), None, "{name}");
    }
}

#[test]
fn over_long_names_that_begin_alike_differ() {
    let long = "x".repeat(300);
    let longer = "x".repeat(301);
    assert_eq!(encode(&long).len(), MAX_BYTES);
    assert_ne!(encode(&long), encode(&longer));
}

#[test]
fn cutting_leaves_no_half_escape() {
    for padding in 0..4 {
        let name = format!("{}{}", "x".repeat(229 + padding), "/".repeat(20));
        let encoded = encode(&name);
        let (kept, _) = encoded.split_once('~').expect("it was cut");
        assert_eq!(
            kept.len() - kept.trim_start_matches('x').len(),
            229 + padding
        );
        assert_eq!(kept.trim_start_matches('x').replace("%2F", ""), "");
    }
}

#[test]
fn the_first_keeps_the_plain_name_where_there_is_an_order() {
    let claims = [
        Claim {
            name: OsStr::new("pdf"),
            source: OsStr::new("/first/pdf"),
        },
        Claim {
            name: OsStr::new("pdf"),
            source: OsStr::new("/second/pdf"),
        },
    ];
    let allotted = allot(&claims, &[], Ties::FirstKeeps);
    assert_eq!(allotted[0].file_name, "pdf");
    assert_eq!(allotted[1].file_name, with_suffix("pdf", "/second/pdf"));
    assert_eq!(allotted[1].taken, Some(Taken::ByClaim(0)));
}

#[test]
fn nobody_keeps_the_plain_name_where_there_is_none() {
    let claims = [
        Claim {
            name: OsStr::new("x"),
            source: OsStr::new("a"),
        },
        Claim {
            name: OsStr::new("x"),
            source: OsStr::new("b"),
        },
    ];
    let allotted = allot(&claims, &[], Ties::NoneKeeps);
    assert_eq!(allotted[0].file_name, with_suffix("x", "a"));
    assert_eq!(allotted[1].file_name, with_suffix("x", "b"));
}

#[test]
fn the_same_claim_made_twice_ends() {
    let claims = [Claim {
        name: OsStr::new("x"),
        source: OsStr::new("a"),
    }; 2];
    assert_eq!(allot(&claims, &[], Ties::NoneKeeps).len(), 2);
}

#[test]
fn near_names_are_found_by_whole_and_by_part() {
    let names = ["github/create_issue", "github/list_issues", "time/now"];
    let near = |wanted| nearest(wanted, names.into_iter(), 5);
    assert_eq!(near("github/create_isue"), ["github/create_issue"]);
    assert_eq!(near("Create_Issue"), ["github/create_issue"]);
    assert_eq!(near("tiem/now"), ["time/now"]);
    assert!(near("kubernetes").is_empty());
    assert!(near("").is_empty());
}
