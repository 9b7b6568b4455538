//! WordPiece as BERT has it: a text as the pieces of a fixed vocabulary.
//!
//! What the file of the tokenizer says of its normaliser is what is done here: control characters out, CJK characters apart,
//! accents off, lower case. It knows nothing of vectors.

use std::collections::HashMap;

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::summary::is_invisible;

/// The vocabulary by what may stand at a word's beginning and what within it.
#[derive(Debug)]
pub(super) struct WordPiece {
    initial: HashMap<Box<str>, u32>,
    inner: HashMap<Box<str>, u32>,
    /// The longest piece in bytes, beyond which none need be looked for.
    longest: usize,
    max_characters: usize,
}

/// The part of `tokenizer.json` that is needed.
#[derive(Deserialize)]
struct File {
    model: FileModel,
    #[serde(default)]
    added_tokens: Vec<Added>,
}

#[derive(Deserialize)]
struct FileModel {
    vocab: HashMap<String, u32>,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

#[derive(Deserialize)]
struct Added {
    content: String,
}

impl WordPiece {
    pub(super) fn read(json: &[u8]) -> serde_json::Result<Self> {
        let File {
            mut model,
            added_tokens,
        } = serde_json::from_slice(json)?;
        // `[CLS]` in a text is three tokens like any other; a word that can't be read has no piece at all.
        for token in added_tokens {
            model.vocab.remove(&token.content);
        }
        let mut pieces = Self {
            initial: HashMap::with_capacity(model.vocab.len()),
            inner: HashMap::new(),
            longest: 0,
            max_characters: model.max_input_chars_per_word,
        };
        for (piece, id) in model.vocab {
            pieces.longest = pieces.longest.max(piece.len());
            match piece.strip_prefix(&*model.continuing_subword_prefix) {
                Some(rest) if !rest.is_empty() => pieces.inner.insert(rest.into(), id),
                _ => pieces.initial.insert(piece.into(), id),
            };
        }
        Ok(pieces)
    }

    /// Calls back with each word and its pieces (none for a word that can't be taken apart), until told to stop.
    pub(super) fn words(&self, text: &str, each: &mut dyn FnMut(&str, &[u32]) -> bool) {
        let mut word = String::new();
        let mut pieces = Vec::new();
        let mut end = |word: &mut String| {
            if word.is_empty() {
                return true;
            }
            self.take_apart(word, &mut pieces);
            let goes_on = each(word, &pieces);
            word.clear();
            goes_on
        };
        // Accents are marks of their own in this form, and marks are left out.
        for character in text.nfd() {
            let goes_on = if character.is_whitespace() {
                end(&mut word)
            } else if is_combining_mark(character) || is_invisible(character) {
                true
            } else if character.is_alphanumeric() && !is_ideograph(character) {
                word.extend(character.to_lowercase());
                true
            } else {
                end(&mut word) && {
                    word.push(character);
                    end(&mut word)
                }
            };
            if !goes_on {
                return;
            }
        }
        end(&mut word);
    }

    /// The longest piece that the word begins with, and so on with the rest; none when some rest has none.
    fn take_apart(&self, word: &str, pieces: &mut Vec<u32>) {
        pieces.clear();
        if word.chars().nth(self.max_characters).is_some() {
            return;
        }
        let mut rest = word;
        while !rest.is_empty() {
            let vocabulary = if pieces.is_empty() {
                &self.initial
            } else {
                &self.inner
            };
            let longest = (1..=rest.len().min(self.longest))
                .rev()
                .filter_map(|length| rest.split_at_checked(length))
                .find_map(|(piece, rest)| Some((vocabulary.get(piece)?, rest)));
            let Some((piece, after)) = longest else {
                pieces.clear();
                return;
            };
            pieces.push(*piece);
            rest = after;
        }
    }
}

/// The blocks that BERT sets apart; Hangul and kana are not among them.
fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}
