//! The lexical ranker: Okapi BM25 over the words of each entry.

use std::collections::HashSet;
use std::fmt;

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};

use super::document::Document;
use super::ranker::{Rank, Ranker};
use super::request::Request;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The share of what a request asks for that the best entry must have, rare words counting more than common ones. A word that
/// no entry has counts most, so one common word of a longer request is not enough.
const ENOUGH: f32 = 0.2;
/// Without meaning a word in common is all there is to go by.
const LEAST_SHARE: f32 = 0.25;

/// BM25 over the entries of one snapshot.
pub(super) struct Lexical {
    embedder: Embedder<Token, Spaces>,
    scorer: Scorer<u32, u64>,
    documents: usize,
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
    pub(super) fn new<'a>(documents: impl ExactSizeIterator<Item = &'a Document> + Clone) -> Self {
        let count = documents.len();
        let words: usize = documents.clone().map(|document| document.length).sum();
        // The crate never corrects this average, so embeddings can't be taken over from another set of documents.
        let average = words as f32 / count.max(1) as f32;
        let embedder = EmbedderBuilder::with_avgdl(average).k1(K1).b(B).build();
        let mut scorer = Scorer::new();
        for (place, document) in (0..).zip(documents) {
            let mut embedding = embedder.embed(&document.words);
            // A word stands there as often as in the document, with the same value each time; the first is the one that counts.
            let mut seen = HashSet::with_capacity(embedding.0.len());
            embedding.0.retain(|token| seen.insert(token.index));
            scorer.upsert(&place, embedding);
        }
        Self {
            embedder,
            scorer,
            documents: count,
        }
    }

    /// What each entry has of the request.
    pub(super) fn find(&self, request: &Request) -> Vec<Found> {
        let mut found = vec![Found::default(); self.documents];
        let mut scored = HashSet::new();
        let mut whole = 0.0;
        for term in &request.terms {
            let mut has_term = vec![false; self.documents];
            let mut weight = 0.0_f32;
            for (position, word) in term.words.iter().enumerate() {
                let matches = self.scorer.matches(&self.embedder.embed(word));
                // A term weighs as much as the word that was typed, or what stands for it where nobody else says that.
                if position == 0 || weight == 0.0 {
                    weight = self.idf(matches.len());
                }
                let is_new = scored.insert(word);
                for document in matches {
                    let place = document.id as usize;
                    has_term[place] = true;
                    if is_new {
                        found[place].score += document.score;
                    }
                }
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
type Token = u64;

#[cfg(test)]
mod tests;
