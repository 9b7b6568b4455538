//! A request as the rankers read it: what must be found, each with what may stand for it, and its meaning.

use std::collections::BTreeMap;

use super::jargon::JARGON;
use super::model::{Model, Vector};
use super::words::{runs, words};

/// How many different terms of a request count; nobody types more, but a whole file may be piped in.
const MAX_TERMS: usize = 32;
/// How much of its text is looked at, in bytes, for the same reason.
const MAX_BYTES: usize = 4_096;

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// What it asks for.
    pub(super) terms: Vec<Term>,
    /// Its meaning; `None` where it is left out, or too few words are the model's: then words alone count.
    pub(super) vector: Option<Vector>,
}

/// One word of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// The word, then those that may stand for it.
    pub(super) words: Vec<String>,
}

/// The user's own words, `[search.keywords]`, ready to be compared.
#[derive(Debug, Default)]
pub(super) struct Keywords(Vec<Keyword>);

#[derive(Debug)]
struct Keyword {
    key: Vec<String>,
    words: Vec<String>,
    text: String,
}

impl Keywords {
    /// The user's words alone.
    pub(super) fn new(keywords: &BTreeMap<String, Vec<String>>) -> Self {
        let keywords = keywords
            .iter()
            .filter_map(|(key, values)| Keyword::new(key, &values.join(" ")));
        Self(keywords.collect())
    }

    /// The user's words, and those that developers share.
    pub(super) fn with_jargon(keywords: &BTreeMap<String, Vec<String>>) -> Self {
        let Self(mut all) = Self::new(keywords);
        let jargon = JARGON.iter();
        all.extend(jargon.filter_map(|(key, text)| Keyword::new(key, text)));
        Self(all)
    }
}

impl Request {
    /// Reads a request, with its meaning when a model is given.
    pub(super) fn read(text: &str, keywords: &Keywords, model: Option<&Model>) -> Self {
        let text = beginning(text);
        let mut terms: Vec<Term> = Vec::new();
        for run in runs(text) {
            for word in run.words {
                let words = [word].into_iter().chain(run.whole.clone()).collect();
                terms.push(Term { words });
            }
        }
        let mut meant = text.to_owned();
        for keyword in &keywords.0 {
            if keyword.expand(&mut terms) {
                meant.push(' ');
                meant.push_str(&keyword.text);
            }
        }
        // A word that is said twice is not asked for twice.
        let mut distinct: Vec<Term> = Vec::new();
        for term in terms {
            if distinct.len() < MAX_TERMS && !distinct.contains(&term) {
                distinct.push(term);
            }
        }
        Self {
            terms: distinct,
            vector: model.and_then(|model| meaning(&meant, model)),
        }
    }
}

impl Keyword {
    /// `None` where a side has no word that is searched.
    fn new(key: &str, text: &str) -> Option<Self> {
        let (key, words) = (words(key), words(text));
        (!key.is_empty() && !words.is_empty()).then(|| Self {
            key,
            words,
            text: text.to_owned(),
        })
    }

    /// Lets its words stand for each place where its key is; whether there is one.
    fn expand(&self, terms: &mut [Term]) -> bool {
        let is_key = |terms: &[Term]| {
            let words = terms.iter().map(|term| &term.words[0]);
            words.eq(&self.key)
        };
        let places: Vec<usize> = (0..terms.len())
            .filter(|start| {
                let end = start + self.key.len();
                terms.get(*start..end).is_some_and(is_key)
            })
            .collect();
        for start in &places {
            for term in &mut terms[*start..start + self.key.len()] {
                for word in &self.words {
                    if !term.words.contains(word) {
                        term.words.push(word.clone());
                    }
                }
            }
        }
        !places.is_empty()
    }
}

/// The meaning of a request of which the model knows at least every third word: pieces of foreign or made-up words have a
/// vector, too, but it means nothing.
fn meaning(text: &str, model: &Model) -> Option<Vector> {
    let reading = model.read(text);
    let is_known = reading.known > 0 && 2 * reading.known >= reading.unknown;
    reading.vector.filter(|_| is_known)
}

/// What of a text is looked at.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
