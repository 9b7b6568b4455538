//! The calls that were given up, by the ids of their requests, while their server may still be at work on them.
//!
//! A server is told that a call was cancelled, and need not heed it (MCP, basic/utilities/cancellation). What it asks then may belong to that call.

use std::collections::HashSet;

/// How many are told apart. Beyond that replies can't be counted off any more, and some call counts as given up until the server ends.
const MOST: usize = 4096;

/// Those without a reply.
#[derive(Debug, Default)]
pub(super) struct GivenUp {
    ids: HashSet<i64>,
    too_many: bool,
}

impl GivenUp {
    /// Takes note of one.
    pub(super) fn add(&mut self, id: i64) {
        if self.ids.len() < MOST {
            self.ids.insert(id);
        } else {
            self.too_many = true;
        }
    }

    /// Takes it that one has its reply; whether it was one of these.
    pub(super) fn remove(&mut self, id: i64) -> bool {
        self.ids.remove(&id)
    }

    /// Whether there is any.
    pub(super) fn any(&self) -> bool {
        self.too_many || !self.ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{GivenUp, MOST};

    #[test]
    fn one_counts_until_its_reply() {
        let mut calls = GivenUp::default();
        calls.add(7);
        assert!(calls.any() && !calls.remove(8) && calls.any());
        assert!(calls.remove(7) && !calls.any() && !calls.remove(7));
    }

    #[test]
    fn one_too_many_counts_for_good() {
        let mut calls = GivenUp::default();
        let most = i64::try_from(MOST).unwrap();
        (0..=most).for_each(|id| calls.add(id));
        assert!((0..most).all(|id| calls.remove(id)));
        assert!(calls.any());
    }
}
