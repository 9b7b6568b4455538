//! What loading reports is an error, each of these rules of the specification among it.

use std::fs;
use std::os::unix::fs::symlink;

use super::{GOOD, findings, told, with_fields};

#[test]
fn a_name_is_there_and_is_the_directorys() {
    assert_eq!(
        findings("---\ndescription: Packs boxes.\n---\n"),
        ["pack/SKILL.md: error: no name; the directory's name is used"]
    );
    assert_eq!(
        findings(GOOD.replace("pack", "box")),
        [
            "pack/SKILL.md: error: the name \"box\" is not the directory's, \"pack\", by which the skill is known"
        ]
    );
}

#[test]
fn a_name_is_1_to_64_characters_of_the_pattern() {
    let breaches = [
        "Pack",
        "pack_it",
        "-pack",
        "pack-",
        "pa--ck",
        &"p".repeat(65),
    ];
    for name in breaches {
        let found = findings(GOOD.replace("pack", name));
        let expected = format!(
            "pack/SKILL.md:2: error: the name {name:?} is not 1 to 64 characters of a-z, 0-9 and single hyphens"
        );
        assert!(found.contains(&expected), "{found:?}");
    }
}

#[test]
fn a_description_is_there_and_has_1_to_1024_characters() {
    for empty in ["", "description:\n", "description: \" \"\n"] {
        assert_eq!(
            findings(format!("---\nname: pack\n{empty}---\n")),
            ["pack/SKILL.md: error: no description"]
        );
    }
    let of = |length: usize| findings(GOOD.replace("Packs boxes.", &"é".repeat(length)));
    assert_eq!(of(1_024), super::NOTHING);
    assert_eq!(
        of(1_025),
        ["pack/SKILL.md:3: error: the description has 1025 characters, more than 1024"]
    );
}

#[test]
fn metadata_is_a_map_of_strings() {
    assert_eq!(
        with_fields("metadata:\n  version: 1.0\n"),
        ["pack/SKILL.md:4: error: values of `metadata` are not strings"]
    );
    assert_eq!(
        with_fields("metadata: some\n"),
        ["pack/SKILL.md:4: error: `metadata` is not a map"]
    );
}

#[test]
fn a_comment_sign_inside_an_unquoted_description_cuts_it() {
    assert_eq!(
        findings(GOOD.replace("boxes", "boxes #1")),
        ["pack/SKILL.md:3: error: the unquoted description is cut at ` #`"]
    );
}

#[test]
fn an_unquoted_colon() {
    assert_eq!(
        findings(GOOD.replace("Packs", "Use when: packs")),
        [
            "pack/SKILL.md:3: error: `description` is not valid YAML: an unquoted colon; read as plain text"
        ]
    );
}

#[test]
fn what_is_no_skill_is_an_error_and_the_others_are_checked() {
    assert_eq!(
        findings("# Pack\n"),
        ["pack/SKILL.md:1: error: no frontmatter"]
    );
    assert_eq!(
        findings(GOOD.trim_end_matches("---\n")),
        ["pack/SKILL.md:1: error: the frontmatter is never closed"]
    );
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a", ""),
        ("b", "---\nname: b\ndescription: d\nx: y\n---\n"),
    ] {
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("SKILL.md"), text).unwrap();
    }
    assert_eq!(
        told(directory.path()),
        [
            "a/SKILL.md: error: the file is empty",
            "b/SKILL.md:4: warning: the specification has no field \"x\"",
        ]
    );
}

#[test]
fn symbolic_links_that_lead_nowhere_or_out_are_errors_of_the_skill_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir(path.join("pack")).unwrap();
    fs::write(path.join("pack/SKILL.md"), GOOD).unwrap();
    symlink("gone", path.join("pack/a")).unwrap();
    symlink("/dev/null", path.join("pack/b")).unwrap();
    symlink("gone", path.join("beside")).unwrap();
    let found = told(path);
    assert!(
        found[0].starts_with("beside: warning: a link to gone that can't be followed"),
        "{found:?}"
    );
    assert_eq!(
        found[1..],
        [
            "pack/a: error: a link to gone, which does not exist",
            "pack/b: error: a link out of the skill, to /dev/null; not followed",
        ]
    );
}
