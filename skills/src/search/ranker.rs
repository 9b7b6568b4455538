//! What a ranker is: a score for each entry, and how much speaks for it to be an answer at all.

use std::fmt::Debug;

use super::request::Request;

/// Ranks the entries of one snapshot.
pub(super) trait Ranker: Debug + Send + Sync {
    /// Ranks every entry, in the order in which they were given to the ranker.
    fn rank(&self, request: &Request) -> Vec<Rank>;

    /// The share of the best entry's evidence that another must have to be shown beside it.
    fn least_share(&self) -> f32;
}

/// Where one entry stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rank {
    /// The higher, the nearer to the request; finite.
    pub(super) score: f32,
    /// How much of the request the entry has: from 1 on it is enough for an answer. Unlike the score it is comparable between
    /// requests, as a ranking has a first even where nothing fits.
    pub(super) evidence: f32,
}
