use super::*;
use serde_json::json;

fn read(text: impl AsRef<[u8]>) -> Result<(Frontmatter, Document), Problem> {
    let file = Path::new("pack/SKILL.md");
    let document = Document::split(text.as_ref(), file)?;
    Ok((Frontmatter::read(&document, file)?, document))
}

fn load(text: impl AsRef<[u8]>) -> Frontmatter {
    read(text).expect("loads").0
}

fn refused(text: &str) -> String {
    let problem = read(text).expect_err("is refused");
    assert_eq!(problem.kind, ProblemKind::SkillSkipped);
    problem.to_string()
}

fn warnings(text: impl AsRef<[u8]>) -> Vec<String> {
    let found = load(text).warnings;
    assert!(found.iter().all(|w| w.kind == ProblemKind::SkillWarning));
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_plain_skill_is_read_without_a_warning() {
    let (frontmatter, document) = read(
        "---\nname: pack\ndescription: Packs boxes.\nlicense: MIT\ncompatibility: any\n---\n# Pack\n",
    )
    .unwrap();
    assert_eq!(frontmatter.name.as_deref(), Some("pack"));
    assert_eq!(frontmatter.description.as_deref(), Some("Packs boxes."));
    assert_eq!(frontmatter.license.as_deref(), Some("MIT"));
    assert_eq!(frontmatter.compatibility.as_deref(), Some("any"));
    assert_eq!(frontmatter.warnings, []);
    assert_eq!(document.body, "# Pack\n");
}

#[test]
fn no_frontmatter_is_no_skill() {
    assert_eq!(
        refused("# Pack\n\nPacks boxes.\n"),
        "pack/SKILL.md:1: no frontmatter"
    );
    assert_eq!(refused(" \n"), "pack/SKILL.md: the file is empty");
    for before in ["Some text\n", "<!-- a comment -->\n", "\n"] {
        assert_eq!(
            refused(&format!("{before}---\nname: pack\ndescription: d\n---\n")),
            "pack/SKILL.md:2: the frontmatter begins on line 2, not on line 1"
        );
    }
}

#[test]
fn a_frontmatter_that_is_never_closed_is_reported() {
    let open = "---\nname: pack\ndescription: d\n\n# Body\n";
    assert_eq!(
        refused(open),
        "pack/SKILL.md:1: the frontmatter is never closed"
    );
    let hint = read(format!("{open}--- \n")).unwrap_err().hint.unwrap();
    assert_eq!(hint, "line 6 must be exactly `---`, without spaces");
}

#[test]
fn an_unquoted_colon_is_read_as_text_and_its_line_named() {
    let text = "---\nname: pack\ndescription: Use when: boxes\nversion: 2\n---\n";
    let frontmatter = load(text);
    assert_eq!(frontmatter.name.as_deref(), Some("pack"));
    assert_eq!(frontmatter.description.as_deref(), Some("Use when: boxes"));
    assert_eq!(frontmatter.other["version"], json!(2));
    assert_eq!(
        warnings(text),
        ["pack/SKILL.md:3: `description` is not valid YAML: an unquoted colon; read as plain text"]
    );
}

#[test]
fn an_unquoted_colon_in_a_wrapped_description_is_read_as_text() {
    let wrapped = "---\nname: pack\ndescription: Packs boxes\n  and says so. Example: one\n---\n";
    let description = load(wrapped).description;
    assert_eq!(
        description.as_deref(),
        Some("Packs boxes and says so. Example: one")
    );
    let next_line = "---\nname: pack\ndescription:\n  Use when: boxes\n---\n";
    assert_eq!(
        load(next_line).description.as_deref(),
        Some("Use when: boxes")
    );
    assert_eq!(
        warnings(next_line),
        ["pack/SKILL.md:3: the description is not a string; read as plain text"]
    );
}

#[test]
fn another_yaml_error_costs_only_its_field() {
    let text = "---\nname: pack\ndescription: \"Packs\" boxes\nmetadata:\n  a: [1\n---\n";
    let frontmatter = load(text);
    assert_eq!(frontmatter.description.as_deref(), Some("\"Packs\" boxes"));
    assert_eq!(frontmatter.name.as_deref(), Some("pack"));
    let found = warnings(text);
    assert!(
        found[0].starts_with("pack/SKILL.md:3: `description` is not valid YAML"),
        "{found:?}"
    );
    assert!(
        found[1].contains("`metadata` is not valid YAML"),
        "{found:?}"
    );
}

#[test]
fn yaml_that_gives_no_description_at_all_is_reported_with_its_line() {
    let message = refused("---\nname: [pack\n---\n");
    assert!(
        message.contains("the frontmatter is not valid YAML"),
        "{message}"
    );
    assert!(message.starts_with("pack/SKILL.md:"), "{message}");
}

#[test]
fn byte_order_mark_and_line_ends_are_read_as_if_plain() {
    let plain = read("---\nname: pack\ndescription: >\n  two\n  lines\n---\nBody\n").unwrap();
    for text in [
        "\u{feff}---\nname: pack\ndescription: >\n  two\n  lines\n---\nBody\n",
        "---\r\nname: pack\r\ndescription: >\r\n  two\r\n  lines\r\n---\r\nBody\r\n",
        "---\r\nname: pack\ndescription: >\r\n  two\n  lines\r\n---\nBody\r\n",
    ] {
        assert_eq!(read(text).unwrap(), plain);
    }
    assert_eq!(plain.0.description.as_deref(), Some("two lines\n"));
}

#[test]
fn a_name_outside_the_pattern_loads_with_a_warning() {
    for name in ["Pack Boxes", "pack_boxes", "-pack", "pack--boxes", "PACK"] {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        assert_eq!(load(&text).name.as_deref(), Some(name));
        let found = warnings(&text);
        assert!(
            found[0].starts_with(&format!("pack/SKILL.md:2: the name {name:?} is not")),
            "{found:?}"
        );
    }
}

#[test]
fn a_missing_name_is_reported_and_a_missing_description_is_no_skill() {
    assert_eq!(
        warnings("---\ndescription: d\n---\n"),
        ["pack/SKILL.md: no name; the directory's name is used"]
    );
    for description in [
        "",
        "description:\n",
        "description: ''\n",
        "description: ' '\n",
    ] {
        assert_eq!(
            refused(&format!("---\nname: pack\n{description}---\n")),
            "pack/SKILL.md: no description"
        );
    }
    assert_eq!(refused("---\n---\n"), "pack/SKILL.md: no description");
}

#[test]
fn a_long_description_loads_with_a_warning() {
    let long = "x".repeat(1_025);
    let text = format!("---\nname: pack\ndescription: {long}\n---\n");
    assert_eq!(load(&text).description.as_deref(), Some(long.as_str()));
    assert_eq!(
        warnings(&text),
        ["pack/SKILL.md:3: the description has 1025 characters, more than 1024"]
    );
    let fits = format!("---\nname: pack\ndescription: {}\n---\n", "é".repeat(1_024));
    assert_eq!(warnings(fits), Vec::<String>::new());
}

#[test]
fn a_description_over_several_lines_is_one_string() {
    for (written, is) in [
        (">\n  one\n  two", "one two\n"),
        (">-\n  one\n  two", "one two"),
        ("|\n  one\n  two", "one\ntwo\n"),
        ("one\n  two", "one two"),
        ("\n  one two", "one two"),
        ("\"one\n  two\"", "one two"),
    ] {
        let text = format!("---\nname: pack\ndescription: {written}\n---\n");
        assert_eq!(load(&text).description.as_deref(), Some(is), "{written}");
        assert_eq!(warnings(&text), Vec::<String>::new());
    }
}

#[test]
fn only_a_line_of_three_hyphens_closes() {
    let text = "---\nname: pack\ndescription: |\n  a\n  ---\n  b ---\n---\nBody\n---\nmore\n";
    let (frontmatter, document) = read(text).unwrap();
    assert_eq!(frontmatter.description.as_deref(), Some("a\n---\nb ---\n"));
    assert_eq!(document.body, "Body\n---\nmore\n");
}

#[test]
fn fields_outside_the_specification_are_kept_in_order() {
    let text = "---\nname: pack\nversion: 1.2.0\ndescription: d\nrequires: [git]\non: yes\n---\n";
    let frontmatter = load(text);
    assert_eq!(
        serde_json::to_string(&frontmatter.other).unwrap(),
        r#"{"version":"1.2.0","requires":["git"],"on":"yes"}"#
    );
    assert_eq!(frontmatter.warnings, []);
}

#[test]
fn metadata_that_is_no_map_of_strings_is_kept_with_a_warning() {
    let numbers = "---\nname: pack\ndescription: d\nmetadata:\n  version: 2\n---\n";
    assert_eq!(load(numbers).metadata, Some(json!({"version": 2})));
    assert_eq!(
        warnings(numbers),
        ["pack/SKILL.md:4: values of `metadata` are not strings"]
    );
    let text = "---\nname: pack\ndescription: d\nmetadata: none\n---\n";
    assert_eq!(load(text).metadata, Some(json!("none")));
    assert_eq!(warnings(text), ["pack/SKILL.md:4: `metadata` is not a map"]);
}

#[test]
fn allowed_tools_are_accepted_in_all_three_forms() {
    let expected = ["Read", "Bash(git add:*)", "Grep"];
    for form in [
        "Read Bash(git add:*) Grep",
        "Read, Bash(git add:*), Grep",
        "[Read, Bash(git add:*), Grep]",
        "\n  - Read\n  - Bash(git add:*)\n  - Grep",
    ] {
        let text = format!("---\nname: pack\ndescription: d\nallowed-tools: {form}\n---\n");
        assert_eq!(load(&text).allowed_tools, expected, "{form}");
        assert_eq!(warnings(&text), Vec::<String>::new());
    }
}

#[test]
fn a_field_of_the_wrong_type_is_kept_and_warned_about() {
    let text = "---\nname: 7\ndescription: d\nlicense: [MIT]\n---\n";
    let frontmatter = load(text);
    assert_eq!(frontmatter.name, None);
    assert_eq!(frontmatter.other["name"], json!(7));
    assert_eq!(frontmatter.other["license"], json!(["MIT"]));
    assert_eq!(frontmatter.warnings.len(), 3);
}

#[test]
fn hidden_characters_stay_in_the_data() {
    let text = "---\nname: pack\ndescription: Packs\u{200b} \u{202e}boxes\n---\n";
    assert_eq!(
        load(text).description.as_deref(),
        Some("Packs\u{200b} \u{202e}boxes")
    );
}

#[test]
fn a_comment_that_cuts_the_description_is_named() {
    let text = "---\nname: pack\ndescription: Fixes issue #12 quickly\n---\n";
    assert_eq!(load(text).description.as_deref(), Some("Fixes issue"));
    assert_eq!(
        warnings(text),
        ["pack/SKILL.md:3: the unquoted description is cut at ` #`"]
    );
    let whole = "---\nname: pack\ndescription: \"Fixes: issue\" #12\n---\n";
    assert_eq!(load(whole).description.as_deref(), Some("Fixes: issue"));
    let recovered = "---\nname: pack\ndescription: Fixes: issue #12\n---\n";
    assert_eq!(
        load(recovered).description.as_deref(),
        Some("Fixes: issue #12")
    );
    assert_eq!(warnings(recovered).len(), 1);
}

#[test]
fn of_duplicate_keys_the_last_one_counts() {
    let text = "---\nname: pack\ndescription: one\ndescription: two\n---\n";
    assert_eq!(load(text).description.as_deref(), Some("two"));
    let found = warnings(text);
    assert!(found[0].starts_with("pack/SKILL.md:4: "), "{found:?}");
    assert!(found[0].ends_with("; the last one counts"), "{found:?}");
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_with_a_warning() {
    let text = b"---\nname: pack\ndescription: caf\xe9\n---\n";
    assert_eq!(load(text).description.as_deref(), Some("caf\u{fffd}"));
    assert!(warnings(text)[0].contains("not valid UTF-8"));
}

#[test]
fn an_alias_bomb_is_not_expanded() {
    let mut text =
        "---\nname: pack\ndescription: d\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..5 {
        let alias = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 9].join(", "));
    }
    let frontmatter = load(text + "---\n");
    assert_eq!(frontmatter.description.as_deref(), Some("d"));
    assert!(frontmatter.other["a4"].is_string());
    assert!(!frontmatter.warnings.is_empty());
}

#[test]
fn nesting_without_end_is_no_stack_overflow() {
    for depth in [70, 100_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let text = format!("---\nname: pack\ndescription: d\nx: {deep}\n---\n");
        let frontmatter = load(text);
        assert_eq!(frontmatter.description.as_deref(), Some("d"));
        assert!(frontmatter.other["x"].is_string());
        assert_eq!(frontmatter.warnings.len(), 1);
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = read(&bytes);
        let _ = read([b"---\n", bytes.as_slice(), b"\n---\n"].concat());
        let _ = read([b"---\ndescription: ", bytes.as_slice(), b"\n---\n"].concat());
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "[-a-z:#|>\"'\\[\\]{}&*!%@` \t\r\n\u{200b}é]{0,120}") {
        let _ = read(format!("---\n{text}\n---\n"));
        let _ = read(format!("---\ndescription: {text}\n---\n"));
    }
}
