//! Each rule on a file that breaks it, and on one that nearly does.

mod loading;
mod paths;

use std::fs;
use std::path::Path;

use super::{Limits, Lint, Severity, lint};
use crate::discovery::SkillRoot;

/// A frontmatter without a fault, for a skill in the directory `pack`.
const GOOD: &str = "---\nname: pack\ndescription: Packs boxes.\n---\n";

/// Checks everything below a directory.
fn check(directory: &Path) -> Lint {
    let root = SkillRoot {
        path: directory.to_owned(),
        source: None,
        optional: false,
    };
    lint(&[root], Limits::default(), &[])
}

/// The findings below a directory, as `path:line: severity: what`.
fn told(directory: &Path) -> Vec<String> {
    let prefix = format!("{}/", directory.display());
    let findings = check(directory).findings.into_iter();
    findings
        .map(|found| {
            let text = found.problem.to_string().replace(&prefix, "");
            let (place, what) = text.split_once(": ").unwrap();
            format!("{place}: {}: {what}", found.severity.as_str())
        })
        .collect()
}

/// The findings in a skill `pack` with this SKILL.md and an empty file `guide.md`.
fn findings(text: impl AsRef<[u8]>) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let pack = directory.path().join("pack");
    fs::create_dir(&pack).unwrap();
    fs::write(pack.join("guide.md"), "").unwrap();
    fs::write(pack.join("SKILL.md"), text).unwrap();
    told(directory.path())
}

/// The findings with these lines beside `name` and `description`.
fn with_fields(fields: &str) -> Vec<String> {
    let good = GOOD.trim_end_matches("---\n");
    findings(format!("{good}{fields}---\n"))
}

/// The findings with this body; its first line is line 5 of the file.
fn with_body(body: &str) -> Vec<String> {
    findings(format!("{GOOD}{body}"))
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_skill_by_the_letter_of_the_specification_has_no_finding() {
    let fields = "license: MIT\ncompatibility: Requires git\nmetadata:\n  version: \"1.0\"\nallowed-tools: Bash(git add:*) Read\n";
    assert_eq!(with_fields(fields), NOTHING);
    assert_eq!(with_body("# Pack\n\nSee [the guide](guide.md).\n"), NOTHING);
}

#[test]
fn fields_outside_the_specification() {
    assert_eq!(
        with_fields("version: 2\nlicense: MIT\nrequires:\n  - git\n"),
        [
            "pack/SKILL.md:4: warning: the specification has no field \"version\"",
            "pack/SKILL.md:6: warning: the specification has no field \"requires\"",
        ]
    );
}

#[test]
fn a_compatibility_is_one_to_500_characters() {
    let of = |length: usize| with_fields(&format!("compatibility: {}\n", "ä".repeat(length)));
    assert_eq!(of(1), NOTHING);
    assert_eq!(of(500), NOTHING);
    assert_eq!(
        of(501),
        ["pack/SKILL.md:4: error: `compatibility` has 501 characters, more than 500"]
    );
    for empty in ["", " \"\"", " ' '"] {
        assert_eq!(
            with_fields(&format!("compatibility:{empty}\n")),
            ["pack/SKILL.md:4: error: `compatibility` is empty"]
        );
    }
}

#[test]
fn allowed_tools_are_one_string_with_spaces() {
    assert_eq!(with_fields("allowed-tools: Bash(a, b) Read\n"), NOTHING);
    assert_eq!(
        with_fields("allowed-tools: Bash(a b), Read\n"),
        [
            "pack/SKILL.md:4: warning: `allowed-tools` has commas between the tools, which not every client reads"
        ]
    );
    assert_eq!(
        with_fields("allowed-tools:\n  - Read\n"),
        ["pack/SKILL.md:4: warning: `allowed-tools` is a list, which not every client reads"]
    );
}

#[test]
fn a_byte_order_mark() {
    assert_eq!(
        findings(format!("\u{feff}{GOOD}")),
        [
            "pack/SKILL.md:1: warning: a byte order mark stands before the frontmatter, which not every client reads"
        ]
    );
}

#[test]
fn over_500_lines() {
    // The frontmatter has four.
    assert_eq!(with_body(&"x\n".repeat(496)), NOTHING);
    assert_eq!(
        with_body(&"x\n".repeat(497)),
        ["pack/SKILL.md:501: warning: the file has 501 lines, more than 500"]
    );
}

#[test]
fn over_100_kb() {
    let body = |bytes: usize| with_body(&"x".repeat(bytes - GOOD.len()));
    assert_eq!(body(102_400), NOTHING);
    assert_eq!(
        body(102_401),
        ["pack/SKILL.md: warning: the file has 102401 bytes, more than 102400"]
    );
}

#[test]
fn zero_width_or_bidi_characters() {
    assert_eq!(
        findings(
            "---\nname: pack\ndescription: Packs\u{200b} boxes.\n---\n\na\u{202e}b\u{202e}\n\u{1b}[2J\n\u{e0041}\n"
        ),
        [
            "pack/SKILL.md:3: warning: a character that can't be seen: U+200B",
            "pack/SKILL.md:6: warning: a character that can't be seen: U+202E, 2 times",
            "pack/SKILL.md:7: warning: a character that can't be seen: U+001B",
            "pack/SKILL.md:8: warning: a character that can't be seen: U+E0041",
        ]
    );
}

#[test]
fn joiners_of_emoji_and_scripts_are_no_hidden_characters() {
    for body in [
        "👩\u{200d}💻 and 🦸\u{200d}♂\u{fe0f}, ❤\u{fe0f}\u{200d}🔥",
        "می\u{200c}خواهم",
        "क\u{94d}\u{200d}ष",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        "a\tb\r\nc",
    ] {
        assert_eq!(with_body(body), NOTHING, "{body}");
    }
    assert_eq!(with_body("a\u{200d}b").len(), 1);
}

#[test]
fn a_link_leaves_the_skills_directory() {
    for link in [
        "../other/SKILL.md",
        "/etc/hosts",
        "guide/../../pack/guide.md",
    ] {
        assert_eq!(
            with_body(&format!("\n[x]({link})\n")),
            [format!(
                "pack/SKILL.md:6: warning: the link \"{link}\" leads out of the skill"
            )]
        );
    }
}

#[test]
fn the_target_of_a_link_is_missing() {
    let body = "[a](gone.md#part) [a](gone.md#part)\n\n![b][ref]\n\n[ref]: img/b%20c.png\n";
    assert_eq!(
        with_body(body),
        [
            "pack/SKILL.md:5: warning: the link \"gone.md#part\" leads to no file",
            "pack/SKILL.md:7: warning: the link \"img/b%20c.png\" leads to no file",
        ]
    );
}

#[test]
fn what_is_no_link_to_a_file_is_let_be() {
    for body in [
        "[a](guide.md#x), [b](./guide.md), [c](gu%69de.md?raw), [d](.)",
        "[a](https://example.org/x.md), [b](//example.org/x), <mailto:a@example.org>, [c](#part), [d]()",
        "`[a](gone.md)`\n\n```md\n[a](gone.md)\n```\n",
        "[title](url), [name](path/to/{file}.md), [n](docs/...), [m](<docs/<name>.md>)",
        "Said elsewhere.[^1]\n\n[^1]: gone.md\n",
    ] {
        assert_eq!(with_body(body), NOTHING, "{body}");
    }
}

#[test]
fn what_is_wrong_is_counted_by_severity() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("pack")).unwrap();
    let text = GOOD.replace("pack", "Pack") + "[a](gone.md)";
    fs::write(directory.path().join("pack/SKILL.md"), text).unwrap();
    let found = check(directory.path());
    assert_eq!(found.skills, 1);
    assert_eq!(found.count(Severity::Error), 2);
    assert_eq!(found.count(Severity::Warning), 1);
}
