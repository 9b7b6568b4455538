//! WordPiece as BERT has it: a text as the pieces of a fixed vocabulary.
//!
//! What the file of the tokenizer says of its normaliser is what is done here: control characters out, CJK characters apart,
//! accents off, lower case. It knows nothing of vectors.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::summary::is_invisible;

/// The vocabulary. It is compiled in, so nobody chooses its words to collide in a fast table.
#[derive(Debug)]
pub(super) struct WordPiece {
    vocabulary: FxHashMap<String, u32>,
    /// What a piece that stands within a word begins with.
    prefix: String,
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
    vocab: FxHashMap<String, u32>,
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
        Ok(Self {
            longest: model
                .vocab
                .keys()
                .map(String::len)
                .max()
                .unwrap_or_default(),
            vocabulary: model.vocab,
            prefix: model.continuing_subword_prefix,
            max_characters: model.max_input_chars_per_word,
        })
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
        let mut read = |character: char| {
            if character.is_ascii_alphanumeric() {
                word.push(character.to_ascii_lowercase());
                true
            } else if character.is_whitespace() {
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
            }
        };
        let goes_on = if text.is_ascii() {
            text.chars().all(&mut read)
        } else {
            // Accents are marks of their own in this form, and marks are left out.
            text.nfd().all(&mut read)
        };
        if goes_on {
            // What ends the text ends its last word.
            read(' ');
        }
    }

    /// The longest piece that the word begins with, and so on with the rest; none when some rest has none.
    fn take_apart(&self, word: &str, pieces: &mut Vec<u32>) {
        pieces.clear();
        if let Some(whole) = self.vocabulary.get(word) {
            pieces.push(*whole);
            return;
        }
        if word.chars().nth(self.max_characters).is_some() {
            return;
        }
        // The rest of the word, behind the first piece with what marks it as a rest.
        let mut rest = word.to_owned();
        let mut least = 0;
        while rest.len() > least {
            let longest = (least + 1..=rest.len().min(self.longest))
                .rev()
                .filter_map(|length| rest.get(..length))
                .find_map(|piece| Some((*self.vocabulary.get(piece)?, piece.len())));
            let Some((piece, length)) = longest else {
                pieces.clear();
                return;
            };
            pieces.push(piece);
            rest.replace_range(..length, &self.prefix);
            least = self.prefix.len();
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
