//! The words of a text, as the lexical ranker counts them.
//!
//! It knows nothing of entries or scores: what is a word of an entry is a word of a request, since both come through here.

mod endings;
mod plural;
mod stop;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub(super) use endings::other_forms;
pub(super) use stop::is_stop_word;

/// One run of letters and digits, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Its words: the parts of camelCase and of acronyms, the pairs of CJK characters.
    pub(super) words: Vec<String>,
    /// The whole run as one word, where camelCase took it apart: "GitHub" is "github" to whoever types it in lower case.
    pub(super) whole: Option<String>,
}

/// The words of a text in their order, without stop words.
pub(super) fn words(text: &str) -> Vec<String> {
    runs(text).into_iter().flat_map(|run| run.words).collect()
}

/// The runs of letters and digits of a text that have a word.
pub(super) fn runs(text: &str) -> Vec<Run> {
    folded(text)
        .split(|character: char| !is_of_word(character))
        .filter_map(Run::new)
        .collect()
}

impl Run {
    fn new(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        // Nearly every word of a description, and in it nothing is taken apart.
        if text.bytes().all(|byte| byte.is_ascii_lowercase()) {
            let word = (!is_stop_word(text)).then(|| plural::fold(text.to_owned()))?;
            let words = vec![word];
            return Some(Self { words, whole: None });
        }
        let characters: Vec<char> = text.chars().collect();
        let mut words = Vec::new();
        let mut parts = 0;
        let mut start = 0;
        for end in 1..=characters.len() {
            if end < characters.len() && !begins_part(&characters, end) {
                continue;
            }
            let part = &characters[start..end];
            if is_cjk(part[0]) {
                words.extend(pairs(part));
            } else {
                parts += 1;
                words.extend(word(part));
            }
            start = end;
        }
        let is_taken_apart = parts > 1 && !characters.iter().copied().any(is_cjk);
        let whole = is_taken_apart.then(|| word(&characters)).flatten();
        (!words.is_empty() || whole.is_some()).then_some(Self { words, whole })
    }
}

/// Whether a part of the run begins at this position, which is not its first.
fn begins_part(run: &[char], at: usize) -> bool {
    let (before, here) = (run[at - 1], run[at]);
    if is_cjk(before) != is_cjk(here) {
        return true;
    }
    if !here.is_uppercase() {
        return false;
    }
    let is_lower = |position: usize| run.get(position).is_some_and(|c| c.is_lowercase());
    if before.is_uppercase() {
        // The last capital of an acronym begins the next word (`HTTPServer`), unless what follows is its plural (`URLs`).
        let is_plural = run.get(at + 1) == Some(&'s') && !is_lower(at + 2);
        return is_lower(at + 1) && !is_plural;
    }
    // `S3Bucket` are two words, `2FA` is one.
    before.is_lowercase() || is_combining_mark(before) || (before.is_numeric() && is_lower(at + 1))
}

/// The word in the form that is compared; `None` for a stop word.
fn word(part: &[char]) -> Option<String> {
    let word: String = part.iter().flat_map(|c| c.to_lowercase()).collect();
    (!is_stop_word(&word)).then(|| plural::fold(word))
}

/// Each two characters that stand side by side, since CJK scripts have no spaces; a character alone is a word.
fn pairs(part: &[char]) -> Vec<String> {
    if let [alone] = part {
        return vec![alone.to_string()];
    }
    part.windows(2).map(|pair| pair.iter().collect()).collect()
}

/// The text with one form for characters that are written in several, and without the accents of Latin, Greek and Cyrillic.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_accent = |character: &char| ('\u{300}'..='\u{36f}').contains(character);
    text.nfkd()
        .filter(|character| !is_accent(character))
        .nfc()
        .collect::<String>()
        .into()
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || is_combining_mark(character)
}

fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}'        // Hangul letters
        | '\u{3005}'..='\u{3007}'      // marks that repeat a character
        | '\u{3041}'..='\u{30ff}'      // Hiragana and Katakana
        | '\u{3100}'..='\u{318f}'      // Bopomofo and Hangul letters
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7ff}'      // Hangul syllables
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}
