//! The default ranker: what an entry says and what it means, added.

use std::sync::Arc;

use super::lexical::{Found, Lexical};
use super::model::Vector;
use super::ranker::{Rank, Ranker};
use super::request::Request;

/// How much words count, and how much meaning.
const WORDS: f32 = 0.4;
const MEANING: f32 = 0.6;

/// The cosine that is enough by itself. Off-topic requests stay below it: among a thousand entries some have a cosine of 0.4 with
/// any sentence.
const ENOUGH: f32 = 0.47;
/// What all words of the request are worth beside the cosine.
const COVERAGE: f32 = 0.4;
const LEAST_SHARE: f32 = 0.4;

/// Words and meaning over the entries of one snapshot.
#[derive(Debug)]
pub(super) struct Hybrid {
    lexical: Arc<Lexical>,
    /// One a document; `None` where nothing of it is known to the model.
    vectors: Vec<Option<Vector>>,
}

impl Hybrid {
    /// Adds the meaning of documents to their ranking by words.
    pub(super) const fn new(lexical: Arc<Lexical>, vectors: Vec<Option<Vector>>) -> Self {
        Self { lexical, vectors }
    }

    /// The meaning of each document, in order.
    pub(super) fn vectors(&self) -> &[Option<Vector>] {
        &self.vectors
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
            // What points the other way is no less of an answer than what has nothing to do with it.
            .map(|vector| {
                vector
                    .as_ref()
                    .map_or(0.0, |vector| vector.cosine(meant).max(0.0))
            })
            .collect();
        let best = found.iter().map(|found| found.score).fold(0.0, f32::max);
        let nearest = cosines.iter().copied().fold(0.0, f32::max);
        let share = |value: f32, of: f32| if of > 0.0 { value / of } else { 0.0 };
        let rank = |(found, cosine): (&Found, &f32)| Rank {
            score: WORDS * share(found.score, best) + MEANING * share(*cosine, nearest),
            evidence: evidence(*found, *cosine),
        };
        found.iter().zip(&cosines).map(rank).collect()
    }

    fn least_share(&self) -> f32 {
        LEAST_SHARE
    }
}

/// How much of a request an entry has, measured by what is enough.
///
/// Words and meaning make up for each other; an entry that has every word needs no meaning, as it may be made of names that the
/// model does not know.
fn evidence(found: Found, cosine: f32) -> f32 {
    let sum = (cosine + COVERAGE * found.coverage) / ENOUGH;
    if found.coverage > 0.999 {
        sum.max(1.0)
    } else {
        sum
    }
}
