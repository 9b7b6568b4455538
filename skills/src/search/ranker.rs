//! What a ranker is: a score for each entry, and whether what it has of the request is enough to be shown.

use std::fmt::Debug;

use super::request::Request;

/// Ranks the entries of one snapshot.
pub(super) trait Ranker: Debug + Send + Sync {
    /// Ranks every entry, in the order in which they were given to the ranker.
    fn rank(&self, request: &Request) -> Vec<Rank>;
}

/// Where one entry stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rank {
    /// The higher, the nearer to the request; finite.
    pub(super) score: f32,
    /// Whether the entry answers the request at all. A ranking has a first even where nothing fits.
    pub(super) answers: bool,
}
