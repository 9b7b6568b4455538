//! The first sentence of a text, in any script.

/// A sentence with fewer characters says too little: the next one is taken along.
const MIN_CHARACTERS: usize = 12;

/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 18] = [
    "e.g", "i.e", "eg", "ie", "vs", "cf", "etc", "approx", "incl", "no", "st", "mr", "mrs", "dr",
    "fig", "al", "resp", "u.s",
];

/// The first sentence of the first block; short ones are joined with what follows.
pub(super) fn first(blocks: &[String]) -> String {
    let mut out = String::new();
    for block in blocks {
        let mut rest = block.as_str();
        while !rest.is_empty() {
            let (sentence, after) = rest.split_at(end(rest));
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(sentence.trim());
            rest = after.trim_start();
            if width(&out) >= MIN_CHARACTERS {
                return announced(out);
            }
        }
    }
    announced(out)
}

/// What announces a list that is left out ends as what was cut.
fn announced(sentence: String) -> String {
    match sentence.trim_end_matches([':', '：', ' ']) {
        short if short.len() < sentence.len() => format!("{short}…"),
        _ => sentence,
    }
}

/// A character of a script without spaces says about as much as two of one with them.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| if c >= '\u{2e80}' { 3 } else { 1 })
        .sum()
}

/// Where the first sentence of a line ends.
fn end(text: &str) -> usize {
    for (position, character) in text.char_indices() {
        let after = position + character.len_utf8();
        let ends = match character {
            '。' | '！' | '？' | '｡' => true,
            '.' | '!' | '?' => {
                let rest = text[after..].trim_start_matches(['"', '\'', ')', '”', '’', ']']);
                rest.is_empty()
                    || rest.starts_with(char::is_whitespace)
                        && !(character == '.' && is_abbreviation(&text[..position], rest))
                    || character == '.' && is_glued(&text[..position], rest)
            }
            _ => false,
        };
        if ends {
            let closing =
                text[after..].trim_start_matches(['"', '\'', ')', '”', '’', ']', '」', '』', '）']);
            return text.len() - closing.len();
        }
    }
    text.len()
}

/// Whether two sentences meet at a full stop without a space, as where lines were joined: `the logs.This tool`. Names
/// such as `System.Text` and `draw.io` are none.
fn is_glued(before: &str, after: &str) -> bool {
    let word = before.rsplit(' ').next().unwrap_or_default();
    let is_word = word.chars().count() >= 3 && word.chars().all(char::is_lowercase);
    let mut next = after.chars();
    let begins = next.next().is_some_and(char::is_uppercase);
    let rest = next.as_str().split(' ').next().unwrap_or_default();
    let is_followed = rest.len() < next.as_str().len();
    is_word && begins && !rest.is_empty() && is_followed && rest.chars().all(char::is_lowercase)
}

/// Whether a full stop between these two texts belongs to the word before it.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let word = before
        .rsplit([' ', '(', '[', ',', '/'])
        .next()
        .unwrap_or_default();
    let length = word.chars().count();
    let initial = length == 1 && word.starts_with(char::is_uppercase);
    // An unknown one, as in "max. number".
    let short = length <= 3 && after.trim_start().starts_with(char::is_lowercase);
    initial || short || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}
