//! The skills as a source: scanned at start, watched, scanned again when something changed.

use std::path::Path;

use skills::discovery::{Limits, SkillRoot};

use crate::catalog::Updates;

/// The running source. Dropping it ends the watch.
#[derive(Debug)]
pub struct SkillSource {}

impl SkillSource {
    /// Scans the roots (on the calling thread, so that the first snapshot has them), then watches on a thread of its own.
    pub fn start(roots: Vec<SkillRoot>, limits: Limits, updates: Updates) -> Self {
        let _ = (roots, limits, updates);
        todo!()
    }

    /// Replaces the roots (an edited configuration).
    pub fn set_roots(&self, roots: Vec<SkillRoot>) {
        let _ = roots;
        todo!()
    }

    /// Scans again now and returns once the update has been sent: for an open that found the file changed.
    pub fn rescan(&self, changed: &Path) {
        let _ = changed;
        todo!()
    }
}
