//! Something that answers searches in tests, and that can be held up, changed and broken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use super::{Found, Searching};

/// Answers words with themselves and the current edition.
#[derive(Default)]
pub(in crate::mount) struct Oracle {
    generation: AtomicU64,
    edition: Mutex<String>,
    ranked: Mutex<Vec<String>>,
    held: Mutex<bool>,
    released: Condvar,
}

impl Oracle {
    /// Makes a generation in which every answer has this edition.
    pub(in crate::mount) fn publish(&self, edition: &str) {
        let mut current = self.edition.lock().unwrap();
        edition.clone_into(&mut current);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets no answer come before [`release`](Self::release).
    pub(in crate::mount) fn hold(&self) {
        *self.held.lock().unwrap() = true;
    }

    pub(in crate::mount) fn release(&self) {
        *self.held.lock().unwrap() = false;
        self.released.notify_all();
    }

    /// What was ranked so far, or is being ranked.
    pub(in crate::mount) fn ranked(&self) -> Vec<String> {
        self.ranked.lock().unwrap().clone()
    }
}

impl Searching for Oracle {
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    fn answer(&self, words: &str) -> Found {
        self.ranked.lock().unwrap().push(words.to_owned());
        let held = self.held.lock().unwrap();
        drop(self.released.wait_while(held, |held| *held).unwrap());
        assert!(!words.contains("break"), "this search breaks down");
        let edition = self.edition.lock().unwrap();
        Found {
            text: format!("2 of 9 entries match \"{words}\"\nedition {edition}\n"),
            matches: 2,
        }
    }
}
