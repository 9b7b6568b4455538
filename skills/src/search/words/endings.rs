//! The forms that an English verb, and the noun that is made of it, have beside the one that was typed: debug, debugging, debugger.
//!
//! It guesses by spelling alone and knows no entry: of what it gives, whoever asks takes the words that there are. A guess that is no
//! word of the language does no harm, since nothing says it.

use super::plural;

/// The endings that are taken off and put on.
const ENDINGS: [&str; 3] = ["ing", "ed", "er"];

/// How much two forms have in common at least, in letters: of shorter words too many others begin alike.
const LEAST: usize = 4;

/// What a word may be in its other forms, without itself; nothing for words of other scripts and for short ones.
pub(in crate::search) fn other_forms(word: &str) -> Vec<String> {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let mut forms: Vec<String> = Vec::new();
    for root in roots(word) {
        let doubled = doubled(root);
        let stems = [Some(root.to_owned()), doubled];
        let ended = stems.iter().flatten().flat_map(|stem| {
            let with = |ending| format!("{stem}{ending}");
            ENDINGS.map(with)
        });
        let bare = [root.to_owned(), format!("{root}e")];
        for form in bare.into_iter().chain(ended) {
            // As words of entries are compared.
            let form = plural::fold(form);
            if form != word && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

/// What may be left of a word without its ending, without an `e` and with its last letter once.
fn roots(word: &str) -> Vec<&str> {
    let without = ENDINGS
        .iter()
        .filter_map(|ending| word.strip_suffix(ending));
    let mut roots = vec![word.strip_suffix('e').unwrap_or(word)];
    for root in without {
        roots.push(root);
        let once = &root[..root.len().saturating_sub(1)];
        if doubled(once).as_deref() == Some(root) {
            roots.push(once);
        }
    }
    roots.retain(|root| root.len() >= LEAST);
    roots
}

/// The word with its last letter twice, where that is a consonant which can be doubled before an ending.
fn doubled(word: &str) -> Option<String> {
    let last = word.chars().next_back()?;
    (!"aeiouhjqwxy".contains(last)).then(|| format!("{word}{last}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::other_forms;

    #[test]
    fn each_form_leads_to_each_other() {
        for forms in [
            ["debug", "debugging", "debugged", "debugger"],
            ["crawl", "crawling", "crawled", "crawler"],
            ["scrape", "scraping", "scraped", "scraper"],
            ["process", "processing", "processed", "processer"],
            ["install", "installing", "installed", "installer"],
        ] {
            for one in forms {
                let others = other_forms(one);
                for other in forms.iter().filter(|other| **other != one) {
                    assert!(others.iter().any(|form| form == other), "{one} {other}");
                }
                assert!(!others.iter().any(|form| form == one), "{one}");
            }
        }
    }

    #[test]
    fn short_words_and_other_scripts_have_none() {
        for word in [
            "",
            "e",
            "er",
            "red",
            "king",
            "string",
            "pdf",
            "über",
            "ルール",
            "k8s",
        ] {
            let others = other_forms(word);
            assert!(
                others.iter().all(|other| other.starts_with(word)),
                "{word} {others:?}"
            );
        }
        assert!(other_forms("use").is_empty());
        assert!(other_forms("überprüfen").is_empty());
        assert!(!other_forms("string").contains(&"str".to_owned()));
    }

    proptest! {
        #[test]
        fn any_text_is_no_fault(word in ".{0,20}", letters in "[a-z]{0,8}(ing|ed|er|e)?") {
            other_forms(&word);
            for form in other_forms(&letters) {
                assert!(form.len() >= 3 && form != letters);
            }
        }
    }
}
