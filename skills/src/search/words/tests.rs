use proptest::prelude::{any, proptest};

use super::{runs, words};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(words(text).join(" "), expected, "{text}");
}

#[test]
fn names_are_split_and_plurals_folded() {
    check("listIssues for the GitHub_repo", "list issue git hub repo");
    check("searches queries HTTPServer", "search query http server");
    check(
        "kebab-case/snake_case.dotted",
        "kebab case snake case dotted",
    );
    check("getUserByID2", "get user id2");
    check(
        "S3Bucket EC2Instance 2FA utf8",
        "s3 bucket ec2 instance 2fa utf8",
    );
    check("URLs PDFs userIDs URLsList", "url pdf user id url list");
    check("parseXMLHttpRequest", "parse xml http request");
}

#[test]
fn a_word_and_its_plural_are_the_same() {
    for pair in [
        "issue issues",
        "query queries",
        "search searches",
        "box boxes",
        "class classes",
        "cache caches",
        "database databases",
        "response responses",
        "status statuses",
        "alias aliases",
        "address addresses",
        "cookie cookies",
        "repo repos",
        "schema schemas",
        "push pushes",
        "image images",
        "size sizes",
        "analysis analysis",
        "id ids",
        "branch branches",
        "movie movies",
        "dependency dependencies",
        "index indexes",
        "process processes",
        "release releases",
        "pause pauses",
        "hero heroes",
        "key keys",
    ] {
        let folded = words(pair);
        assert_eq!(folded[0], folded[1], "{pair}");
    }
    check(
        "status class redis news series",
        "status class redis news series",
    );
}

#[test]
fn stop_words_go_and_numbers_stay() {
    check(
        "what is the weather in the 3 cities of 2024",
        "weather 3 city 2024",
    );
    check("the user's list, don't", "user list");
    check("to be or not", "not");
    check("", "");
    check("  —!?🎉 ", "");
}

#[test]
fn accents_and_forms_of_a_character_are_folded() {
    check("Résumé", "resume");
    check("Re\u{301}sume\u{301}", "resume");
    check("ＨＴＴＰ ﬁle", "http file");
    check("Größe", "große");
}

#[test]
fn other_scripts_stay_and_cjk_is_paired() {
    check("Создать задачу", "создать задачу");
    check("हिन्दी", "हिन्दी");
    check("創建問題", "創建 建問 問題");
    check("猫", "猫");
    check("がき", "がき");
    check("在GitHub上创建", "在 git hub 上创 创建");
    check("이슈 만들기", "이슈 만들 들기");
}

#[test]
fn what_camel_case_takes_apart_is_a_word_as_a_whole_too() {
    let wholes = |text: &str| -> Vec<String> {
        runs(text).into_iter().filter_map(|run| run.whole).collect()
    };
    assert_eq!(
        wholes("GitHub JavaScript OAuth plain"),
        ["github", "javascript", "oauth"]
    );
    assert!(wholes("git_hub HTTP 在GitHub上").is_empty());
}

proptest! {
    #[test]
    fn any_text_has_words_in_lower_case_without_spaces(text in any::<String>()) {
        for word in words(&text) {
            assert!(!word.is_empty());
            assert!(!word.contains(char::is_whitespace), "{word:?}");
            assert!(!word.contains(|c: char| c.is_ascii_uppercase()), "{word:?}");
        }
    }

    #[test]
    fn a_word_is_itself(text in "[a-z0-9A-Z_ ]{0,40}") {
        // What the words of an entry are must not depend on how often they were taken.
        for word in words(&text) {
            assert!(words(&word).len() <= 1, "{word:?}");
        }
    }
}
