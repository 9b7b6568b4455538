//! The answers that are remembered: the latest one to each words, with the inode number that it keeps while its bytes stay.
//!
//! It must not know how an answer is made, nor who waits for one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use skills::tree::{Content, File};

use super::Found;
use crate::mount::view::{Body, ViewNode};

/// Above every number that a tree gives out, as those count up from 1, and within 32 bits for a long time.
const FIRST_INODE: u64 = 1 << 31;

/// How many answers are remembered: more than anybody has between a lookup and an open, and half a megabyte.
const REMEMBERED: usize = 256;

/// How long an answer is given again without being ranked anew. What it depends on beside the catalog's generation, such as
/// the users' own keywords, changes seldom, and is then seen after this time.
const FRESH: Duration = Duration::from_secs(2);

/// One version of the answer to some words.
#[derive(Debug)]
pub(in crate::mount) struct Answer {
    /// The file, under its own inode number.
    pub(in crate::mount) node: Arc<ViewNode>,
    /// The words.
    pub(in crate::mount) words: Arc<str>,
    /// How many entries matched.
    pub(in crate::mount) matches: usize,
}

/// The table of answers. Its lock is held for the time of a map operation.
#[derive(Debug)]
pub(super) struct Answers {
    state: Mutex<State>,
}

struct State {
    by_words: HashMap<Arc<str>, Remembered>,
    by_inode: HashMap<u64, Arc<str>>,
    next_inode: u64,
    /// Counts the uses, to tell which answer was used least lately.
    uses: u64,
}

struct Remembered {
    answer: Arc<Answer>,
    generation: u64,
    ranked: Instant,
    used: u64,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_words.keys()).finish()
    }
}

impl Answers {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                by_words: HashMap::new(),
                by_inode: HashMap::new(),
                next_inode: FIRST_INODE,
                uses: 0,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing that can panic runs under the table's lock")
    }

    /// The latest answer with this number. One that another took the place of is gone: the kernel is told ESTALE, looks its
    /// name up again and finds the other.
    pub(super) fn get(&self, inode: u64) -> Option<Arc<Answer>> {
        let mut state = self.state();
        let words = state.by_inode.get(&inode)?.clone();
        state.touch(&words)
    }

    /// The answer to words, if it need not be made anew.
    pub(super) fn fresh(&self, words: &str, generation: u64, now: Instant) -> Option<Arc<Answer>> {
        let mut state = self.state();
        let remembered = state.by_words.get(words)?;
        let is_fresh = remembered.generation == generation
            && now.saturating_duration_since(remembered.ranked) < FRESH;
        if is_fresh { state.touch(words) } else { None }
    }

    /// Takes in what was found for words: the same bytes stay the same answer, others get a new number.
    pub(super) fn remember(
        &self,
        directory: u64,
        words: &Arc<str>,
        found: Found,
        generation: u64,
        now: Instant,
    ) -> Arc<Answer> {
        let mut state = self.state();
        if let Some(remembered) = state.by_words.get_mut(words)
            && remembered.answer.has_text(&found.text)
        {
            remembered.generation = generation;
            remembered.ranked = now;
            let answer = remembered.answer.clone();
            state.touch(words);
            return answer;
        }
        let inode = state.next_inode;
        state.next_inode += 1;
        let answer = Arc::new(Answer::new(inode, directory, words.clone(), found));
        state.uses += 1;
        let remembered = Remembered {
            answer: answer.clone(),
            generation,
            ranked: now,
            used: state.uses,
        };
        state.by_inode.insert(inode, words.clone());
        if let Some(old) = state.by_words.insert(words.clone(), remembered) {
            state.by_inode.remove(&old.answer.node.inode);
        }
        state.forget_surplus();
        answer
    }
}

impl State {
    fn touch(&mut self, words: &str) -> Option<Arc<Answer>> {
        self.uses += 1;
        let remembered = self.by_words.get_mut(words)?;
        remembered.used = self.uses;
        Some(remembered.answer.clone())
    }

    /// Forgets the answer that was used least lately, but none that is open: whoever has it open would find another number
    /// under its name.
    fn forget_surplus(&mut self) {
        if self.by_words.len() <= REMEMBERED {
            return;
        }
        let closed = self.by_words.iter().filter(|(_, r)| !r.answer.is_open());
        let oldest = closed.min_by_key(|(_, remembered)| remembered.used);
        let Some(words) = oldest.map(|(words, _)| words.clone()) else {
            return;
        };
        if let Some(old) = self.by_words.remove(&words) {
            self.by_inode.remove(&old.answer.node.inode);
        }
    }
}

impl Answer {
    fn new(inode: u64, directory: u64, words: Arc<str>, found: Found) -> Self {
        let file = File {
            content: Content::Bytes(found.text.into_bytes().into()),
            mode: 0o444,
            modified: SystemTime::now(),
            volatile: true,
            entry: None,
            origin: None,
        };
        let name = words.as_bytes().into();
        Self {
            node: Arc::new(ViewNode::file(inode, directory, name, Arc::new(file))),
            words,
            matches: found.matches,
        }
    }

    fn has_text(&self, text: &str) -> bool {
        match &self.node.body {
            Body::File(file) => match &file.content {
                Content::Bytes(bytes) => bytes.as_ref() == text.as_bytes(),
                Content::Source(_) => false,
            },
            Body::Directory(_) | Body::Link(_) => false,
        }
    }

    /// Whether anybody else holds the file: the table of open files does.
    fn is_open(&self) -> bool {
        Arc::strong_count(&self.node) > 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::{Answer, Answers, FRESH, REMEMBERED};
    use crate::mount::search::Found;

    const DIRECTORY: u64 = 7;

    fn remember(answers: &Answers, words: &str, text: &str, generation: u64) -> Arc<Answer> {
        let found = Found {
            text: text.to_owned(),
            matches: 1,
        };
        answers.remember(DIRECTORY, &words.into(), found, generation, Instant::now())
    }

    #[test]
    fn the_number_stays_while_the_bytes_do() {
        let answers = Answers::new();
        let first = remember(&answers, "a", "one", 1);
        let same = remember(&answers, "a", "one", 2);
        assert_eq!(first.node.inode, same.node.inode);
        let changed = remember(&answers, "a", "two", 3);
        assert_ne!(first.node.inode, changed.node.inode);
        // Back to the first bytes: a number is never used twice.
        let back = remember(&answers, "a", "one", 4);
        assert!(back.node.inode > changed.node.inode);
        // Other words have a number of their own, whatever they are answered.
        let other = remember(&answers, "b", "one", 4);
        assert_ne!(other.node.inode, back.node.inode);
    }

    #[test]
    fn a_replaced_answer_is_gone_and_the_latest_is_found() {
        let answers = Answers::new();
        let first = remember(&answers, "a", "one", 1);
        assert!(answers.get(first.node.inode).is_some());
        let second = remember(&answers, "a", "two", 1);
        assert!(answers.get(first.node.inode).is_none());
        assert!(answers.get(second.node.inode).is_some());
    }

    #[test]
    fn an_answer_is_fresh_for_its_generation_and_for_a_while() {
        let answers = Answers::new();
        let before = Instant::now();
        remember(&answers, "a", "one", 5);
        let after = Instant::now();
        assert!(answers.fresh("a", 5, after).is_some());
        assert!(answers.fresh("a", 6, after).is_none());
        assert!(answers.fresh("b", 5, after).is_none());
        assert!(answers.fresh("a", 5, after + FRESH).is_none());
        // Ranked anew with the same result, it is fresh again, for the newer generation.
        remember(&answers, "a", "one", 6);
        assert!(answers.fresh("a", 6, before).is_some());
        assert!(answers.fresh("a", 5, before).is_none());
    }

    #[test]
    fn only_so_many_are_remembered_and_the_least_used_goes() {
        let answers = Answers::new();
        let used = remember(&answers, "used", "x", 1);
        let unused = remember(&answers, "unused", "x", 1).node.inode;
        let open = remember(&answers, "open", "x", 1).node.clone();
        for number in 0..2 * REMEMBERED {
            assert!(answers.get(used.node.inode).is_some(), "{number}");
            remember(&answers, &number.to_string(), "x", 1);
        }
        assert!(answers.get(unused).is_none());
        assert!(answers.get(open.inode).is_some());
        let state = answers.state();
        assert_eq!(state.by_words.len(), REMEMBERED);
        assert_eq!(state.by_inode.len(), REMEMBERED);
    }
}
