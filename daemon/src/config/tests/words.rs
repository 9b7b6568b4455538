use super::{problems, toml};

#[test]
fn faults_in_the_users_own_words_are_said_where_they_stand_and_take_nothing_else_along() {
    let config = toml(
        r#"
        [search]
        lexical = 1
        lexicon = true
        keywords = { ticket = "issue", "" = ["x"], pr = ["pull", 2], bug = ["issue"] }
        [entries]
        "a/c" = "pinned"
        [entries."a/b"]
        summary = " "
        keyword = ["x"]
        pin = "yes"
        group = "D"
        "#,
    );
    let said = [
        "3: `lexical` must be true or false, and is a number",
        "4: `search` has the unknown key `lexicon`",
        "5: a word of `search.keywords` is empty",
        "5: `search.keywords.ticket` must be a list, and is text",
        "5: a word of `search.keywords.pr` must be text, and is a number",
        "7: entry `a/c` must be a table, and is text",
        "9: `summary` of entry `a/b` is empty",
        "10: entry `a/b` has the unknown key `keyword`",
        "11: `pin` of entry `a/b` must be true or false, and is text",
    ];
    let mut expected: Vec<_> = said.iter().map(|&said| said.to_owned()).collect();
    let mut found = problems(&config);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let words: Vec<_> = config.search.keywords.keys().collect();
    assert_eq!(words, ["bug"]);
    let entry = &config.entries["a/b"];
    assert_eq!((entry.group.as_deref(), entry.pin), (Some("D"), false));
}
