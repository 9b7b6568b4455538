//! Folds English plurals, and the third person of verbs with them.
//!
//! It need not find the true singular: it must give the same for a word and for its plural.

/// What ends in `s` and is no plural, or a plural of an irregular kind that folding would part from its singular.
const KEPT: &[&str] = &[
    "alias", "always", "bias", "canvas", "chaos", "gas", "ios", "kudos", "lens", "news", "os",
    "perhaps", "series", "species", "whereas",
];

/// Plurals whose singular ends in `e`, against the rule of their ending.
const ENDS_IN_E: &[&str] = &[
    "axes", "caches", "cookies", "movies", "niches", "pies", "ties",
];

/// The word without its plural ending; words of other scripts, numbers and short words stay.
pub(super) fn fold(mut word: String) -> String {
    let end = singular_length(&word);
    let is_ies = end.is_none() && is_of_ies(&word);
    if is_ies {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if let Some(end) = end {
        word.truncate(end);
    }
    word
}

/// How much of the word its singular is; `None` where it is not a beginning of the word, or the word is no plural.
fn singular_length(word: &str) -> Option<usize> {
    let length = word.len();
    if length < 3 || !word.is_ascii() || !word.ends_with('s') || KEPT.contains(&word) {
        return None;
    }
    if ENDS_IN_E.contains(&word) {
        return Some(length - 1);
    }
    if ["ss", "us", "is"].iter().any(|end| word.ends_with(end)) || is_of_ies(word) {
        return None;
    }
    let without_es = [
        "sses", "shes", "ches", "xes", "zzes", "tuses", "iases", "oes",
    ];
    if length > 4 && without_es.iter().any(|end| word.ends_with(end)) {
        return Some(length - 2);
    }
    Some(length - 1)
}

/// Whether the singular ends in `y`.
fn is_of_ies(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ies") && !KEPT.contains(&word) && !ENDS_IN_E.contains(&word)
}
