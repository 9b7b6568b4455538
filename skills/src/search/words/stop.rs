//! English words that say nothing of what an entry does.

/// In alphabetical order, in lower case. What remains of `don't` and `it's` when they are split is among them.
const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by",
    "can", "could", "did", "do", "does", "doesn", "doing", "don", "for", "from", "had", "has",
    "have", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it", "its",
    "just", "let", "ll", "may", "me", "might", "my", "of", "on", "or", "our", "please", "re", "s",
    "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "us", "ve", "want", "was", "we",
    "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "would", "you", "your",
];

/// The longest of them, in bytes.
const LONGEST: usize = 6;

/// Whether a word, in lower case, is one of them.
pub(in crate::search) fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST && STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{STOP_WORDS, is_stop_word};

    #[test]
    fn every_stop_word_is_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("issue"));
    }
}
