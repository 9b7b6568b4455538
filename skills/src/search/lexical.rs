//! The lexical ranker: Okapi BM25 over the words of each entry.
//!
//! The `bm25` crate weighs the words of a document. Its own scorer is left aside: for each word of a request it makes a set of all
//! documents that have it, looks for the word in each of them, and sorts them all.

use std::collections::HashSet;
use std::fmt;

use bm25::{Embedder, EmbedderBuilder, TokenEmbedder, TokenEmbedding, Tokenizer};
use rustc_hash::FxHashMap;

use super::document::Document;
use super::ranker::{Rank, Ranker};
use super::request::{Request, Term};
use super::words::other_forms;
use crate::parallel::side_by_side;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The share of what a request asks for that the best entry must have, rare words counting more than common ones. A word that
/// no entry has counts most, so one common word of a longer request is not enough.
const ENOUGH: f32 = 0.2;
/// Without meaning a word in common is all there is to go by.
const LEAST_SHARE: f32 = 0.25;

/// BM25 over the entries of one snapshot.
pub(super) struct Lexical {
    /// Where each word stands, in order of place.
    postings: Postings,
    documents: usize,
}

/// The documents that have each word.
pub(super) type Postings = FxHashMap<Token, Vec<Posting>>;

/// One document that has a word.
#[derive(Clone, Copy)]
pub(super) struct Posting {
    pub(super) place: u32,
    /// What the word counts there before it is multiplied by its idf: its frequency, saturated, and by the document's length.
    pub(super) value: f32,
}

/// What an entry has of a request's words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The BM25 score.
    pub(super) score: f32,
    /// The share of the request's terms that it has, from 0 to 1, weighted by idf.
    pub(super) coverage: f32,
}

impl Lexical {
    /// Indexes the documents; an entry's place among them is what it is known by.
    pub(super) fn new(documents: &[&Document]) -> Self {
        let words: usize = documents.iter().map(|document| document.length).sum();
        // The crate never corrects this average, so embeddings can't be taken over from another set of documents.
        let average = words as f32 / documents.len().max(1) as f32;
        let embedder = EmbedderBuilder::with_avgdl(average).k1(K1).b(B).build();
        let embeddings = side_by_side(documents, |document| embed(&embedder, document));
        let mut postings = Postings::default();
        for (place, embedding) in (0..).zip(embeddings) {
            for TokenEmbedding { index, value } in embedding {
                let posting = Posting { place, value };
                postings.entry(index).or_default().push(posting);
            }
        }
        postings.values_mut().for_each(Vec::shrink_to_fit);
        Self::of(postings, documents.len())
    }

    /// Takes postings as they were made before. Each place is less than `documents`.
    pub(super) const fn of(postings: Postings, documents: usize) -> Self {
        Self {
            postings,
            documents,
        }
    }

    /// The words in order of token, each with the documents that have it.
    pub(super) fn in_order(&self) -> Vec<(Token, &[Posting])> {
        let words = self.postings.iter();
        let mut words: Vec<_> = words.map(|(token, places)| (*token, &**places)).collect();
        words.sort_unstable_by_key(|(token, _)| *token);
        words
    }

    /// What each entry has of the request.
    pub(super) fn find(&self, request: &Request) -> Vec<Found> {
        let mut found = vec![Found::default(); self.documents];
        let mut scored = HashSet::new();
        let mut whole = 0.0;
        for term in &request.terms {
            let mut has_term = vec![false; self.documents];
            let mut weight = 0.0_f32;
            let other_forms = self.other_forms(term);
            let words = other_forms.as_ref().unwrap_or(&term.words);
            for (position, word) in words.iter().enumerate() {
                let postings = self.postings(word);
                let idf = self.idf(postings.len());
                // A term weighs as much as the word that was typed, or what stands for it where nobody else says that.
                if position == 0 || weight == 0.0 {
                    weight = idf;
                }
                let is_new = scored.insert(word.clone());
                for posting in postings {
                    let place = posting.place as usize;
                    has_term[place] = true;
                    if is_new {
                        found[place].score += idf * posting.value;
                    }
                }
            }
            if other_forms.is_some() {
                // They are one word, so it weighs as much as one that each of their documents has.
                weight = self.idf(has_term.iter().filter(|has_term| **has_term).count());
            }
            whole += weight;
            for (found, has_term) in found.iter_mut().zip(has_term) {
                if has_term {
                    found.coverage += weight;
                }
            }
        }
        if whole > 0.0 {
            found.iter_mut().for_each(|found| found.coverage /= whole);
        }
        found
    }

    /// What is looked for instead of a term that nobody says: those of its words' other forms that somebody does, if any.
    ///
    /// A word that is said is never looked for in another form: it would find more, but what it finds now would stand behind that.
    fn other_forms(&self, term: &Term) -> Option<Vec<String>> {
        let is_said = |word: &String| !self.postings(word).is_empty();
        if term.words.iter().any(is_said) {
            return None;
        }
        let mut forms: Vec<String> = Vec::new();
        for form in term.words.iter().flat_map(|word| other_forms(word)) {
            if is_said(&form) && !forms.contains(&form) {
                forms.push(form);
            }
        }
        (!forms.is_empty()).then_some(forms)
    }

    /// The documents that have this word.
    fn postings(&self, word: &str) -> &[Posting] {
        let postings = self.postings.get(&<Token as TokenEmbedder>::embed(word));
        postings.map(Vec::as_slice).unwrap_or_default()
    }

    fn idf(&self, matches: usize) -> f32 {
        let (documents, matches) = (self.documents as f32, matches as f32);
        (1.0 + (documents - matches + 0.5) / (matches + 0.5)).ln()
    }
}

impl Ranker for Lexical {
    fn rank(&self, request: &Request) -> Vec<Rank> {
        let rank = |found: Found| Rank {
            score: found.score,
            evidence: found.coverage / ENOUGH,
        };
        self.find(request).into_iter().map(rank).collect()
    }

    fn least_share(&self) -> f32 {
        LEAST_SHARE
    }
}

impl fmt::Debug for Lexical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lexical")
            .field("documents", &self.documents)
            .finish_non_exhaustive()
    }
}

/// Words are taken as they are: a document is made of words with a space between each two.
#[derive(Debug, Default)]
struct Spaces;

impl Tokenizer for Spaces {
    fn tokenize(&self, words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }
}

/// A word as 64 bits: in the crate's own 32 two of some ten thousand words would be one by accident.
pub(super) type Token = u64;

/// The different words of a document, weighed.
fn embed(embedder: &Embedder<Token, Spaces>, document: &Document) -> Vec<TokenEmbedding<Token>> {
    let mut words = embedder.embed(&document.words).0;
    // A word stands there as often as in the document, with the same value each time.
    words.sort_unstable_by_key(|word| word.index);
    words.dedup_by_key(|word| word.index);
    words
}

#[cfg(test)]
mod tests;
