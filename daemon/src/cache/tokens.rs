//! The token counts of texts on disk, found again by a hash of the text: `<cache directory>/tokens/<configuration>`.
//!
//! It knows no tokenizer, so whoever only reads counts needs none.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use skills::index::TokenCounter;
use skills::problem::Problem;

use super::{file_name, read, replace, unwritable};

/// What a file begins with: to be changed when the counts of before would be wrong.
const HEAD: &[u8] = b"shelf tokens o200k 1\n";

/// Half of a hash: texts are told apart by far less.
pub type Digest = [u8; 16];

/// A hash and a count.
const RECORD: usize = size_of::<Digest>() + size_of::<u32>();

/// The hash by which the count of a text is found.
pub fn digest(text: &str) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..size_of::<Digest>()]);
    digest
}

/// What is known of the texts of one configuration.
#[derive(Debug, Default)]
pub struct TokenCounts {
    /// `None` when nothing is kept.
    path: Option<PathBuf>,
    known: HashMap<Digest, Known>,
    revision: u64,
    is_saved: bool,
}

#[derive(Debug)]
struct Known {
    tokens: u32,
    /// Whether it was asked for; what never was belongs to a text that is gone.
    is_used: AtomicBool,
}

impl Known {
    const fn new(tokens: u32) -> Self {
        Self {
            tokens,
            is_used: AtomicBool::new(false),
        }
    }
}

impl TokenCounts {
    /// Reads what is known of a configuration, named as for [`DefinitionCache::open`](super::DefinitionCache::open). A file
    /// that is absent, damaged or of another format holds nothing. It makes nothing, and needs no right to write.
    pub fn read(directory: &Path, configuration: &str) -> Self {
        let path = directory.join("tokens").join(file_name(configuration));
        let known = read(&path).ok().and_then(|bytes| parse(&bytes));
        Self {
            path: Some(path),
            known: known.unwrap_or_default(),
            revision: 0,
            is_saved: true,
        }
    }

    /// Adds counts.
    pub fn add(&mut self, counted: impl IntoIterator<Item = (Digest, u32)>) {
        for (digest, tokens) in counted {
            self.known.insert(digest, Known::new(tokens));
        }
        self.revision += 1;
        self.is_saved = false;
    }

    /// Writes down what was asked for since it was read; the counts of texts that are gone go too. Does nothing when nothing
    /// is new.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn save(&mut self) -> Result<(), Problem> {
        let Some(path) = self.path.as_deref().filter(|_| !self.is_saved) else {
            return Ok(());
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory);
        let mut bytes = HEAD.to_vec();
        let used = self.known.iter();
        for (digest, known) in used.filter(|(_, known)| known.is_used.load(Ordering::Relaxed)) {
            bytes.extend_from_slice(digest);
            bytes.extend_from_slice(&known.tokens.to_le_bytes());
        }
        made.and_then(|()| replace(path, &bytes))
            .map_err(|error| unwritable(path, &error))?;
        self.is_saved = true;
        Ok(())
    }
}

impl TokenCounter for TokenCounts {
    fn count(&self, text: &str) -> Option<usize> {
        if self.known.is_empty() {
            return None;
        }
        let known = self.known.get(&digest(text))?;
        known.is_used.store(true, Ordering::Relaxed);
        usize::try_from(known.tokens).ok()
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

fn parse(bytes: &[u8]) -> Option<HashMap<Digest, Known>> {
    let records = bytes.strip_prefix(HEAD)?;
    let (records, rest) = records.as_chunks::<RECORD>();
    let parsed = records.iter().map(|record| {
        let (digest, tokens) = record.split_at(size_of::<Digest>());
        let tokens = u32::from_le_bytes(tokens.try_into().ok()?);
        Some((digest.try_into().ok()?, Known::new(tokens)))
    });
    rest.is_empty().then(|| parsed.collect()).flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use skills::index::TokenCounter;

    use super::{HEAD, TokenCounts, digest};

    #[test]
    fn counts_are_found_again_and_those_of_texts_that_are_gone_are_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let mut counts = TokenCounts::read(place.path(), "a");
        assert_eq!(counts.count("one"), None);
        let before = counts.revision();
        counts.add([(digest("one"), 1), (digest("gone"), 7)]);
        assert!(counts.revision() > before);
        assert_eq!(counts.count("one"), Some(1));
        counts.save().unwrap();

        let again = TokenCounts::read(place.path(), "a");
        assert_eq!((again.count("one"), again.count("gone")), (Some(1), None));
        assert_eq!(TokenCounts::read(place.path(), "b").count("one"), None);
    }

    #[test]
    fn nothing_is_written_while_nothing_is_new_and_damage_counts_as_absence() {
        let place = tempfile::tempdir().unwrap();
        let mut counts = TokenCounts::read(place.path(), "a");
        counts.save().unwrap();
        assert!(!place.path().join("tokens").exists());
        counts.add([(digest("one"), 1)]);
        counts.count("one");
        counts.save().unwrap();
        let path = counts.path.clone().unwrap();
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[1..], HEAD, b""] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(TokenCounts::read(place.path(), "a").count("one"), None);
        }
    }
}
