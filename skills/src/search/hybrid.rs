//! The default ranker: what an entry says and what it means, added.

use std::sync::Arc;

use super::document::Document;
use super::lexical::{Found, Lexical};
use super::model::Vector;
use super::ranker::{Rank, Ranker};
use super::request::Request;

/// How much words count, and how much meaning.
const WORDS: f32 = 0.4;
const MEANING: f32 = 0.6;

/// Words and meaning over the entries of one snapshot.
#[derive(Debug)]
pub(super) struct Hybrid {
    lexical: Arc<Lexical>,
    /// One a document; `None` where nothing of it is known to the model.
    vectors: Vec<Option<Vector>>,
}

impl Hybrid {
    /// Adds meaning to the ranking of the same documents by their words.
    pub(super) fn new<'a>(
        lexical: Arc<Lexical>,
        documents: impl Iterator<Item = &'a Document>,
    ) -> Self {
        Self {
            lexical,
            vectors: documents.map(|document| document.vector.clone()).collect(),
        }
    }
}

impl Ranker for Hybrid {
    fn rank(&self, request: &Request) -> Vec<Rank> {
        let Some(meant) = &request.vector else {
            return self.lexical.rank(request);
        };
        let found = self.lexical.find(request);
        let cosines: Vec<f32> = self
            .vectors
            .iter()
            .map(|vector| vector.as_ref().map_or(0.0, |vector| vector.cosine(meant)))
            .collect();
        let best = found.iter().map(|found| found.score).fold(0.0, f32::max);
        let (low, high) = cosines
            .iter()
            .fold((1.0_f32, -1.0_f32), |(low, high), cosine| {
                (low.min(*cosine), high.max(*cosine))
            });
        let share = |value: f32, of: f32| if of > 0.0 { value / of } else { 0.0 };
        let rank = |(found, cosine): (&Found, &f32)| Rank {
            score: WORDS * share(found.score, best) + MEANING * share(cosine - low, high - low),
            answers: answers(*found, *cosine),
        };
        found.iter().zip(&cosines).map(rank).collect()
    }
}

/// Whether an entry has enough of a request to be shown.
fn answers(found: Found, cosine: f32) -> bool {
    cosine >= 0.45 || (found.coverage >= 0.34 && cosine >= 0.2)
}
