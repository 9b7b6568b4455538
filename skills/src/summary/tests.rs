use proptest::prelude::*;

use super::{MAX_CHARACTERS, one_line, summarize, visible};

#[test]
fn real_shapes_of_descriptions() {
    for (description, summary) in [
        ("Lists the files. Hidden ones too.", "Lists the files."),
        (
            "\n\n      Lists the files\n      of a directory,\n      hidden ones too.\n\n      Args: none",
            "Lists the files of a directory, hidden ones too.",
        ),
        (
            "\n   🎯 Purpose:\n     1. Reads many records by id. Fast.\n",
            "Reads many records by id.",
        ),
        (
            "🛡️ Guardrails:\n 1. Warning: This changes data.\n\n🎯 Purpose:\n 1. Updates many records.",
            "Updates many records.",
        ),
        (
            "# Make a chart\n\nDraws **bold** lines, see [the guide](https://example.com/x).",
            "Draws bold lines, see the guide.",
        ),
        (
            "Purpose: Sends `mail` to _someone_ with snake_case_name.",
            "Sends mail to someone with snake_case_name.",
        ),
        (
            "Shop | Get a user\nError Responses:\n400: Bad request",
            "Shop | Get a user",
        ),
        (
            "Shop | List the templates in one source of data\nError Responses:\n400: Bad",
            "Shop | List the templates in one source of data",
        ),
        (
            "Takes an id (e.g. ABC-1) vs. a name, i.e. What you see. Next.",
            "Takes an id (e.g. ABC-1) vs. a name, i.e. What you see.",
        ),
        (
            "Shows a file given as <revision>:<path> or **/*.rs",
            "Shows a file given as <revision>:<path> or **/*.rs",
        ),
        (
            "\n  🎯 Purpose\n    1. Reads the token in use.\n\n  Usage:\n 1. First of all.",
            "Reads the token in use.",
        ),
        (
            "Queries logs and metrics.This tool is a router.",
            "Queries logs and metrics.",
        ),
        (
            "Edits draw.io files with System.Text too.",
            "Edits draw.io files with System.Text too.",
        ),
        ("- Get weather\n- Get news", "Get weather Get news"),
        ("**Best for:**\nOne page. Not many.", "One page. Not many."),
        (
            "```json\n{\"a\": 1}\n```\nRuns the query.",
            "Runs the query.",
        ),
        (
            "Uses version 2.5 of the API. Then stops.",
            "Uses version 2.5 of the API.",
        ),
        (
            "Audits formulas, max. five. `cells`: by sheet.",
            "Audits formulas, max. five.",
        ),
        (
            "Shows what is known of a file:\n- size",
            "Shows what is known of a file…",
        ),
        ("检索飞书文档。仅支持用户令牌。", "检索飞书文档。"),
        ("「文書を検索する。」その後。", "「文書を検索する。」"),
        (
            "\u{1b}[31mRed\u{1b}[0m \u{202e}al\u{200b}ert\u{1b}]8;;http://x\u{7} of the day now.",
            "Red alert of the day now.",
        ),
        ("✅", "✅"),
        ("Note:", "Note:"),
        ("", ""),
        ("[a]: b", "[a]: b"),
        (". ---\n0:", ". --- 0…"),
    ] {
        assert_eq!(summarize(description), summary, "{description:?}");
    }
}

#[test]
fn long_lines_are_cut_at_a_word() {
    let words = summarize(&"word ".repeat(60));
    assert!(words.ends_with("word…") && words.chars().count() <= MAX_CHARACTERS);
    let unbroken = summarize(&"字".repeat(200));
    assert_eq!(unbroken.chars().count(), MAX_CHARACTERS);
    let exact = "a".repeat(MAX_CHARACTERS);
    assert_eq!(summarize(&exact), exact);
}

#[test]
fn what_is_visible_stays() {
    assert_eq!(visible("a\r\nb\rc\u{2028}d\te"), "a\nb\nc\nd\te");
    assert_eq!(visible("\u{1b}]0;never ended"), "0;never ended");
    assert_eq!(visible("\u{9b}1mbold\u{1b}(Bx\u{1b}"), "boldx");
    assert_eq!(visible("tag\u{e0041}\u{fe0f}\u{feff}."), "tag.");
    assert_eq!(one_line("  a\u{0}\n\n b\u{3000}c "), "a b c");
}

/// Fragments that real descriptions are made of, and what hides in them.
fn any_description() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        prop::sample::select(vec![
            "\n",
            "\n\n",
            " ",
            "Purpose:",
            "🎯 ",
            "# ",
            "1. ",
            "- ",
            "**",
            "`",
            "_",
            "[x](y)",
            "e.g. ",
            ". ",
            "。",
            "```\n",
            "| ",
            "> ",
            "<b>",
            "</b>",
            "&amp;",
            "\\*",
            "\u{1b}[1m",
            "\u{200b}",
            "word",
            "Word ",
            "漢字",
            "…",
            ": ",
            "---\n",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn a_summary_is_one_short_safe_line(description in any_description()) {
        let summary = summarize(&description);
        prop_assert!(summary.chars().count() <= MAX_CHARACTERS);
        prop_assert_eq!(&one_line(&summary), &summary);
        prop_assert_eq!(summarize(&summary), summary.clone());
        prop_assert_eq!(summary.is_empty(), one_line(&description).is_empty());
    }
}
